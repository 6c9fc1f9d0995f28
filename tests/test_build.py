"""The package as it is built: a source archive, a wheel with the kernels, one without a compiler.

One process makes the three once for all tests: see ``built``.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/counterbalance"
KERNELS = [
    path.relative_to(PACKAGE).with_suffix("").as_posix() for path in sorted(PACKAGE.rglob("*.pyx"))
]
LEFT_OUT = shutil.ignore_patterns(
    ".*", "*.so", "*.c", "*.egg-info", "__pycache__", "build", "dist", "study", "reproduction*"
)
# What must be the same to the last bit with the kernels and without them.
RESULTS = """
import hashlib, sys, warnings
import numpy as np
import counterbalance
from counterbalance import CounterfactualOverSampler, InteriorOverSampler, show_versions

warnings.simplefilter("ignore")
assert counterbalance.__file__.startswith(sys.argv[1]), counterbalance.__file__
rng = np.random.default_rng(0)
y = np.repeat([0, 1, 2], [60, 20, 10])
X = np.round(rng.normal(size=(90, 17)) + y[:, None], 1)
X[rng.random(X.shape) < 0.05] = np.nan
seen = hashlib.sha256()
for sampler in (
    CounterfactualOverSampler(random_state=0),
    CounterfactualOverSampler(search="minimum", random_state=0),
    InteriorOverSampler(random_state=0),
):
    seen.update(sampler.fit_resample(X, y)[0].tobytes())
    seen.update(sampler.provenance_["score_after"].tobytes())
print(seen.hexdigest())
show_versions()
"""


def run(*command, **environment):
    done = subprocess.run(  # noqa: S603
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PIP_NO_INDEX": "1", **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(folder):
    """Make the source archive, and from it a wheel with a compiler and one without."""
    source = shutil.copytree(ROOT, folder / "source", ignore=LEFT_OUT)
    code = "from setuptools.build_meta import build_sdist; import sys; build_sdist(sys.argv[1])"
    done = folder / "sdist"
    subprocess.run([sys.executable, "-c", code, done], cwd=source, check=True, capture_output=True)  # noqa: S603
    (archive,) = done.glob("*.tar.gz")
    pip = (sys.executable, "-m", "pip")
    for name, environment in (("with", {}), ("without", {"CC": "/bin/false"})):
        wheels = folder / name
        flags = ("--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", wheels)
        run(*pip, "wheel", *flags, archive, **environment)
        (wheel,) = wheels.glob("*.whl")
        run(
            *pip, "install", "--no-deps", "--quiet", "--target", folder / f"installed-{name}", wheel
        )


@pytest.fixture(scope="session", name="built")
def make_built(tmp_path_factory, worker_id):
    """Return the folder of the archives; parallel tests share it."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder if worker_id == "master" else folder.parent) / "built"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            build(folder)
            (folder / "done").touch()
    return folder


def names_in(wheel_folder):
    (wheel,) = wheel_folder.glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


def test_the_source_archive_holds_what_the_kernels_are_made_of_and_nothing_compiled(built):
    (archive,) = (built / "sdist").glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = opened.getnames()
    for kernel in KERNELS:
        assert any(name.endswith(f"{kernel}.pyx") for name in names)
    assert not [name for name in names if name.endswith((".so", ".c", ".pyc"))]


def test_the_experiments_of_the_paper_are_in_no_archive(built):
    (archive,) = (built / "sdist").glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = [name.partition("/")[2] for name in opened.getnames()]
    assert (ROOT / "paper").is_dir()
    for name in (*names, *names_in(built / "with")):
        assert name.split("/")[0] != "paper"
        assert not name.startswith(("counterbalance/studies", "src/counterbalance/studies"))
    assert "counterbalance/datasets/wisconsin.csv" in names_in(built / "with")


def test_the_wheel_holds_the_compiled_kernels(built):
    names = names_in(built / "with")
    for kernel in (*KERNELS, "_memoryviews"):
        assert [name for name in names if f"{kernel}." in name and name.endswith((".so", ".pyd"))]


def test_without_a_compiler_the_wheel_is_made_all_the_same(built):
    assert not [name for name in names_in(built / "without") if name.endswith((".so", ".pyd"))]


def test_without_a_compiler_the_samplers_work_and_show_versions_says_so(built, tmp_path):
    script = tmp_path / "results.py"
    script.write_text(RESULTS)
    reports = {}
    for name in ("with", "without"):
        where = built / f"installed-{name}"
        digest, about, *_ = run(sys.executable, script, where, PYTHONPATH=str(where)).splitlines()
        reports[name] = digest, about.split(", ")[1]
    assert all(digest for digest, _ in reports.values())
    assert reports["with"][1] == "with the compiled kernels"
    assert reports["without"][1] == "without the compiled kernels (slower)"
    for line in reports.values():
        assert line[1].count("compiled kernel") == 1
    where = {"PYTHONPATH": str(built / "installed-without")}
    version = run(sys.executable, "-m", "counterbalance", "--version", **where)
    assert "without the compiled kernel" in version
