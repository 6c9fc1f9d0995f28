"""Print Table I: ``python -m counterbalance.peers``."""

import sys

from counterbalance.peers.registry import table

sys.stdout.write(table() + "\n")
