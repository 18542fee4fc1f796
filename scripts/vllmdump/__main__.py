"""Print what one vLLM release takes, as JSON.

    python scripts/vllmdump SOURCE VERSION

SOURCE is an unpacked wheel, the folder that holds vllm/; only its Python files are needed. The interpreter is
one in which vLLM's requirements are installed; one environment does for every release since 0.20.
`scripts/catalog` sees to both.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

# Started as a folder, this file is no package; its neighbours are found from the folder above.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from vllmdump import tree  # noqa: E402


def main() -> None:
    """Keep standard output for the dump: importing vLLM prints."""
    source, version = Path(sys.argv[1]), sys.argv[2]
    out, sys.stdout = sys.stdout, sys.stderr
    tree.enter(source, version)
    json.dump(_dump(source, version), out)


def _dump(source: Path, version: str) -> dict[str, object]:
    # Only now that `import vllm` means the tree.
    from vllm.utils.argparse_utils import FlexibleArgumentParser  # noqa: PLC0415

    from vllm import config  # noqa: PLC0415
    from vllmdump import jsonclass, options, rendering, variables  # noqa: PLC0415

    # vLLM leaves help texts out unless it sees a request for help; the row of a deprecated option needs them.
    sys.argv = ["vllm", "serve", "--help=all"]
    parser = FlexibleArgumentParser(prog="vllm serve")
    tree.command_line_module(source).make_arg_parser(parser)
    found = options.rows(parser, config, rendering.used(source))
    classes = jsonclass.rows(options.late_classes(found, config), checked=False)
    classes.update(jsonclass.rows(options.classes(parser), checked=True))
    return {"version": version, "options": found, "classes": classes, "variables": variables.rows(source)}


main()
