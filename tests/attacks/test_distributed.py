"""The distributed engine against hostile folders, files and tables."""

import os
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.tree import DecisionTreeClassifier

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.distributed import balance_files
from counterbalance.errors import CounterbalanceError, TableError
from large_tables import no_cluster, numeric_table, write_parts

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning"),
    pytest.mark.filterwarnings("ignore:column .* is kept but not used"),
]
is_root = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch):
    with no_cluster(monkeypatch):
        yield


def sampler(**settings):
    f = DecisionTreeClassifier(max_depth=3, class_weight="balanced", random_state=0)
    return CounterfactualOverSampler(estimator=f, n_draws=3, random_state=0, **settings)


@pytest.fixture
def source(tmp_path):
    return write_parts(numeric_table(160), tmp_path / "in", 2)


class Hostile:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_nothing_in_an_unfinished_folder_is_read(source, tmp_path):
    left, trap = tmp_path / "out.partial" / "run-0", tmp_path / "trapped"
    (left / "_provenance").mkdir(parents=True)
    for name in ("part-00000.parquet", "_summary.json", "plan.pickle", "_provenance/x.parquet"):
        (left / name).write_bytes(pickle.dumps(Hostile(trap)))
    balance_files(source, "y", tmp_path / "out", sampler=sampler())
    assert not trap.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


@pytest.mark.skipif(not is_root, reason="only root can give a folder to another user")
def test_an_unfinished_folder_of_another_user_is_refused(source, tmp_path):
    (tmp_path / "out.partial").mkdir()
    os.chown(tmp_path / "out.partial", 4321, -1)
    with pytest.raises(TableError, match="belongs to another user; remove it, or name another"):
        balance_files(source, "y", tmp_path / "out", sampler=sampler())


def test_a_folder_of_somebody_s_files_is_not_removed(source, tmp_path):
    (tmp_path / "out.partial").mkdir()
    (tmp_path / "out.partial" / "thesis.tex").write_text("mine")
    with pytest.raises(TableError, match="holds files that no run has left there; remove it"):
        balance_files(source, "y", tmp_path / "out", sampler=sampler())
    assert (tmp_path / "out.partial" / "thesis.tex").read_text() == "mine"


@pytest.mark.parametrize("place", ["out.partial", "out.partial/run-0"])
def test_a_planted_link_is_refused_or_removed_and_never_followed(place, source, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "victim").write_text("mine")
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).symlink_to(tmp_path / "elsewhere")
    if place == "out.partial":
        with pytest.raises(TableError, match="is a link, which may lead anywhere; remove it"):
            balance_files(source, "y", tmp_path / "out", sampler=sampler())
    else:
        balance_files(source, "y", tmp_path / "out", sampler=sampler())
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["victim"]


def hostile_files():
    """Return files that are unusable as parts of a table, or hold unexpected cells."""
    table = numeric_table(80)
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    nested = arrow.append_column("nested", pa.array([{"a": [1]}] * 80))
    big = arrow.append_column("text", pa.array(["x" * 100_000] * 79 + ["y"]))
    names = arrow.rename_columns(["../../etc", "a\0b", "a;b", "=1+1", " ", "single", "y"])
    return {
        "nested": nested,
        "long texts": big,
        "names": names,
        "no rows": arrow.slice(0, 0),
        "one class": arrow.filter(pa.compute.equal(arrow["y"], 0)),
        "nulls": arrow.set_column(0, "a", pa.nulls(80)),
        "infinite": arrow.set_column(0, "a", pa.array([np.inf] * 80)),
        "huge": arrow.set_column(0, "a", pa.array([1e308, -1e308] * 40)),
        "target list": arrow.set_column(6, "y", pa.array([[1]] * 80)),
        "target null": arrow.set_column(6, "y", pa.nulls(80)),
        "target float": arrow.set_column(6, "y", pa.array(np.linspace(0, 1, 80))),
    }


def attempt(source, out, own):
    """Return the result, or None and the message; any error of another kind is a failure."""
    try:
        return balance_files(source, "y", out, sampler=own), ""
    except CounterbalanceError as error:
        return None, str(error)


@pytest.mark.parametrize("kind", hostile_files())
@pytest.mark.parametrize("own", [CounterfactualOverSampler, InteriorOverSampler])
def test_hostile_files_are_balanced_or_refused_with_a_reason(kind, own, tmp_path):
    (tmp_path / "in").mkdir()
    parquet.write_table(hostile_files()[kind], tmp_path / "in" / "0.parquet")
    balanced, said = attempt(tmp_path / "in", tmp_path / "out", own(random_state=0))
    if balanced is None:
        assert 10 < len(said) < 2_000
        assert not list(tmp_path.glob("out*"))
    else:
        assert len(parquet.read_table(tmp_path / "out")) == sum(balanced.after.values())
        assert {path.parent for path in tmp_path.rglob("part-*.parquet")} <= {
            tmp_path / "out",
            tmp_path / "out" / "_provenance",
        }
