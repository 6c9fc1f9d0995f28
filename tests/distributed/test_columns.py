"""Which columns of files are kept but not used: decided as for a table in memory."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from sklearn.tree import DecisionTreeClassifier

from counterbalance import CounterfactualOverSampler
from counterbalance.constraints import Immutable, Range
from counterbalance.distributed import columns
from counterbalance.distributed.files import balance_files
from counterbalance.distributed.inputs import read_inputs
from counterbalance.errors import TableError
from counterbalance.io.column_checks import look_at_column
from counterbalance.io.table_file import ArrowTable
from large_tables import in_memory, no_cluster, numeric_table, write_parts

pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch):
    with no_cluster(monkeypatch):
        yield


def sampler(**options):
    f = DecisionTreeClassifier(max_depth=3, class_weight="balanced", random_state=0)
    return CounterfactualOverSampler(
        estimator=f, n_draws=3, on_shortfall="interior", random_state=0, **options
    )


# Cells made of whole numbers, of which few or many differ.
KINDS = {
    "whole": pa.array,
    "counted": lambda numbers: pa.array(np.argsort(numbers, kind="stable") + 3),
    "huge": lambda numbers: pa.array(numbers + 2**60),
    "holes": lambda numbers: pa.array([None if n % 5 == 0 else n for n in numbers.tolist()]),
    "float": lambda numbers: pa.array(numbers / 7),
    "empty": lambda numbers: pa.nulls(len(numbers), pa.float64()),
    "text": lambda numbers: pa.array([f"name {n}" for n in numbers]),
    "number texts": lambda numbers: pa.array([str(n) if n % 9 else "none" for n in numbers]),
    "date texts": lambda numbers: pa.array([f"2020-01-{1 + n % 28:02d}" for n in numbers]),
    "date": lambda numbers: pa.array(numbers.astype("datetime64[D]")),
    "time": lambda numbers: pa.array(numbers, pa.time64("us")),
    "truth": lambda numbers: pa.array(numbers % 2 == 0),
    "category": lambda numbers: pa.array([f"level {n}" for n in numbers]).dictionary_encode(),
    "decimal": lambda numbers: pa.array([Decimal(n) / 4 for n in numbers.tolist()]),
    "list": lambda numbers: pa.array([[n] for n in numbers.tolist()]),
    "bytes": lambda numbers: pa.array([bytes([n % 256]) for n in numbers.tolist()], pa.binary()),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(
    name=st.sampled_from(["value", "patient_id", "key", "Unnamed: 0"]),
    n=st.integers(1, 80),
    few=st.sampled_from([1, 2, 12, 40, 10**6]),
    seed=st.integers(0, 99),
    n_files=st.integers(1, 4),
)
@settings(max_examples=12, suppress_health_check=list(HealthCheck))
def test_a_column_of_files_is_judged_as_in_memory(
    kind, name, n, few, seed, n_files, tmp_path_factory
):
    cells = KINDS[kind](np.random.default_rng(seed).integers(0, few, n))
    table = pa.table({name: cells, "y": pa.array(np.arange(n) % 2)})
    folder = tmp_path_factory.mktemp("parts")
    for number, rows in enumerate(np.array_split(np.arange(n), n_files)):
        parquet.write_table(table.take(rows), folder / f"{number}.parquet")
    expected = look_at_column(ArrowTable(table).frame[name], name)
    parts = [part.only([name]) for part in read_inputs(folder, "y").partitions]
    assert columns.look_at_column_of_files(parts, name) == columns.ColumnLook(expected)


def test_a_column_beyond_the_limit_is_judged_by_its_beginning_and_the_finding_says_so(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(columns, "MOST_ROWS", 60)
    monkeypatch.setattr(columns, "FIRST_ROWS", 20)
    table = numeric_table(200).assign(name=[f"patient {n % 100}" for n in range(200)])
    write_parts(table, tmp_path, 3)
    parts = [part.only(["name"]) for part in read_inputs(tmp_path, "y").partitions]
    finding = columns.look_at_column_of_files(parts, "name").finding
    assert "60 different values in 60 rows" in finding.text
    assert finding.text.endswith("(as its first 60 rows show)")
    assert look_at_column(table["name"], "name") is None  # half of them differ


def test_a_python_call_leaves_identifiers_empty_and_warns(tmp_path):
    table = numeric_table(200)
    expected, _ = in_memory(sampler(), table)
    table.insert(2, "person", [f"person {n}" for n in range(200)])
    write_parts(table, tmp_path / "in", 3)
    said = r"column 'person' is kept but not used: .*; use=\['person'\] uses it"
    with pytest.warns(UserWarning, match=said) as warned:
        balanced = balance_files(tmp_path / "in", "y", tmp_path / "out", sampler=sampler())
    assert {warning.filename for warning in warned} == {__file__}
    rows = pd.read_parquet(tmp_path / "out")
    assert balanced.kept == ("person",)
    assert rows["person"][:200].tolist() == table["person"].tolist()
    assert rows["person"][200:].isna().all()
    pd.testing.assert_frame_equal(rows.drop(columns="person"), expected, check_exact=True)


@pytest.mark.parametrize("chosen", [[5], [False] * 5 + [True, False], ["count"]])
def test_positions_mean_columns_of_the_files_whichever_are_kept(chosen):
    features = ["person", *"abcd", "count", "single"]
    given = sampler(integer_features=chosen, constraints=[Immutable(1, "b"), Range(6, 0, 1)])
    found = columns.parameters_by_name(given, features, ["person"])
    assert found["integer_features"] == ["count"]
    assert found["constraints"] == [Immutable("a", "b"), Range("single", 0, 1)]
    with pytest.raises(TableError, match=r"Immutable\(0\) names 'person', which is not used"):
        columns.parameters_by_name(sampler(constraints=Immutable(0)), features, ["person"])


def test_decimals_are_numbers_and_come_out_as_decimals(tmp_path):
    table = numeric_table(200)
    cents = [Decimal(int(100 * value)) / 100 for value in table["a"]]
    written = pa.Table.from_pandas(table, preserve_index=False).set_column(
        0, "a", pa.array(cents, pa.decimal128(10, 2))
    )
    (tmp_path / "in").mkdir()
    parquet.write_table(written, tmp_path / "in" / "0.parquet")
    balance_files(tmp_path / "in", "y", tmp_path / "out", sampler=sampler(snap_to_grid=True))
    result = parquet.read_table(tmp_path / "out")
    assert result.schema.field("a").type == pa.decimal128(10, 2)
    expected, _ = in_memory(sampler(snap_to_grid=True), table.assign(a=list(map(float, cents))))
    assert len(result) > 200
    np.testing.assert_allclose(result["a"].cast(pa.float64()).to_numpy(), expected["a"])


def test_a_table_of_nothing_but_identifiers_is_refused(tmp_path):
    table = pd.DataFrame({"person": [f"p{n}" for n in range(60)], "y": np.arange(60) % 3 == 0})
    write_parts(table, tmp_path, 2)
    with pytest.raises(TableError, match="no column is left to work with: column 'person'"):
        balance_files(tmp_path, "y", tmp_path / "out", sampler=sampler())
    assert not (tmp_path / "out.partial").exists()
