"""Build the compiled kernels. What else there is to say of the package is in pyproject.toml."""

import os

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

KERNELS = (
    "search/kernel",
    "search/minimum_kernel",
    "classifier/boosting_kernel",
    "plausible/nearest_kernel",
    "constraints/together_kernel",
    "distributed/statistics_kernel",
)
# Cython's code for memory views, 30,000 lines of C, is compiled once and not once for each kernel.
SHARED = "counterbalance._memoryviews"


class BuildKernels(build_ext):
    """Translate all kernels in one step, then compile as many at a time as there are cores."""

    def build_extensions(self) -> None:
        """Give each extension its C source, and compile it."""
        self.parallel = self.parallel or os.cpu_count()
        translated = cythonize(
            self.extensions,
            language_level=3,
            shared_utility_qualified_name=SHARED,
            quiet=True,
        )
        sources = {extension.name: extension.sources for extension in translated}
        for extension in self.extensions:
            extension.sources = sources[extension.name]
        super().build_extensions()


def extension(name: str, source: str, optimise: str) -> Extension:
    """Return an extension that is left out where it cannot be compiled."""
    # -ffp-contract=off: a product and a sum are rounded one by one, as numpy rounds them.
    flags = [optimise, "-g0", "-ffp-contract=off"]
    return Extension(name, [source], extra_compile_args=flags, optional=True)


extensions = [extension(SHARED, f"src/{SHARED.replace('.', '/')}.c", "-O1")]
for kernel in KERNELS:
    source = f"src/counterbalance/{kernel}.pyx"
    extensions.append(extension(f"counterbalance.{kernel.replace('/', '.')}", source, "-O3"))
extensions[KERNELS.index("plausible/nearest_kernel") + 1].depends = [
    "src/counterbalance/plausible/nearest_lanes.h"
]

setup(ext_modules=extensions, cmdclass={"build_ext": BuildKernels})
