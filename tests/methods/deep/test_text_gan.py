import re
from collections import Counter

import numpy as np
import pytest

pytest.importorskip("autograd")

from counterbalance.errors import TableError
from counterbalance.methods import PeerFallbackWarning
from counterbalance.methods.deep import TextGAN, is_url
from counterbalance.methods.deep import text_gan as strings

FEW = {
    "pretrain_iter": 6,
    "max_iter": 2,
    "n_channels": 8,
    "batch_size": 16,
    "random_state": 0,
}
SHOPS, PAGES = ("garden", "museum", "coffee", "river", "music"), ("news", "about", "help", "login")
BENIGN = [f"https://www.{a}.example/{b}/{n}" for a in SHOPS for b in PAGES for n in range(3)]
PHISHING = [
    f"http://{a}-secure.test/{b}.php?id={n}" for a in SHOPS[:4] for b in PAGES[:3] for n in "17"
]
ORDER = np.random.default_rng(0).permutation(84)
URLS = np.array([*BENIGN, *PHISHING], dtype=object)[ORDER]
LABELS = np.repeat(np.array(["benign", "phishing"], dtype=object), [60, 24])[ORDER]


@pytest.fixture(scope="module")
def resampled():
    sampler = TextGAN(**FEW, valid=None)
    return (sampler, *sampler.fit_resample(URLS, LABELS))


def test_the_given_strings_come_first_and_the_classes_are_balanced(resampled):
    _, texts, labels = resampled
    np.testing.assert_array_equal(texts[:84], URLS)
    np.testing.assert_array_equal(labels[:84], LABELS)
    assert Counter(labels) == {"benign": 60, "phishing": 60}
    assert texts.dtype == object


def test_every_drawn_string_is_counted_once(resampled):
    sampler, texts, _ = resampled
    counts = sampler.counts_["phishing"]
    parts = sum(counts[kind] for kind in ("unfinished", "invalid", "copies", "duplicates", "new"))
    assert counts["drawn"] == parts
    assert counts["new"] + counts["repeated"] == 36
    made = list(texts[84:])
    assert len(set(made)) >= counts["new"]
    assert not set(made) & set(URLS)


def test_only_valid_strings_are_returned_and_a_shortfall_is_warned_of():
    sampler = TextGAN(**FEW, max_draws=2)
    with pytest.warns(PeerFallbackWarning, match="max_draws=2"):
        texts, _ = sampler.fit_resample(URLS, LABELS)
    assert all(map(is_url, texts))
    counts = sampler.counts_["phishing"]
    assert counts["drawn"] == 72
    assert counts["repeated"] == 36 - counts["new"]


def test_the_same_seed_gives_the_same_strings(resampled):
    again, _ = TextGAN(**FEW, valid=None).fit_resample(URLS, LABELS)
    np.testing.assert_array_equal(again, resampled[1])
    other, _ = TextGAN(**{**FEW, "random_state": 1}, valid=None).fit_resample(URLS, LABELS)
    assert (other != resampled[1]).any()


def test_strings_survive_being_written_as_numbers():
    texts = ["", "abca", "cb", "é中"]
    codes, letters = strings.encoded(texts)
    np.testing.assert_array_equal(codes[:3], [[0] * 5, [1, 2, 3, 1, 0], [3, 2, 0, 0, 0]])
    assert strings.decoded(codes, letters) == texts
    assert strings.decoded(np.ones((1, 5), dtype=np.intp), letters) == [None]
    np.testing.assert_array_equal(strings.known_places(codes).sum(axis=1), [1, 5, 3, 3])


def test_drawing_with_a_memory_is_drawing_from_the_likelihoods_of_whole_strings():
    rng = np.random.default_rng(0)
    p = strings.new_generator(5, 6, rng)
    # a sharp last layer: the most likely character is drawn nearly always
    p = {name: rng.normal(size=value.shape).astype(np.float32) for name, value in p.items()}
    p |= {name: p[name] * 1000 for name in ("out.weight", "out.bias")}
    codes = strings.drawn_codes(p, 40, 12, rng)
    hot = strings.indicators(codes, 5)
    likely = strings.log_likelihoods(p, strings.shifted(hot)).argmax(axis=2)
    known = strings.known_places(codes).astype(bool)
    known[:, -1] = False  # a string without an end is marked in its last place
    assert (likely == codes)[known].mean() > 0.99


def test_training_makes_real_strings_more_likely():
    texts = [f"http://{word}.test/{n}" for word in ("aa", "bb", "cc") for n in range(10)]
    sampler = TextGAN(**{**FEW, "pretrain_iter": 100, "learning_rate": 0.01})
    trained = strings.StringGenerator(texts, sampler, np.random.default_rng(0)).fit()
    n_letters = len(set("".join(texts))) + 1
    assert trained.losses[-1] < trained.losses[0] < np.log(n_letters)
    assert len(trained.critic_losses) == 2


