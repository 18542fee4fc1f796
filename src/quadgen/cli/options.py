"""`quadgen options`."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING

import click

from quadgen.cli import output
from quadgen.cli.settings import common, settings_of
from quadgen.errors import UsageError

if TYPE_CHECKING:
    from quadgen.vllm.catalog import Catalog
    from quadgen.vllm.option import Option

_WIDEST = 100


@click.command("options")
@click.argument("word", required=False)
@common
@click.option("--vllm", metavar="X.Y", help="The vLLM release to ask about. Default: the newest known.")
@click.option("--long", "-l", is_flag=True, help="Tell all about each option, not one line.")
@click.pass_context
def command(ctx: click.Context, word: str | None, vllm: str | None, *, long: bool) -> None:
    """Search and explain the options of `vllm serve`.

    WORD is looked for in names, groups and explanations; an exact name, in any spelling that vLLM takes,
    tells all about that option. Without WORD, every option of the release is listed.
    """
    from quadgen.vllm import catalog as catalogs  # noqa: PLC0415

    release = vllm or catalogs.RELEASES[-1]
    catalog = catalogs.load(release)
    exact = catalog.find(word) if word else None
    if exact:
        found: tuple[Option, ...] = (exact.option,)
    else:
        found = catalog.search(word) if word else tuple(catalog.options.values())
    if not found:
        from quadgen.vllm.unknown import unknown_option  # noqa: PLC0415

        finding = unknown_option(word or "", catalog)
        raise UsageError(finding.message, finding.remedy)
    if settings_of(ctx).json:
        from quadgen.vllm.describe import describe  # noqa: PLC0415

        output.result([describe(option, catalog) for option in found])
    elif long or exact:
        click.echo("\n".join(_card(option, catalog) for option in found))
    else:
        click.echo(_table(found))


def _width() -> int:
    return min(shutil.get_terminal_size((80, 24)).columns, _WIDEST)


def _table(options: tuple[Option, ...]) -> str:
    names = max(len(option.name) for option in options)
    names = min(names, 34)
    lines = []
    for option in options:
        text = textwrap.wrap(option.summary, _width() - names - 2)
        head = option.name if len(option.name) <= names else f"{option.name}\n{'':{names}}"
        lines.append(f"{head:{names}}  " + f"\n{'':{names + 2}}".join(text))
    return "\n".join(lines)


def _card(option: Option, catalog: Catalog) -> str:
    from quadgen.vllm.describe import age_words, default_words, value_words  # noqa: PLC0415

    rows = [
        ("value", value_words(option)),
        ("default", default_words(option)),
        ("choices", ", ".join(map(str, option.choices or option.late_choices or option.suggestions))),
        ("group", option.group),
        ("since", age_words(option)),
        ("words", " ".join((*option.flags, *option.negative))),
    ]
    if option.json_class:
        rows.append(("keys", ", ".join(catalog.json_class(option.json_class).keys)))
    lines = [click.style(option.name, bold=True), f"  {option.summary}"]
    for label, text in rows:
        if text:
            lines += textwrap.wrap(
                f"{label:8} {text}", _width(), initial_indent="  ", subsequent_indent=" " * 11
            )
    return "\n".join((*lines, ""))
