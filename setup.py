"""Build the compiled kernels. Everything else about the package is in pyproject.toml."""

import os

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

KERNELS = (
    "classifier/boosting_kernel",
    "constraints/together_kernel",
    "distributed/statistics_kernel",
    "plausible/nearest_kernel",
    "search/kernel",
    "search/minimum_kernel",
)
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


setup(
    ext_modules=[
        make_extension(SHARED, f"src/{SHARED.replace('.', '/')}.c", "-O1"),
        *(
            # with -O2 the default search takes a quarter longer
            make_extension(
                f"counterbalance.{kernel.replace('/', '.')}",
                f"src/counterbalance/{kernel}.pyx",
                "-O3",
            )
            for kernel in KERNELS
        ),
    ],
    cmdclass={"build_ext": BuildKernels},
)
