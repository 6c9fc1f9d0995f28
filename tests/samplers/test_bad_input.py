"""Bad input gets a clear error that names the remedy, odd input works, and nothing is lost."""

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils._param_validation import InvalidParameterError

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.errors import ClassifierError, ShortfallWarning, TableError
from counterbalance.samplers import counterfactual, interior

# A few of these tables run short of inversions: that warning is right, and tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")


def table(n=60, weights=(0.8,)):
    return make_classification(n, 4, weights=list(weights), random_state=0)


def sampler(**parameters):
    return CounterfactualOverSampler(
        **{"estimator": LogisticRegression(class_weight="balanced"), "random_state": 0} | parameters
    )


def balanced(X, y, **parameters):
    X_new, y_new = sampler(**parameters).fit_resample(X, y)
    assert len(set(Counter(y_new.tolist()).values())) == 1
    return X_new, y_new


X, Y = table()


@pytest.mark.parametrize(
    ("X", "y", "says"),
    [
        (X, np.zeros(60), "one class only"),
        (X[:0], Y[:0], "minimum of 1|at least one|0 sample"),
        (X[:, :0], Y, "0 feature"),
        (X[:50], Y, "60 labels"),
        (X, Y[:, None].repeat(2, axis=1) * 0.5, "Unknown label type|multi"),
        (X, None, "y is None"),
        (X, np.where(np.arange(60) == 7, np.nan, Y), "1 missing label, the first in row 7"),
        (X, np.array(["a", None] * 30, dtype=object), "30 missing labels"),
        (X, np.linspace(0, 1, 60), "Unknown label type"),
        (X[:, 0], Y, "Reshape your data"),
        (np.where(X.max() == X, np.inf, X), Y, "infinite value"),
        (np.where(X.max() == X, np.nan, X), Y, "missing values.*imputer"),
        (np.array([["a"], ["b"]] * 30, dtype=object), Y, "categories.*OneHotEncoder"),
        (np.array([[{}], [[]]] * 30, dtype=object), Y, "cannot be perturbed"),
        (np.ones((60, 3)), Y, "no column of X that may change varies"),
        (X + 1j, Y, "Complex data not supported"),
        (np.where(np.arange(60)[:, None] == 3, 2**60, 1), Y, "beyond 2\\*\\*53"),
        (sparse.csr_array(X > 0), Y, "sparse with dtype bool"),
        ([[1, 2], [3]] * 30, Y, "rows of 1 to 2 cells"),
        (np.ma.masked_greater(X, 1), Y, "masked array.*filled"),
        (np.full((60, 1), "2026-01-01", dtype="M8[D]"), Y, "days since a fixed date"),
        (pl.DataFrame(X).lazy(), Y, "collect"),
        (pl.DataFrame(X).to_arrow(), Y, "pandas or polars frame"),
        (pd.DataFrame(X).rename(columns={0: "a"}), Y, "astype"),
        (pd.DataFrame(X[:0]), Y[:0], "one class|at least one|0 rows"),
    ],
)
def test_a_bad_table_is_refused_with_a_remedy(X, y, says):
    with pytest.raises(ValueError, match=says):
        sampler().fit_resample(X, y)


@pytest.mark.parametrize(
    ("parameters", "error", "says"),
    [
        ({"epsilon": -1}, InvalidParameterError, "epsilon"),
        ({"epsilon": 0}, InvalidParameterError, "epsilon"),
        ({"n_draws": 0}, InvalidParameterError, "n_draws"),
        ({"draws": "normal"}, InvalidParameterError, "draws"),
        ({"search": "best"}, InvalidParameterError, "search"),
        ({"estimator": object()}, InvalidParameterError, "estimator"),
        ({"estimator": "svm"}, InvalidParameterError, "estimator"),
        ({"estimator": LinearRegression()}, ClassifierError, "must be a scikit-learn classifier"),
        ({"estimator": DummyClassifier()}, ClassifierError, "for every row"),
        ({"on_shortfall": "pad"}, InvalidParameterError, "on_shortfall"),
        ({"on_shortfall": "redraw"}, InvalidParameterError, "on_shortfall"),
        ({"on_shortfall": ("fill",)}, InvalidParameterError, "on_shortfall"),
        ({"plausible": "pairs"}, InvalidParameterError, "plausible"),
        ({"feature_order": ["x0", "nope"]}, TableError, "'nope'.*columns are 'x0'"),
        ({"feature_order": [0, 0]}, TableError, "twice"),
        ({"feature_order": [9]}, TableError, "position below 4"),
        ({"categorical_features": [True]}, TableError, "mask of 1 entries"),
        ({"feature_order": []}, TableError, "lists no feature"),
        ({"estimator": LogisticRegression}, (ClassifierError, InvalidParameterError), "estimator"),
        ({"sampling_strategy": {1: 2}}, ValueError, "should be greater or equal"),
    ],
)
def test_a_bad_parameter_is_refused_with_a_remedy(parameters, error, says):
    with pytest.raises(error, match=says):
        sampler(**parameters).fit_resample(X, Y)


def test_a_fitted_classifier_of_another_table_is_refused():
    narrow = FrozenEstimator(LogisticRegression().fit(X[:, :2], Y))
    with pytest.raises(ClassifierError, match=r"X has 4 features, but .* expecting 2 features"):
        sampler(estimator=narrow).fit_resample(X, Y)
    blind = FrozenEstimator(LogisticRegression().fit(X, np.where(Y == 1, 5, Y)))
    with pytest.raises(ClassifierError, match="never saw the class 1"):
        sampler(estimator=blind).fit_resample(X, Y)


