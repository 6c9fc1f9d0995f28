"""Build the compiled kernels. Everything else about the package is in pyproject.toml."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# Cython's code for memory views, 30,000 lines of C, is compiled once, not once for each kernel.
SHARED = "counterbalance._memoryviews"


class BuildKernels(build_ext):
    """Translate all kernels to C in one step, then compile them in parallel."""

    def build_extensions(self) -> None:
        """Replace the source of each extension by its C source, and compile it."""
        translated = cythonize(
            self.extensions,
            language_level=3,
            shared_utility_qualified_name=SHARED,
            quiet=True,
        )
        sources = {extension.name: extension.sources for extension in translated}
        for extension in self.extensions:
            extension.sources = sources[extension.name]
        self.parallel = self.parallel or os.cpu_count()
        super().build_extensions()


def make_extension(name: str, source: str, optimise: str) -> Extension:
    """Return an extension that is left out where there is no C compiler."""
    # -ffp-contract=off: a product and a sum are rounded one by one, as numpy rounds them.
    flags = [optimise, "-g0", "-ffp-contract=off"]
    return Extension(name, [source], extra_compile_args=flags, optional=True)


def make_kernel(source: Path) -> Extension:
    """Return the extension of a pyx file. With -O2 the default search takes a quarter longer."""
    name = ".".join(source.relative_to("src").with_suffix("").parts)
    return make_extension(name, source.as_posix(), "-O3")


setup(
    ext_modules=[
        make_extension(SHARED, f"src/{SHARED.replace('.', '/')}.c", "-O1"),
        *map(make_kernel, sorted(Path("src").rglob("*.pyx"))),
    ],
    cmdclass={"build_ext": BuildKernels},
)
