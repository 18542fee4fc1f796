"""Comparing what is rendered with what is installed; nothing is read or changed here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quadgen.deploy.conflicts import entry_findings, refuse_unknown, rival_findings
from quadgen.deploy.plan import Entry, Plan
from quadgen.quadlet.header import BUILT_IN, read

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from quadgen.deploy.installed import Installed, InstalledFile
    from quadgen.deploy.plan import Action
    from quadgen.quadlet.assignment import UnitFile
    from quadgen.quadlet.header import Header


def make_plan(
    rendered: Sequence[UnitFile],
    installed: Installed,
    *,
    spec: str | None,
    names: Collection[str] | None = None,
    overwrite: bool = False,
    take_over: bool = False,
) -> Plan:
    """Compare.

    Args:
        rendered: The unit files wanted, stamped; none of them to uninstall.
        installed: What is there.
        spec: Whose files may be removed; None for every spec's.
        names: The only services to touch; None for all of the spec.
        overwrite: Replace and remove files that were edited by hand.
        take_over: Replace files that belong to another spec.
    """
    chosen = None if names is None else frozenset(names)
    wanted = {file.name: file for file in rendered if chosen is None or not chosen.isdisjoint(file.services)}
    compare = _Comparison(installed, spec, overwrite=overwrite, take_over=take_over)
    current = {file.name: file for file in installed.files}
    entries = [compare.write(file, current.get(name)) for name, file in wanted.items()]
    entries += compare.leave(file for name, file in current.items() if name not in wanted and not file.header)
    entries += compare.remove(wanted, chosen)
    entries.sort(key=lambda entry: (entry.name, entry.path))
    findings = [finding for entry in entries for finding in entry_findings(entry)]
    findings += rival_findings(entries, installed.rivals)
    refuse_unknown(chosen, wanted.values(), installed)
    return Plan(installed.place, tuple(entries), tuple(findings))


@dataclass(frozen=True, slots=True)
class _Comparison:
    installed: Installed
    spec: str | None
    overwrite: bool
    take_over: bool

    def write(self, file: UnitFile, current: InstalledFile | None) -> Entry:
        """The entry for a file that is wanted."""
        action, reason = self._judge(file, current)
        path = self.installed.place.folder / file.name
        old = current.text if current else None
        new = old if action == "unchanged" else file.text
        return Entry(action=action, path=path, services=file.services, old=old, new=new, reason=reason)

    def _judge(self, file: UnitFile, current: InstalledFile | None) -> tuple[Action, str]:
        if current is None:
            return "create", ""
        if current.text == file.text:
            return "unchanged", ""
        if current.header is None:
            return "conflict", "quadgen did not write it"
        return self._judge_own(file, current, current.header)

    def _judge_own(self, file: UnitFile, current: InstalledFile, header: Header) -> tuple[Action, str]:
        wanted = read(file.text)
        same_body = wanted is not None and wanted.body == header.body
        if self._owned_by_another(header.spec):
            return ("unchanged", "the same for both") if same_body else ("conflict", header.spec)
        if current.link:
            return "conflict", "it is a symbolic link"
        if header.intact or same_body or self.overwrite:
            return "update", ""
        return "edited", ""

    def _owned_by_another(self, owner: str) -> bool:
        # A built-in service is nobody's, and a spec that is gone cannot be wanted back.
        if self.take_over or owner.startswith(BUILT_IN) or owner in self.installed.gone:
            return False
        return owner != self.spec

    def leave(self, files: Iterable[InstalledFile]) -> Iterator[Entry]:
        """Entries for other people's files in quadgen's own folder."""
        if not self.installed.place.flat:
            yield from (Entry(action="foreign", path=file.path, old=file.text) for file in files)

    def remove(self, wanted: dict[str, UnitFile], chosen: frozenset[str] | None) -> Iterator[Entry]:
        """Entries for quadgen's own files that are not wanted."""
        others = [file for file in self.installed.own if file.name not in wanted]
        doomed = [file for file in others if self._is_doomed(file, chosen)]
        doomed_paths = {file.path for file in doomed}
        staying = [file for file in others if file.path not in doomed_paths]
        # What the services rendered now need is known; of the others only the headers tell.
        alive = _private(file.header.services for file in staying if file.header)
        texts = [file.text for file in wanted.values()]
        texts += [file.text for file in staying]
        texts += [file.text for file in self.installed.files if not file.header]
        moved = [file for file in self.installed.earlier if self._is_doomed(file, chosen)]
        moved_paths = {file.path for file in moved}
        texts += [rival.text for rival in self.installed.rivals if rival.path not in moved_paths]
        yield from (self._stay(file, chosen) for file in staying)
        yield from (_removal(file, alive, texts) for file in doomed)
        yield from (_entry("remove", file, reason="it lies outside quadgen's own folder") for file in moved)

    def _is_doomed(self, file: InstalledFile, chosen: frozenset[str] | None) -> bool:
        if not self._is_subject(file, chosen) or file.link or file.header is None:
            return False
        return file.header.intact or self.overwrite

    def _is_subject(self, file: InstalledFile, chosen: frozenset[str] | None) -> bool:
        if file.header is None or self.spec not in {None, file.header.spec}:
            return False
        return chosen is None or not chosen.isdisjoint(file.header.services)

    def _stay(self, file: InstalledFile, chosen: frozenset[str] | None) -> Entry:
        if not self._is_subject(file, chosen):
            return _entry("unchanged", file)
        reason = "it is a symbolic link" if file.link else "no longer wanted"
        return _entry("edited", file, reason=reason)


def _private(services: Iterable[tuple[str, ...]]) -> set[str]:
    """The services that have a file of their own, and so are installed; a shared file proves nothing."""
    return {names[0] for names in services if len(names) == 1}


def _removal(file: InstalledFile, alive: set[str], texts: list[str]) -> Entry:
    services = file.header.services if file.header else ()
    users = sorted(alive.intersection(services))
    if users:
        return _entry("unchanged", file, reason=f"{', '.join(users)} needs it")
    mention = re.compile(rf"(?<![\w.@-]){re.escape(file.name)}(?![\w.@-])")
    if any(mention.search(text) for text in texts):
        return _entry("unchanged", file, reason="another unit names it")
    return _entry("remove", file)


def _entry(action: Action, file: InstalledFile, reason: str = "") -> Entry:
    services = file.header.services if file.header else ()
    return Entry(action=action, path=file.path, services=services, old=file.text, reason=reason)
