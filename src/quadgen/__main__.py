"""`quadgen` and `python -m quadgen`."""

from __future__ import annotations

from quadgen.cli.main import cli


def main() -> None:
    """Run the command line of this process."""
    cli(prog_name="quadgen")


if __name__ == "__main__":
    main()
