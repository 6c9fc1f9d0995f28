"""Warnings that are expected in an experiment, because its page says the same in words."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning

from counterbalance.errors import IdentifierWarning, ShortfallWarning
from counterbalance.methods import PeerFallbackWarning


@contextmanager
def expected_warnings() -> Iterator[None]:
    """Keep quiet what the page says in words: fall-backs, and iterations that end early."""
    with warnings.catch_warnings():
        for kind in (
            IdentifierWarning,
            ShortfallWarning,
            PeerFallbackWarning,
            ConvergenceWarning,
        ):
            warnings.simplefilter("ignore", kind)
        yield
