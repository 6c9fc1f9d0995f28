"""Hostile files, places and terminals: refused or bounded with a sentence, and nothing is lost.

A small set always runs; with COUNTERBALANCE_ATTACK set, a larger one.
"""

import gzip
import io
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from counterbalance.cli import main

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parents[2] / "src"
LARGE = bool(os.environ.get("COUNTERBALANCE_ATTACK"))
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")
HIDDEN = "\u202eega\u200b\u2066\ufeff\u00ad\u3164"


def table(n=60):
    rng = np.random.default_rng(0)
    ages = rng.integers(20, 80, n)
    return pd.DataFrame(
        {
            "age": ages,
            "height": rng.normal(170, 8, n).round(1),
            "ward": rng.choice(["A", "B"], n),
            "risk": np.where(ages > 62, "high", "low"),
        }
    )


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.csv"
    table().to_csv(path, index=False)
    return path


def balance(path, *options, target="risk"):
    return main(["balance", str(path), "--target", target, *map(str, options)])


def in_process(*options, **how):
    code = "import sys; from counterbalance.cli import main; sys.exit(main())"
    return subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", code, *map(str, options)],
        env={**os.environ, "PYTHONPATH": str(SOURCE), **how.pop("env", {})},
        capture_output="stdout" not in how,
        check=False,
        timeout=600,
        **how,
    )


def refused(capsys):
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("counterbalance: error: ")
    assert len(said) < 2000
    return said


# --- what is read ---------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("kind", ["fifo", "endless", "folder"])
def test_a_pipe_a_device_or_a_folder_is_refused_at_once(tmp_path, capsys, kind):
    path = tmp_path / "t.csv"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    assert balance(path) == 1
    assert "TABLE must be a file" in refused(capsys)


def test_a_gzip_bomb_is_refused_before_it_fills_memory(tmp_path, capsys):
    path = tmp_path / "t.csv.gz"
    row = b"a,b\n" + b"0" * 2**20
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(600 if LARGE else 300):
            file.write(row)
    assert balance(path) == 1
    assert "unpacked, is larger than the" in refused(capsys)


def test_a_spreadsheet_bomb_is_refused(tmp_path, capsys):
    pytest.importorskip("openpyxl")
    path = tmp_path / "t.xlsx"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed,
        packed.open("xl/worksheets/sheet1.xml", "w") as file,
    ):
        for _ in range(300):
            file.write(b" " * 2**20)
    assert balance(path) == 1
    assert "unpacked, is larger than the" in refused(capsys)


