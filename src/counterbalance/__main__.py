"""The command line as a module: ``python -m counterbalance``."""

import sys

from counterbalance.cli import main

if __name__ == "__main__":
    sys.exit(main())
