"""What a peer says when it cannot do what was asked for, and does something near it."""

import warnings


class PeerFallbackWarning(UserWarning):
    """A peer could not follow its paper on this table; the message says what it did instead."""


def warn_fallback(method: str, reason: str, instead: str) -> None:
    """Warn that ``method`` departs from its paper because of ``reason``."""
    warnings.warn(f"{method}: {reason}; {instead}.", PeerFallbackWarning, stacklevel=3)
