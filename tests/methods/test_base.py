import numpy as np
import pytest

from counterbalance.methods import (
    SMOTED,
    ClusteringUnderSampler,
    GaussianSMOTE,
    PeerFallbackWarning,
)

pd = pytest.importorskip("pandas")


def frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "count": np.r_[[0, 1] * 5, rng.integers(0, 9, 40)],
            "flag": np.r_[[True, False] * 5, rng.random(40) < 0.5],
            "size": rng.normal(size=50),
        }
    )
    return X, pd.Series(np.repeat([1, 0], [10, 40]), name="class")


def test_new_values_are_rounded_and_types_kept():
    X, y = frame()
    X_new, _ = GaussianSMOTE(sigma=0.0, random_state=0).fit_resample(X, y)
    assert (X_new.dtypes == X.dtypes).all()
    pd.testing.assert_frame_equal(X_new.iloc[:50], X)
    # Truncating values between 0 and 1 would leave nothing but 0.
    assert set(X_new["count"].iloc[50:]) == {0, 1}
    assert X_new["flag"].iloc[50:].nunique() == 2


def test_the_names_of_the_columns_are_known():
    X, y = frame()
    sampler = SMOTED()
    sampler.fit_resample(X, y)
    assert list(sampler.feature_names_in_) == ["count", "flag", "size"]


def test_centres_are_rounded_too():
    X, y = frame()
    X_new, _ = ClusteringUnderSampler(strategy="centres", random_state=0).fit_resample(X, y)
    assert (X_new.dtypes == X.dtypes).all()
    assert len(X_new) == 20


def test_too_many_neighbours_are_capped_with_a_warning():
    with pytest.warns(PeerFallbackWarning, match="GaussianSMOTE: .*the most available is 2"):
        assert GaussianSMOTE()._capped(5, 2) == 2
    assert GaussianSMOTE()._capped(2, 2) == 2