@pytest.mark.parametrize("module", [counterfactual, interior])
def test_a_parameter_that_is_gone_is_refused_with_what_to_write_instead(module):
    kind = {counterfactual: CounterfactualOverSampler, interior: InteriorOverSampler}[module]
    assert not set(module.REMOVED) & set(kind().get_params())
    for name, remedy in module.REMOVED.items():
        with pytest.raises(TypeError) as error:
            kind(**{name: True})
        assert f"{kind.__name__} has no parameter {name!r}" in str(error.value)
        assert remedy in str(error.value)
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_drawz'"):
        kind(n_drawz=3)


@pytest.mark.parametrize(
    "name",
    [
        "prefit",
        "minimal",
        "selection",
        "working_memory",
        "snap_to_grid",
        "integer_features",
        "change_missing",
    ],
)
def test_every_parameter_that_a_release_had_and_this_one_lacks_has_a_remedy(name):
    with pytest.raises(TypeError, match=f"no parameter '{name}' since version .*: .+"):
        CounterfactualOverSampler(**{name: 1})


def test_values_too_large_for_f_are_refused_in_its_name():
    forest = RandomForestClassifier(10)
    with pytest.raises(ClassifierError, match=r"Forest.* cannot be fitted.*too large"):
        sampler(estimator=forest).fit_resample(X * 1e300, Y)
    with pytest.raises(ClassifierError, match=r"Forest.* cannot be fitted.*too large"):
        sampler(estimator=forest).fit_resample(pd.DataFrame(X * 1e300), Y)


def test_a_failed_call_leaves_the_input_alone():
    holed = np.where(X.max() == X, np.inf, X)
    before = holed.copy()
    with pytest.raises(TableError):
        sampler().fit_resample(holed, Y)
    np.testing.assert_array_equal(holed, before)


def test_one_feature_works():
    balanced(X[:, [1]], Y)


def test_a_constant_column_works_and_never_changes():
    wide = np.column_stack([X, np.full(60, 3.0)])
    assert (balanced(wide, Y)[0][:, -1] == 3).all()


def test_a_mad_of_zero_in_every_column_works():
    rng = np.random.default_rng(0)
    mostly = np.where(rng.random((200, 3)) < 0.8, 0.0, rng.random((200, 3)))
    y = (mostly.sum(axis=1) > 0.8).astype(int)
    assert (np.median(mostly, axis=0) == 0).all()
    X_new, _ = balanced(mostly, y)
    assert np.isfinite(X_new).all()


def test_a_minority_of_one_row_works_where_f_ever_predicts_it():
    rows, y = X.copy(), np.zeros(60, dtype=int)
    y[0] = 1
    rows[0] = X.mean(axis=0)
    model = sampler(estimator=KNeighborsClassifier(1))
    _, y_new = model.fit_resample(rows, y)
    assert Counter(y_new.tolist()) == {0: 59, 1: 59}
    assert set(model.provenance_["origin"]) <= {"inversion", "copy"}
    assert "inversion" in model.provenance_["origin"]


def test_one_row_more_than_the_minority_works():
    y = np.repeat([0, 1], [31, 30])
    assert len(balanced(np.vstack([X, X[:1]]), y)[0]) == 62


def test_a_hundred_thousand_to_three_works():
    rng = np.random.default_rng(0)
    y = np.zeros(100_003, dtype=int)
    y[:3] = 1
    rows = rng.normal(size=(len(y), 2)) + 4 * y[:, None]
    model = sampler(n_draws=5)
    _, y_new = model.fit_resample(rows, y)
    assert Counter(y_new.tolist()) == {0: 100_000, 1: 100_000}
    assert model.yield_[0, 1].factuals > 90_000


def test_duplicated_rows_work():
    balanced(np.repeat(X, 3, axis=0), np.repeat(Y, 3))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool, np.float32, np.float16])
def test_the_dtype_of_an_array_is_kept(dtype):
    rows = (np.abs(X) * 3).astype(dtype) if dtype is not bool else X > 0
    X_new, _ = balanced(rows, Y, estimator=RandomForestClassifier(10, min_samples_leaf=2))
    assert X_new.dtype == dtype
    assert X_new[:60].tobytes() == rows.tobytes()


@pytest.mark.parametrize("how", ["fortran", "readonly", "strided", "list"])
def test_the_layout_of_an_array_does_not_matter(how):
    plain, _ = balanced(X, Y)
    rows = {"fortran": np.asfortranarray(X), "strided": np.repeat(X, 2, axis=0)[::2]}.get(how, X)
    if how == "readonly":
        rows = X.copy()
        rows.flags.writeable = False
    X_new, _ = balanced(X.tolist() if how == "list" else rows, Y)
    assert np.asarray(X_new).tobytes() == plain.tobytes()


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
def test_a_sparse_table_stays_sparse(kind):
    rows = np.where(np.abs(X) < 0.5, 0, X)
    dense, _ = balanced(rows, Y)
    X_new, _ = balanced(kind(rows), Y)
    assert type(X_new) is kind
    np.testing.assert_allclose(X_new.toarray(), dense)


def test_new_rows_of_the_largest_class_come_with_a_warning():
    with pytest.warns(ShortfallWarning, match="no class is larger"):
        sampler(sampling_strategy={0: 70}).fit_resample(X, Y)
