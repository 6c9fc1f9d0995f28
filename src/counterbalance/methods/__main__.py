"""Print the paper's Table I from the registry: ``python -m counterbalance.methods``."""

import sys

from counterbalance.methods.registry import table

sys.stdout.write(table() + "\n")
