"""What a result was made by: settings, code and package versions, as one digest.

Two runs with the same fingerprint may share results; any other two may not.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import counterbalance
from counterbalance.errors import CounterbalanceError

PACKAGES = ("numpy", "scipy", "scikit-learn", "imbalanced-learn")
ABSENT = "absent"
CITATION = "Luo and Liu, Counterfactual-based minority oversampling for imbalanced classification"
# The samplers and all they compute with: a figure of an experiment depends on these. The command
# line, displays and reports may change without a trial being computed again. A test holds this
# list against what the samplers import.
SAMPLER_MODULES = tuple(
    f"counterbalance.{name}"
    for name in (
        *("arrays", "errors", "user_warnings", "table", "profile", "constraints", "classifier"),
        *("search", "plausible", "rows", "prepare", "samplers"),
    )
)


class FingerprintError(CounterbalanceError):
    """The settings or the code cannot be fingerprinted."""


@dataclass(frozen=True)
class Fingerprint:
    """Settings, digest of the code, and versions of the packages that made a result."""

    settings: Mapping[str, Any]
    code: str
    packages: Mapping[str, str]

    @cached_property
    def text(self) -> str:
        """The fingerprint as canonical JSON."""
        parts = {
            "settings": dict(self.settings),
            "code": self.code,
            "packages": dict(self.packages),
        }
        try:
            return json.dumps(parts, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise FingerprintError(
                f"settings must be plain JSON (text, numbers, lists, mappings), got "
                f"{self.settings!r}: {error}; write objects as text"
            ) from error

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the text, in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @staticmethod
    def from_text(text: str) -> Fingerprint:
        """Read a fingerprint back from its text."""
        parts = json.loads(text)
        return Fingerprint(parts["settings"], parts["code"], parts["packages"])

    def differences(self, other: Fingerprint) -> list[str]:
        """List what differs in `other`, one line each.

        Examples
        --------
        >>> here = Fingerprint({"folds": 10}, "a1", {"numpy": "2.4"})
        >>> here.differences(Fingerprint({"folds": 5}, "a1", {"numpy": "2.3"}))
        ['settings folds: 5, here 10', 'packages numpy: 2.3, here 2.4']
        """
        lines = []
        for part in ("settings", "packages"):
            mine, theirs = getattr(self, part), getattr(other, part)
            for name in sorted({*mine, *theirs}):
                here, there = mine.get(name, ABSENT), theirs.get(name, ABSENT)
                if here != there:
                    lines.append(f"{part} {name}: {there}, here {here}")
        if self.code != other.code:
            lines.append(f"code: {other.code[:12]}, here {self.code[:12]}")
        return lines


def take_fingerprint(
    settings: Mapping[str, Any],
    *,
    modules: Iterable[str] = ("counterbalance",),
    packages: Iterable[str] = PACKAGES,
) -> Fingerprint:
    """Take the fingerprint of a run on this machine.

    Parameters
    ----------
    settings : mapping
        Everything that the results depend on, as plain JSON; not the number of processes
        or the place of the output.
    modules : iterable of str
        Modules or packages whose source counts as the code.
    packages : iterable of str
        Distributions whose versions count. Python and the processor's kind always do.
    """
    found = versions(packages)
    del found["counterbalance"]  # its source counts
    found["machine"] = platform.machine()
    return Fingerprint(dict(settings), source_digest(modules), found)


def source_digest(modules: Iterable[str]) -> str:
    """Return the SHA-256 of the source of modules and packages: their Python and their tables."""
    digest = hashlib.sha256()
    for module in modules:
        spec = find_spec(module)
        if spec is None or spec.origin is None:
            raise FingerprintError(f"modules must be importable, got {module!r}; check its name")
        origin = Path(spec.origin)
        folder = origin.parent if spec.submodule_search_locations else None
        own = [] if folder is None else [*folder.rglob("*.py"), *folder.rglob("*.csv")]
        for file in sorted(own) or [origin]:
            name = file.name if folder is None else file.relative_to(folder).as_posix()
            digest.update(f"{module}/{name}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of Python, of this package and of ``packages``."""
    found = {"python": platform.python_version(), "counterbalance": counterbalance.__version__}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ABSENT
    return found
