"""`python3 -m quadgen.probe`."""

from __future__ import annotations

import sys

from quadgen.probe.main import main

if __name__ == "__main__":
    sys.exit(main())
