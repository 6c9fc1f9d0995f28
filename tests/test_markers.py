"""Every test that is marked by its name is there, so that no marker is lost by renaming."""

import re
from fnmatch import filter as matching
from pathlib import Path

import pytest

from markers import MARKED

HERE = Path(__file__).parent
FILES = [path.relative_to(HERE).as_posix() for path in HERE.rglob("test_*.py")]
TESTS = [
    name
    for file in FILES
    for name in re.findall(r"^def (test_\w+)", (HERE / file).read_text("utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("marker", MARKED)
def test_what_is_marked_is_there(marker):
    tests = [pattern.partition("?")[0] for pattern in MARKED[marker]]  # without its parameters
    gone = [pattern for pattern in tests if not matching(FILES + TESTS, pattern)]
    assert gone == [], "mend tests/markers.py"
