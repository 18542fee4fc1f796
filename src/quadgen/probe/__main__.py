"""`python3 -m quadgen.probe`."""

from __future__ import annotations

import os
import sys

from quadgen.probe.main import main

if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # systemd waits for this process: taking the interpreter apart costs more than all that it did at the end.
    os._exit(status)
