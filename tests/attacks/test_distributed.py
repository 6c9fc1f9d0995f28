"""The distributed engine against hostile or damaged work folders, files and tables.

COUNTERBALANCE_ATTACK=1 flips many more bits.
"""

import json
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from counterbalance import CounterfactualOverSampler
from counterbalance.distributed import files
from counterbalance.distributed.files import balance_files
from counterbalance.errors import CounterbalanceError, EngineError, TableError
from large_tables import no_cluster, numeric_table

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning"),
    pytest.mark.filterwarnings("ignore:column .* is kept but not used"),
]
N_FLIPS = 400 if os.environ.get("COUNTERBALANCE_ATTACK") else 12
is_root = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch):
    with no_cluster(monkeypatch):
        yield


class StoppedError(Exception):
    """The run was stopped here."""


def sampler(estimator=None, **settings):
    f = DecisionTreeClassifier(max_depth=3, class_weight="balanced")
    settings = {"random_state": 0} | settings
    return CounterfactualOverSampler(
        estimator=estimator or f, n_draws=3, on_shortfall="fill", **settings
    )


def stop(source, out, monkeypatch, **settings):
    """Leave a run behind that has done everything except its last step."""

    def stopped(*_):
        raise StoppedError

    with monkeypatch.context() as patched:
        patched.setattr(files, "_finish", stopped)
        with pytest.raises(StoppedError):
            balance_files(source, "y", out, sampler=sampler(**settings))
    return out.with_name(f"{out.name}.partial")


def attempt(source, out, own):
    """Return the result, or None and the message; any error of another kind is a failure."""
    try:
        return balance_files(source, "y", out, sampler=own), ""
    except CounterbalanceError as error:
        return None, str(error)


@pytest.fixture
def source(tmp_path):
    (tmp_path / "in").mkdir()
    table = numeric_table(160)
    for number in range(2):
        part = table.iloc[80 * number : 80 * (number + 1)]
        part.to_parquet(tmp_path / "in" / f"{number}.parquet", index=False)
    return tmp_path / "in"


@pytest.fixture
def whole(source, tmp_path):
    """Return the manifest of an undisturbed run."""
    balance_files(source, "y", tmp_path / "whole", sampler=sampler())
    return (tmp_path / "whole" / "_manifest.json").read_bytes()


class Hostile:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_no_pickle_in_the_work_folder_is_ever_run(source, whole, tmp_path, monkeypatch):
    partial = stop(source, tmp_path / "out", monkeypatch)
    trap = tmp_path / "trapped"
    hostile = pickle.dumps(Hostile(trap))
    objects = np.empty(1, dtype=object)
    objects[0] = Hostile(trap)
    for path in [*(partial / "_work").rglob("*")]:
        if path.is_file() and path.name != "run":
            saved = path.read_bytes()
            path.write_bytes(hostile)
            if path.suffix == ".npz":
                arrays = dict.fromkeys(("factual", "target", "draw", "round", "distance"), objects)
                np.savez(path, **arrays, source=objects, right=objects, answers=objects)
            balanced, _ = attempt(source, tmp_path / "out", sampler())
            if balanced is None:
                path.write_bytes(saved)
            else:
                assert (tmp_path / "out" / "_manifest.json").read_bytes() == whole
                shutil.rmtree(tmp_path / "out")
                partial = stop(source, tmp_path / "out", monkeypatch)
    (partial / "_work" / "prepared.pickle").write_bytes(hostile)
    balance_files(source, "y", tmp_path / "out", sampler=sampler())
    assert not trap.exists()


def test_a_flipped_bit_is_reported_or_repaired_and_never_changes_the_result(
    source, whole, tmp_path, monkeypatch
):
    partial = stop(source, tmp_path / "out", monkeypatch)
    shutil.copytree(partial, tmp_path / "kept")
    rng = np.random.default_rng(0)
    work = sorted(path for path in (partial / "_work").rglob("*") if path.is_file())
    outcomes = set()
    for flip in range(N_FLIPS):
        path = work[flip % len(work)]
        content = bytearray(path.read_bytes())
        content[rng.integers(len(content))] ^= 1 << rng.integers(8)
        path.write_bytes(content)
        balanced, said = attempt(source, tmp_path / "out", sampler())
        if balanced is None:
            assert str(partial) in said
            assert "remove" in said
            outcomes.add("reported")
        else:
            assert (tmp_path / "out" / "_manifest.json").read_bytes() == whole
            shutil.rmtree(tmp_path / "out")
            outcomes.add("repaired")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(tmp_path / "kept", partial)
        partial.chmod(0o700)
    assert outcomes == {"repaired", "reported"}


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b"[" * 100_000, b"0" * 64 + b"\n{}"])
def test_an_invalid_plan_is_reported_with_the_remedy(content, source, tmp_path, monkeypatch):
    partial = stop(source, tmp_path / "out", monkeypatch)
    (partial / "_work" / "plan.json").write_bytes(content)
    with pytest.raises(EngineError, match=r"plan\.json is damaged: .*; remove .*out\.partial"):
        balance_files(source, "y", tmp_path / "out", sampler=sampler())


