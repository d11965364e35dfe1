"""`headwater search`: datasets, columns, jobs, runs, owners, tags, terms and namespaces by words."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import open_answers
from headwater.backend.cli.display_names import shown_name
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.graph.model import NodeKind
from headwater.graph.search import SEARCHED, Order

app = typer.Typer(add_completion=False)

_COLUMNS = ("kind", "name", "namespace", "state", "owners", "tags", "description")
_SHOWN = 10  # values of a facet
_LONGEST = 60  # characters of a description in a table
_QUERY = """query ($text: String!, $kinds: [NodeKind!], $namespaces: [String!], $platforms: [String!], $owners: [String!],
  $tags: [String!], $terms: [String!], $states: [String!], $order: SearchOrder!, $first: Int!, $after: String) {
  find(text: $text, kinds: $kinds, namespaces: $namespaces, platforms: $platforms, owners: $owners, tags: $tags, terms: $terms,
    states: $states, order: $order, first: $first, after: $after) {
    hits { score matched namespace state node { id kind name descriptions { owners tags terms description } } }
    total counted complete cursor facets { name values { value count } } } }"""

Values = list[str] | None


@app.command()
def search(
    words: Annotated[list[str] | None, typer.Argument(metavar="[WORDS]...", help="Words, in any order.")] = None,
    kind: Annotated[list[NodeKind] | None, typer.Option("--kind", help=f"Only this kind: {', '.join(SEARCHED)}. Repeatable.")] = None,
    namespace: Annotated[Values, typer.Option("--namespace", help="Only in this namespace. Repeatable, like the options below.")] = None,
    platform: Annotated[Values, typer.Option("--platform", help="Only data of this platform, say s3.")] = None,
    owner: Annotated[Values, typer.Option("--owner", help="Only with this owner or steward.")] = None,
    tag: Annotated[Values, typer.Option("--tag", help="Only with this tag.")] = None,
    term: Annotated[Values, typer.Option("--term", help="Only with this term of the glossary.")] = None,
    state: Annotated[Values, typer.Option("--state", help="Only with a last run in this state, say FAIL.")] = None,
    order: Annotated[Order, typer.Option("--order", help="The order without words.")] = Order.FAILED_FIRST,
    facets: Annotated[bool, typer.Option("--facets", help="Print the counts of kinds, namespaces, owners, tags and states.")] = False,
    first: Annotated[int, typer.Option("--first", min=1, max=1000, help="Number of hits.")] = 20,
    after: Annotated[str | None, typer.Option("--after", help="Cursor of the page before.")] = None,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Find datasets, columns, jobs, runs, owners, tags, terms and namespaces by words of their names and descriptions.

    Typing errors are forgiven. Without words, the command lists everything of the kinds.

    For example:

      headwater search daily orders

      headwater search customer --kind column

      headwater search --kind dataset --state FAIL
    """
    asked = {
        "text": " ".join(words or ()), "kinds": [each.name for each in kind or ()] or None, "namespaces": namespace, "platforms": platform,
        "owners": owner, "tags": tag, "terms": term, "states": state, "order": order.name, "first": first, "after": after,
    }  # fmt: skip
    asyncio.run(_search(asked, facets, format, home))


async def _search(asked: dict[str, Any], facets: bool, format: Format, home: Path | None) -> None:
    async with open_answers(home) as answers:
        found = (await answers.ask(_QUERY, **asked))["find"]
    if facets:
        rows = [
            {"facet": facet["name"], "value": each["value"], "count": each["count"]}
            for facet in found["facets"]
            for each in facet["values"][: _SHOWN if format is Format.TABLE else None]
        ]
        emit(rows, columns=("facet", "value", "count"), format=format, empty="Nothing is found.")
    else:
        is_table = format is Format.TABLE
        columns = _COLUMNS if is_table else ("id", *_COLUMNS, "terms", "score", "matched")
        emit([_row(hit, is_table) for hit in found["hits"]], columns=columns, format=format, empty="Nothing is found.")
    if format is Format.TABLE:
        _tell(found)


def _tell(found: dict[str, Any]) -> None:
    """Say what the table leaves out."""
    least = "" if found["counted"] else "at least "
    if found["cursor"] is not None:
        note(f"These are {len(found['hits']):,} of {least}{found['total']:,} hits. The next: --after {found['cursor']}", label="note")
    elif not found["complete"]:
        note(f"{least}{found['total']:,} are found, and only the best are shown. Add a word, or choose a facet.".capitalize(), label="note")


def _row(hit: dict[str, Any], is_table: bool) -> dict[str, Any]:
    node = hit["node"]
    about = node["descriptions"]
    name = shown_name(node["kind"], node["name"], node["id"]) if is_table else node["name"]
    text = about["description"] or ""
    return {
        "id": node["id"], "kind": node["kind"].lower(), "name": name, "namespace": hit["namespace"], "state": hit["state"],
        "owners": ", ".join(about["owners"]), "tags": ", ".join(about["tags"]), "terms": ", ".join(about["terms"]),
        "description": f"{text[:_LONGEST]}…" if is_table and len(text) > _LONGEST else text, "score": hit["score"],
        "matched": ", ".join(hit["matched"]),
    }  # fmt: skip
