"""`quadgen` and `python -m quadgen`."""

from __future__ import annotations

import gc

from quadgen.cli.main import cli


def main() -> None:
    """Run the command line of this process."""
    # A command is over before there is garbage worth looking for, and looking takes a tenth of its time.
    gc.disable()
    cli(prog_name="quadgen")


if __name__ == "__main__":
    main()