def test_containers_come_back_as_they_were_given():
    pandas = pytest.importorskip("pandas")
    settings = {**FEW, "valid": None, "sampling_strategy": {"phishing": 26}}
    for X, y in (
        (list(URLS), list(LABELS)),
        (URLS.astype(str)[:, None], LABELS.astype(str)),
        (pandas.Series(URLS, name="url"), pandas.Series(LABELS, name="kind")),
        (pandas.DataFrame({"url": URLS}, dtype="string"), LABELS),
    ):
        X_new, y_new = TextGAN(**settings).fit_resample(X, y)
        assert type(X_new) is type(X)
        assert type(y_new) is type(y)
        assert len(X_new) == len(y_new) == 86
        for given, new in ((X, X_new), (y, y_new)):
            if hasattr(given, "columns"):
                assert list(new.columns) == ["url"]
                assert list(new.dtypes) == list(given.dtypes)
            elif hasattr(given, "name"):
                assert new.name == given.name
                assert new.dtype == given.dtype
            elif hasattr(given, "dtype"):
                assert new.dtype.kind == given.dtype.kind
        assert getattr(X_new, "ndim", 1) == getattr(X, "ndim", 1)


def test_a_table_of_polars_is_refused_with_a_remedy():
    polars = pytest.importorskip("polars")
    for X in (polars.Series("url", list(URLS)), polars.DataFrame({"url": list(URLS)})):
        with pytest.raises(TableError, match="of polars; give the column itself"):
            TextGAN(**FEW).fit_resample(X, LABELS)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.arange(84.0), "must hold strings, row 0 is 0.0, a float; give the column itself"),
        (np.array([None, *URLS[1:]]), "row 0 is missing; drop such rows"),
        (np.array([*URLS[:-1], np.nan], dtype=object), "row 83 is missing"),
        (np.column_stack([URLS, URLS]), "one column of strings, it has the shape .84, 2."),
        (np.array(["word"] * 84), "valid='url' must hold for most strings .*valid=None"),
    ],
)
def test_what_is_no_column_of_strings_is_refused_with_a_remedy(X, message):
    with pytest.raises(TableError, match=message):
        TextGAN(**FEW).fit_resample(X, LABELS)


def test_too_few_or_too_long_strings_are_refused_with_a_remedy():
    rows = np.concatenate(
        [np.flatnonzero(LABELS == "benign"), np.flatnonzero(LABELS != "benign")[:4]]
    )
    with pytest.raises(TableError, match="at least 10 rows of class phishing for text-GAN"):
        TextGAN(**FEW).fit_resample(URLS[rows], LABELS[rows])
    with pytest.raises(TableError, match="max_length must leave at least 10 strings"):
        TextGAN(**FEW, max_length=3).fit_resample(URLS, LABELS)
    with pytest.raises(ValueError, match="more than 1 class"):
        TextGAN(**FEW).fit_resample(URLS, ["a"] * 84)


def test_a_column_for_each_class_comes_back_as_such():
    kinds = np.array(["a", "b", "c"])[np.arange(84) % 3]
    kinds[:20] = "a"
    one_vs_all = (kinds[:, None] == np.array(["a", "b", "c"])).astype(int)
    sampler = TextGAN(**FEW, valid=None)
    _, y = sampler.fit_resample(URLS, one_vs_all)
    np.testing.assert_array_equal(y[:84], one_vs_all)
    assert len(set(y.sum(axis=0))) == 1


def test_a_table_with_two_columns_is_refused():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"url": URLS, "kind": LABELS})
    with pytest.raises(TableError, match=r"one column of strings, it has the shape .84, 2."):
        TextGAN(**FEW).fit_resample(frame, LABELS)


def test_a_function_says_what_is_valid():
    long = re.compile(r".{6,}")
    sampler = TextGAN(**FEW, valid=lambda text: long.match(text) is not None)
    texts, _ = sampler.fit_resample(URLS, LABELS)
    assert all(len(text) >= 6 for text in texts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://192.0.2.7/login.php?id=3", True),
        ("https://a-b.c.test:8080/x#y", True),
        ("http://192.0.2.700/", False),
        ("https://-a.test/", False),
        ("ftp://a.test/", False),
        ("https://a.test/with space", False),
        ("https://nowhere", False),
        ("", False),
    ],
)
def test_what_is_a_url(text, expected):
    assert is_url(text) is expected


def test_a_comparison_of_tables_leaves_strings_out():
    from counterbalance.compare.strategies import known_strategies  # noqa: PLC0415

    assert "GAMO" in known_strategies()
    assert "text-GAN" not in known_strategies()
