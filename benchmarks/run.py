"""Measure the samplers: every figure is a ratio taken in this one run.

    PYTHONPATH=. python benchmarks/run.py [PART ...]    # bars, growth, ...: see --help

    --large     the bars of a million rows, too: some minutes and 2 GB
    --treecf    the bars against treecf, too: in an environment of its own, some minutes
    --write     put the bars into docs/speed.md

Run it in the root of the repository: some tables are those of paper/. The machine may be shared and
noisy; times are the best of a few repeats.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import bars
import beside
import growth
import memory

PARTS: dict[str, Callable[[], None]] = {
    "bars": bars.main,
    "growth": growth.main,
    "memory": memory.main,
    "beside": beside.main,
}


def main() -> None:
    """Run the chosen parts, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    for flag in ("large", "treecf", "write"):
        parser.add_argument(f"--{flag}", action="store_true")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.parts if name not in PARTS]
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    for name in chosen.parts or PARTS:
        start = time.perf_counter()
        if name == "bars":
            bars.main(large=chosen.large, treecf=chosen.treecf, write=chosen.write)
        else:
            PARTS[name]()
        print(f"({name}: {time.perf_counter() - start:.0f} s)\n", flush=True)


if __name__ == "__main__":
    main()
