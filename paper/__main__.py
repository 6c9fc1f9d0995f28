"""``python -m paper COMMAND``, from the root of the repository: run an experiment, list data sets.

Trials that are done are kept in a store: stop a command at any time, and run the same again to go
on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from counterbalance.errors import CounterbalanceError
from paper.datasets import catalogue, load
from paper.reproduction import DATASETS, EVERY, QUICK, Settings
from paper.reproduction.methods import METHODS
from paper.reproduction.page import reproduce
from paper.study import SUITES, baselines_page, protocol, resamplers, suite
from paper.study.page import study
from paper.tables import Table
from paper.trials import Store

# Rows of a table in a reproduction: with fewer, a class has none in some fold.
FEWEST_ROWS = 200
QUICK_SETS, QUICK_FOLDS, QUICK_ROWS = 2, 2, 300
ALIASES = {"baselines": ("rivals",)}  # the name of the command in version 0.2
# Every method of this package by its names in all experiments, those of published trials included.
OURS = {
    *resamplers.PROTOCOL.kind.ours
    | baselines_page.PROTOCOL.kind.ours
    | protocol.PROTOCOL.kind.ours,
    *("ours", "ours, as printed", "ours, class-weighted f", "InteriorOverSampler"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code."""
    options = make_parser().parse_args(arguments)
    try:
        options.execute(options)
    except CounterbalanceError as error:
        sys.stderr.write(f"paper: error: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("paper: stopped; run the same again to go on where it stopped\n")
        return 130
    return 0


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser("python -m paper", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    one = commands.add_parser("reproduce", help="the paper's experiments beside its figures")
    one.add_argument("--quick", action="store_true", help="few folds and rows: all tables, soon")
    one.add_argument("--datasets", nargs="+", choices=DATASETS)
    one.add_argument("--methods", nargs="+", choices=METHODS)
    one.add_argument("--folds", type=_at_least(2), help="of the cross-validation (10)")
    one.add_argument("--runs", type=_at_least(1), help="of it, on each data set (5, of ILC 2)")
    one.add_argument("--rows", type=_at_least(FEWEST_ROWS), help="most of a data set (all)")
    one.add_argument("--splits", type=_at_least(1), help="for the counts by class (10)")
    one.add_argument("--seeds", type=_at_least(1), help="synthetic tables (10)")
    _add_run(one, "reproduction")
    one.set_defaults(execute=run_reproduction)

    for name, kind, what in (
        ("study", resamplers.PROTOCOL, "resamplers before six classifiers, over many data sets"),
        ("baselines", baselines_page.PROTOCOL, "what to use instead of a resampler"),
    ):
        one = commands.add_parser(name, help=what, aliases=ALIASES.get(name, ()))
        one.add_argument("--suite", nargs="+", choices=SUITES, default=["development"])
        one.add_argument("--datasets", nargs="+", metavar="NAME", help="in place of a suite")
        about = "'none' is always among them"
        one.add_argument("--methods", nargs="+", choices=kind.methods, help=about)
        one.add_argument("--folds", type=_at_least(2), default=5)
        one.add_argument("--repeats", nargs="+", type=_at_least(0), default=[0])
        one.add_argument("--rows", type=_at_least(0), default=1600, help="most of a data set")
        one.add_argument("--quick", action="store_true", help="two tables of each suite, few rows")
        _add_run(one, name)
        one.set_defaults(execute=run_study, protocol=kind)

    one = commands.add_parser("protocol", help="other people's protocol: is rebalancing needed?")
    one.add_argument("--datasets", nargs="+", choices=protocol.PROBLEMS, default=())
    one.add_argument("--methods", nargs="+", choices=protocol.STRATEGIES, default=())
    one.add_argument("--repeats", type=_at_least(1), default=20, help="shuffles of five folds (20)")
    _add_run(one, "protocol")
    one.set_defaults(execute=run_protocol)

    one = commands.add_parser("datasets", help="list the data sets, show one, or save it")
    one.add_argument("name", nargs="?", help="a data set; without it, all are listed")
    one.add_argument("--out", type=Path, metavar="FILE", help="write it to this csv file")
    one.set_defaults(execute=show_datasets)

    one = commands.add_parser("forget", help="delete the trials of methods from a store")
    one.add_argument("--method", nargs="+", default=[], help="names in the tables")
    one.add_argument("--ours", action="store_true", help="all methods of this package")
    one.add_argument("--store", required=True, type=Path, metavar="FILE")
    one.set_defaults(execute=forget)
    return parser


def _add_run(command: argparse.ArgumentParser, out: str) -> None:
    command.add_argument("--jobs", type=int, default=1, help="processes; -1 is one per core")
    command.add_argument("--out", type=Path, default=Path(out), help=f"folder ({out})")
    command.add_argument("--store", type=Path, help="file of the trials (trials.sqlite in --out)")
    command.add_argument("--retry-failed", action="store_true", help="compute failed ones again")
    command.add_argument("--tables-only", action="store_true", help="of what the store has so far")


def run_reproduction(options: argparse.Namespace) -> None:
    """Run the reproduction; trials that fail are shown in the tables."""
    tables = reproduce(settings_of(options), **_how(options))
    _show(tables, options.out)
    if any(note.startswith("Failed:") for table in tables for note in table.notes):
        raise CounterbalanceError("trials failed: see the notes; run again with --retry-failed")


def settings_of(options: argparse.Namespace) -> Settings:
    """Return the settings that the options ask for, an option over --quick over the defaults."""
    numbers = {name: getattr(options, name) for name in ("folds", "splits", "seeds")}
    names = {name: tuple(getattr(options, name) or ()) for name in ("datasets", "methods")}
    sizes = {n: {EVERY: size} for n in ("runs", "rows") if (size := getattr(options, n))}
    given = {name: value for name, value in {**numbers, **names, **sizes}.items() if value}
    return replace(QUICK if options.quick else Settings(), **given)


def run_study(options: argparse.Namespace) -> None:
    """Run the study of resamplers, or of baselines; a fold that fails counts as none."""
    suites = {name: suite(name) for name in options.suite}
    if options.datasets:
        suites = {"chosen": tuple(options.datasets)}
    sizes = {"folds": options.folds, "rows": options.rows}
    if options.quick:
        suites = {name: sets[:QUICK_SETS] for name, sets in suites.items()}
        sizes = {"folds": QUICK_FOLDS, "rows": QUICK_ROWS}
    for name in options.datasets or ():
        load(name)  # a wrong name fails before hours of work
    methods = options.protocol.methods
    if options.methods:
        methods = tuple(dict.fromkeys(("none", *options.methods)))
    how = {**sizes, "repeats": tuple(options.repeats), **_how(options)}
    _show(study(options.protocol, suites, methods, **how), options.out)


def run_protocol(options: argparse.Namespace) -> None:
    """Run the protocol of Sakho et al.; a fold that fails counts as no rebalancing."""
    chosen = options.datasets or tuple(protocol.PROBLEMS)
    suites = {
        name: tuple(data for data in datasets if data in chosen)
        for name, datasets in protocol.SUITES.items()
    }
    suites = {name: datasets for name, datasets in suites.items() if datasets}
    methods = tuple(dict.fromkeys(("none", *(options.methods or protocol.STRATEGIES))))
    sizes: Any = {"folds": 5, "repeats": tuple(range(options.repeats)), "rows": 0}
    _show(study(protocol.PROTOCOL, suites, methods, **sizes, **_how(options)), options.out)


def show_datasets(options: argparse.Namespace) -> None:
    """List all data sets, or show one and write it to a file."""
    if options.name is None:
        sys.stdout.write(catalogue().to_string() + "\n")
        return
    data = load(options.name)
    sys.stdout.write(f"{data!r}\n{data.description}\nFrom: {data.source}\n")
    if options.out is not None:
        data.X.assign(**{str(data.y.name): data.y}).to_csv(options.out, index=False)


def forget(options: argparse.Namespace) -> None:
    """Delete the trials of methods; an experiment that names no method runs ours alone."""
    if not options.method and not options.ours:
        raise CounterbalanceError("forget needs --method or --ours; name what to delete")
    methods = {*options.method, *((None, *OURS) if options.ours else ())}
    with closing(Store(options.store)) as store:
        sys.stdout.write(f"{store.forget(methods)} trials deleted\n")


def _how(options: argparse.Namespace) -> dict[str, Any]:
    """Return where and how trials are computed; a store that is to be read must be there."""
    store = options.store or options.out / "trials.sqlite"
    if options.tables_only and not store.is_file():
        raise CounterbalanceError(
            f"--store must be the file of an earlier run where nothing is computed, got {store}; "
            "name that file, or leave out --tables-only"
        )
    return {
        "store": store,
        "out": options.out,
        "jobs": options.jobs,
        "retry_failed": options.retry_failed,
        "computing": not options.tables_only,
    }


def _show(tables: Sequence[Table], out: Path) -> None:
    sys.stdout.write("\n".join(table.markdown() for table in tables))
    sys.stdout.write(f"\ntables, figures and the page are in {out}\n")


def _at_least(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {text}")
        return int(text)

    return read


if __name__ == "__main__":
    sys.exit(main())