def test_the_folder_of_a_run_is_private_and_the_result_has_the_mode_of_a_new_folder(
    source, tmp_path, monkeypatch
):
    before = os.umask(0o002)
    try:
        partial = stop(source, tmp_path / "out", monkeypatch)
        assert partial.stat().st_mode & 0o777 == 0o700
        for path in (partial / "_work").rglob("*"):
            assert path.stat().st_mode & 0o077 == 0, path
        balance_files(source, "y", tmp_path / "out", sampler=sampler())
        modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "out").glob("*.parquet")}
        assert (tmp_path / "out").stat().st_mode & 0o777 == 0o775
        assert modes == {0o664}
    finally:
        os.umask(before)


def test_the_result_of_a_private_table_is_private(source, tmp_path):
    (source / "1.parquet").chmod(0o600)
    balance_files(source, "y", tmp_path / "out", sampler=sampler())
    for path in (tmp_path / "out", *(tmp_path / "out").rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.skipif(not is_root, reason="only root can give a file to another user")
@pytest.mark.parametrize("name", [".", "_work", "_work/plan.json", "part-00000.parquet"])
def test_what_belongs_to_another_user_is_refused(name, source, tmp_path, monkeypatch):
    partial = stop(source, tmp_path / "out", monkeypatch)
    os.chown(partial / name, 4321, -1)
    with pytest.raises(TableError, match=r"belongs to another user \(4321\).*; remove .*partial"):
        balance_files(source, "y", tmp_path / "out", sampler=sampler())


@pytest.mark.parametrize("name", [".", "_work", "_work/run", "_work/found"])
def test_a_folder_that_others_may_write_to_is_refused(name, source, tmp_path, monkeypatch):
    partial = stop(source, tmp_path / "out", monkeypatch)
    (partial / name).chmod(0o777)
    with pytest.raises(TableError, match="may be written by other users"):
        balance_files(source, "y", tmp_path / "out", sampler=sampler())


def test_a_planted_link_is_refused(source, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out.partial").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TableError, match="is a link"):
        balance_files(source, "y", tmp_path / "out", sampler=sampler())
    assert not list((tmp_path / "elsewhere").iterdir())
    (tmp_path / "out.partial").unlink()
    partial = stop(source, tmp_path / "out", monkeypatch)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (partial / "_work" / "plan.json").unlink()
    (partial / "_work" / "plan.json").symlink_to(victim)
    with pytest.raises(TableError, match="is a link"):
        balance_files(source, "y", tmp_path / "out", sampler=sampler())
    assert victim.read_text() == "mine"


def test_a_rerun_with_another_f_of_the_same_name_is_noticed(source, tmp_path, monkeypatch):
    partial = stop(source, tmp_path / "out", monkeypatch, estimator=Fickle())
    with pytest.raises(EngineError, match=r"f, fitted again, does not answer as it did"):
        balance_files(source, "y", tmp_path / "out", sampler=sampler(estimator=Fickle()))
    assert partial.exists()


class Fickle(ClassifierMixin, BaseEstimator):
    """Is fitted differently each time, whatever its seed."""

    fits = 0

    def fit(self, X, y):
        Fickle.fits += 1
        self.classes_ = np.unique(y)
        self.cut_ = np.quantile(X.iloc[:, 0], 0.5 + 0.1 * Fickle.fits)
        return self

    def predict(self, X):
        return self.classes_[(X.iloc[:, 0] > self.cut_).astype(int)]


def hostile_partitions():
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


@pytest.mark.parametrize("kind", hostile_partitions())
def test_hostile_partitions_are_balanced_or_refused_with_a_reason(kind, tmp_path):
    (tmp_path / "in").mkdir()
    parquet.write_table(hostile_partitions()[kind], tmp_path / "in" / "0.parquet")
    own = CounterfactualOverSampler(n_draws=3, random_state=0)
    balanced, said = attempt(tmp_path / "in", tmp_path / "out", own)
    if balanced is None:
        assert len(said) < 2_000
        assert not list(tmp_path.glob("out*"))
    else:
        rows = parquet.read_table(tmp_path / "out")
        assert len(rows) == sum(balanced.after.values())
        manifest = json.loads((tmp_path / "out" / "_manifest.json").read_text())
        assert len(manifest["files"]) == len(balanced.files)
        assert {path.parent for path in (tmp_path / "out").rglob("*.parquet")} <= {
            tmp_path / "out",
            tmp_path / "out" / "_provenance",
        }
