"""Measure the sampler: every figure is a ratio taken in this one run.

    python benchmarks/run.py [naive] [effort] [growth] [memory] [beside] [nested]

The machine may be shared and noisy; times are the best of a few repeats.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import beside
import effort
import growth
import memory
import naive_ratio
import nested

PARTS: dict[str, Callable[[], None]] = {
    "naive": naive_ratio.main,
    "effort": effort.main,
    "growth": growth.main,
    "memory": memory.main,
    "beside": beside.main,
    "nested": nested.main,
}


def main(chosen: list[str]) -> None:
    """Run the chosen parts, or all."""
    for name in chosen or PARTS:
        start = time.perf_counter()
        PARTS[name]()
        print(f"({name}: {time.perf_counter() - start:.0f} s)\n", flush=True)


if __name__ == "__main__":
    unknown = [name for name in sys.argv[1:] if name not in PARTS]
    if unknown:
        sys.exit(f"unknown part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    main(sys.argv[1:])
