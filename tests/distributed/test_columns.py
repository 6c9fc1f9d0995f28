"""Which columns of files are kept but not used: decided as for a table in memory."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from counterbalance.distributed import inputs
from counterbalance.io.column_checks import IN_PYTHON, Topic, look_at_column
from counterbalance.io.table_file import ArrowTable
from large_tables import numeric_table, write_parts

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


def look(folder, name):
    parts = [part.only([name]) for part in inputs.read_inputs(folder, "y").parts(10**9)]
    return inputs.look_at_column_of_files(parts, name, IN_PYTHON)


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
def test_a_column_of_files_is_looked_at_as_in_memory(
    kind, name, n, few, seed, n_files, tmp_path_factory
):
    cells = KINDS[kind](np.random.default_rng(seed).integers(0, few, n))
    table = pa.table({name: cells, "y": pa.array(np.arange(n) % 2)})
    folder = tmp_path_factory.mktemp("parts")
    for number, rows in enumerate(np.array_split(np.arange(n), n_files)):
        parquet.write_table(table.take(rows), folder / f"{number}.parquet")
    assert look(folder, name) == look_at_column(ArrowTable(table, ".parquet").frame[name], name)


def test_a_column_beyond_the_limit_is_looked_at_by_its_beginning_and_the_finding_says_so(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(inputs, "MOST_ROWS", 60)
    monkeypatch.setattr(inputs, "FIRST_ROWS", 20)
    table = numeric_table(200).assign(name=[f"patient {n % 100}" for n in range(200)])
    write_parts(table, tmp_path, 3)
    finding = look(tmp_path, "name")
    assert "60 different values in 60 rows" in finding.text
    assert finding.text.endswith("(as its first 60 rows show)")
    whole = look_at_column(table["name"], "name")  # half of them differ
    assert whole.topic is Topic.MANY_CATEGORIES
