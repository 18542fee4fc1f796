"""How `install` and `uninstall` tell what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadgen.cli import output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quadgen.cli.settings import Settings
    from quadgen.deploy.install import Outcome
    from quadgen.findings import Finding

_DONE = {"create": "created", "update": "updated", "remove": "removed"}
_PLANNED = {"create": "would create", "update": "would update", "remove": "would remove"}


def tell(settings: Settings, outcome: Outcome, findings: Sequence[Finding], *, dry_run: bool) -> None:
    """Print the changes, then what else there is to know."""
    changed = (*(outcome.plan.changes if dry_run else outcome.applied.entries), *outcome.foundation)
    if settings.json:
        output.result(
            {
                "dry_run": dry_run,
                "folder": str(outcome.plan.place.folder),
                "changes": [
                    {"action": entry.action, "file": entry.name, "services": list(entry.services)}
                    for entry in changed
                ],
                "reloaded": outcome.reloaded,
                "restart": list(outcome.restart),
                "findings": [finding.to_json() for finding in findings],
            }
        )
        return
    words = _PLANNED if dry_run else _DONE
    for entry in changed:
        output.message(settings, f"{words[entry.action]} {entry.path}")
        if dry_run and entry.action == "update" and entry.new:
            output.message(settings, entry.diff(), detail=True)
    output.report(settings, findings)
    if outcome.failed:
        if not outcome.applied.entries:
            output.message(settings, "nothing was changed")
    elif not changed:
        output.message(settings, _nothing(outcome))


def _nothing(outcome: Outcome) -> str:
    folder = outcome.plan.place.folder
    same = [entry for entry in outcome.plan.entries if entry.action == "unchanged"]
    if any(entry.action == "edited" for entry in outcome.plan.entries):
        return f"nothing was changed in {folder}"
    if same:
        return f"nothing to change: {output.plural(len(same), 'unit file')} in {folder}"
    return f"nothing of that is installed in {folder}"
