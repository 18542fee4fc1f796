"""`quadgen` and `python -m quadgen`."""

from __future__ import annotations

import os


def main() -> None:
    """Run the command line of this process."""
    # Looking for pydantic plugins of other packages reads the metadata of everything installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from quadgen.cli.main import cli  # noqa: PLC0415 - after the variable is set

    cli(prog_name="quadgen")


if __name__ == "__main__":
    main()
