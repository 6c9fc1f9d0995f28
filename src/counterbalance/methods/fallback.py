"""What a peer says when it cannot do what was asked for, and does something near it."""

from counterbalance.user_warnings import warn_user


class PeerFallbackWarning(UserWarning):
    """A peer could not follow its paper on this table; the message says what it did instead."""


def warn_fallback(method: str, reason: str, instead: str) -> None:
    """Warn that ``method`` departs from its paper because of ``reason``."""
    warn_user(PeerFallbackWarning(f"{method}: {reason}; {instead}."))
