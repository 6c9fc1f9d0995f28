"""Print Table I: ``python -m counterbalance.methods``."""

import sys

from counterbalance.methods.registry import table

sys.stdout.write(table() + "\n")