def test_a_spreadsheet_that_claims_the_largest_size_is_read_quickly(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [list(table().columns), *table().to_numpy().tolist()]:
        book.active.append(row)
    sink = io.BytesIO()
    book.save(sink)
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(sink) as old, zipfile.ZipFile(path, "w") as new:
        for item in old.infolist():
            new.writestr(item, old.read(item).replace(b'ref="A1:D61"', b'ref="A1:XFD1048576"'))
    assert balance(path, "--out", tmp_path / "out.xlsx") == 0


@posix
def test_a_file_larger_than_memory_is_refused_by_its_size(tmp_path, capsys):
    path = tmp_path / "t.csv"
    with path.open("wb") as file:
        file.truncate(2**42 if LARGE else 2**40)  # a sparse one: it takes no room
    assert balance(path) == 1
    assert "is larger than the" in refused(capsys)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-8"])
def test_byte_order_and_byte_order_mark_are_kept(tmp_path, encoding):
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    content = ("\ufeff" + table().to_csv(index=False)).encode(encoding)
    path.write_bytes(content)
    assert balance(path, "--out", out) == 0
    assert out.read_bytes().startswith(content)
    assert len(out.read_bytes()) > len(content)
    assert out.read_bytes().decode(encoding).count("\ufeff") == 1


# --- what is written ------------------------------------------------------------------------


@posix
def test_outputs_of_a_private_file_are_private(tmp_path, source):
    source.chmod(0o600)
    outputs = {option: tmp_path / name for option, name in OUTPUTS.items()}
    assert balance(source, *(word for pair in outputs.items() for word in pair)) == 0
    for path in outputs.values():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


OUTPUTS = {"--out": "out.csv", "--provenance": "new.csv", "--report": "page.html"}


@posix
@pytest.mark.parametrize("option", OUTPUTS)
def test_a_planted_link_is_not_followed(tmp_path, source, capsys, option):
    victim, link = tmp_path / "victim", tmp_path / f"link{Path(OUTPUTS[option]).suffix}"
    victim.write_text("precious")
    link.symlink_to(victim)
    assert balance(source, option, link) == 1
    assert f"{option} must be a file, and {link} is a link" in refused(capsys)
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("number", ["99999999", "9" * 5000, "²", "-5", "1e9"])
def test_the_rows_of_a_class_are_limited(source, capsys, number):
    assert balance(source, "--ratio", f"high={number}") == 1
    assert "--ratio must give class 'high' at" in refused(capsys)


# --- what is said ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x" * 100_000, "a b " * 25_000])
def test_no_message_echoes_a_hundred_thousand_characters(tmp_path, source, capsys, name):
    for options in (["--keep", name], ["--ratio", f"{name}=5"], ["--immutable", name]):
        assert balance(source, *options) == 1
        assert refused(capsys).endswith(("'risk'", "'low'", "'high'"))
    assert balance(source, target=name) == 1
    refused(capsys)
    long = tmp_path / "long.csv"
    table().rename(columns={"age": name}).replace("A", name).to_csv(long, index=False)
    assert balance(long, "--immutable", "agee") == 1
    refused(capsys)
    assert balance(long) == 0
    said = capsys.readouterr()
    assert max(map(len, (said.out + said.err).splitlines())) < 2000


def test_direction_marks_and_zero_width_characters_are_shown(tmp_path, capsys):
    path, page = tmp_path / "in.csv", tmp_path / "page.html"
    name = f"age{HIDDEN}"
    table().rename(columns={"age": name}).replace("A", f"A{HIDDEN}").to_csv(path, index=False)
    assert balance(path, "--out", tmp_path / "out.csv", "--report", page) == 0
    said = capsys.readouterr()
    shown = page.read_text()
    for character in HIDDEN.replace("ega", ""):
        assert character not in said.out + said.err
        assert character not in shown
        assert f"[U+{ord(character):04X}]" in shown
    assert "\\u202eega\\u200b" in said.out
    assert (tmp_path / "out.csv").read_text().startswith(path.read_text())


# --- where it is said -----------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "ascii:strict", "utf-8"])
def test_an_encoding_without_arrows_gets_ascii(tmp_path, source, encoding):
    out = tmp_path / "out.csv"
    ended = in_process(
        "balance", source, "--target", "risk", "--out", out, env={"PYTHONIOENCODING": encoding}
    )
    assert ended.returncode == 0, ended.stderr
    assert out.exists()
    arrow = "→" if encoding == "utf-8" else "->"
    assert f" {arrow} " in ended.stdout.decode(encoding.partition(":")[0])


def test_json_holds_the_same_values_in_any_encoding(tmp_path):
    path = tmp_path / "in.csv"
    table().rename(columns={"age": "Größe →"}).to_csv(path, index=False)
    ended = in_process(
        "balance", path, "--target", "risk", "--json", env={"PYTHONIOENCODING": "ascii"}
    )
    assert ended.returncode == 0
    import json  # noqa: PLC0415

    assert json.loads(ended.stdout)["features"][0] == "Größe →"


@posix
@pytest.mark.parametrize("where", ["a pipe without a reader", "/dev/full", "closed"])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("unbuffered", ["", "1"] if LARGE else [""])
def test_a_line_that_cannot_be_printed_is_not_a_failure(
    tmp_path, source, where, stream, unbuffered
):
    if where == "/dev/full" and not Path(where).exists():
        pytest.skip("no /dev/full")
    out = tmp_path / "out.csv"
    words = [sys.executable, "-m", "counterbalance", "balance", str(source), "--target", "risk"]
    number = {"stdout": 1, "stderr": 2}[stream]
    end = {
        "a pipe without a reader": f"{number}> >(exec {number}>&- 0<&-; true)",
        "/dev/full": f"{number}>/dev/full",
        "closed": f"{number}>&-",
    }[where]
    command = f'"$@" --out {out} {end}'
    ended = subprocess.run(  # noqa: S603 - our own command
        ["/bin/bash", "-c", command, "bash", *words],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        check=False,
        timeout=600,
    )
    assert ended.returncode == 0, ended
    assert out.exists()
    assert b"Traceback" not in ended.stderr
    if (where, stream) == ("/dev/full", "stdout"):
        assert b"could not be printed" in ended.stderr
