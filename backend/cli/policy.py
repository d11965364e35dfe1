"""`headwater policy`: rules for the flows of data, and the deviations from them."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import open_answers
from headwater.backend.cli.lazy_group import NamingGroup
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.graph.policies import Severity

app = typer.Typer(
    cls=NamingGroup, add_completion=False, no_args_is_help=True, help="State which data may flow where, and find what deviates."
)

_DEVIATION = """fragment deviation on PolicyDeviation { id rule severity owner source target message path since certain policy state
  opened fixed reason acceptedBy acceptedUntil }"""
_REPORT = f"fragment report on PolicyReport {{ deviations {{ ...deviation }} idle {{ rule selector }} cut conflicts }} {_DEVIATION}"
_CHECK = f"query ($text: String!, $past: Boolean!) {{ checkPolicy(text: $text, past: $past) {{ ...report }} }} {_REPORT}"
_APPLY = f"""mutation ($text: String!, $unknown: Boolean!) {{ applyPolicy(text: $text, allowUnknown: $unknown) {{
  policy {{ name version }} report {{ ...report }} }} }} {_REPORT}"""
_LIST = "query { policies { name version author at } }"
_FILED = f"""query ($policy: String, $states: [DeviationState!]) {{ deviations(policy: $policy, states: $states, first: 1000) {{
  ...deviation }} }} {_DEVIATION}"""
_ACCEPT = f"""mutation ($id: ID!, $reason: String!, $days: Float!) {{ acceptDeviation(id: $id, reason: $reason, days: $days) {{
  ...deviation }} }} {_DEVIATION}"""
_REMOVE = "mutation ($name: String!) { removePolicy(name: $name) }"
_DRAFT = "query ($name: String!) { draftPolicy(name: $name) }"

_FOUND = ("severity", "rule", "message", "certain", "since")
_STATED = ("id", "state", "severity", "policy", "rule", "message", "opened", "reason")
_MOST_LISTED = 1_000
_RANK = [Severity.ERROR, Severity.WARNING, Severity.INFO]

File = Annotated[Path, typer.Argument(metavar="FILE", help="A YAML file with the rules. See docs/guide/policies.md.")]


class State(StrEnum):
    """The state of a deviation, as an option."""

    OPEN = "open"
    ACCEPTED = "accepted"
    FIXED = "fixed"


@app.command()
def check(
    file: File,
    fail_on: Annotated[Severity, typer.Option("--fail-on", help="The lowest severity for which the command fails.")] = Severity.ERROR,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Check the present lineage against the rules of a file. Nothing is stored.

    The command fails if there is a deviation of the severity error, so that it can be a step of continuous integration.

    Example: headwater policy check policy.yaml --fail-on warning
    """
    found = asyncio.run(_ask(home, _CHECK, text=_read(file), past=False))["checkPolicy"]
    _emit_report(found, format)
    limit = _RANK[: _RANK.index(fail_on) + 1]
    if found["cut"] or any(each["severity"].lower() in limit for each in found["deviations"]):
        raise typer.Exit(1)


@app.command("test")
def check_history(file: File, format: OutputFormat = Format.TABLE, home: Home = None) -> None:
    """Check the whole recorded history: also flows that were given up. `since` says when a deviation began.

    Example: headwater policy test policy.yaml
    """
    _emit_report(asyncio.run(_ask(home, _CHECK, text=_read(file), past=True))["checkPolicy"], format)


@app.command()
def apply(
    file: File,
    allow_unknown: Annotated[bool, typer.Option("--allow-unknown", help="Accept names of datasets that do not exist yet.")] = False,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Store the rules of a file as the next version of its policy. From now on, each run is checked.

    Example: headwater policy apply policy.yaml
    """
    done = asyncio.run(_ask(home, _APPLY, text=_read(file), unknown=allow_unknown))["applyPolicy"]
    note(f"The policy {done['policy']['name']} is applied, in version {done['policy']['version']}.", label="done")
    _emit_report(done["report"], format)


@app.command("list")
def list_policies(format: OutputFormat = Format.TABLE, home: Home = None) -> None:
    """List the applied policies."""
    rows = asyncio.run(_ask(home, _LIST))["policies"]
    emit(rows, columns=("name", "version", "author", "at"), format=format, empty="No policy is applied: headwater policy apply FILE.")


@app.command()
def report(
    policy: Annotated[str | None, typer.Option(help="Only deviations from this policy.", show_default=False)] = None,
    state: Annotated[list[State] | None, typer.Option(help="Only deviations in this state. Repeatable. Open ones by default.")] = None,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """List the deviations from the applied policies, the latest first.

    Example: headwater policy report --state open --state accepted --format csv
    """
    states = [each.name for each in state or [State.OPEN]]
    rows = asyncio.run(_ask(home, _FILED, policy=policy, states=states))["deviations"]
    if len(rows) == _MOST_LISTED:
        note(f"Only the latest {_MOST_LISTED:,} are listed. Choose a policy or a state.", label="warning")
    columns = _STATED if format is Format.TABLE else (*_STATED, "owner", "source", "target", "path", "certain", "since", "fixed",
                                                      "acceptedBy", "acceptedUntil")  # fmt: skip
    emit([_shown(row, format) for row in rows], columns=columns, format=format, empty="Nothing deviates.")


@app.command()
def accept(
    deviation: Annotated[str, typer.Argument(metavar="ID", help="The id, as `headwater policy report` prints it.")],
    reason: Annotated[str, typer.Option(help="Why the deviation is right.")],
    days: Annotated[float, typer.Option(help="For how many days. The deviation is open again then.")] = 90,
    home: Home = None,
) -> None:
    """Accept a deviation for some time.

    Example: headwater policy accept 5f0c2a91d3b4e677 --reason "agreed with the privacy office" --days 30
    """
    done = asyncio.run(_ask(home, _ACCEPT, id=deviation, reason=reason, days=days))["acceptDeviation"]
    note(f"The deviation is accepted until {done['acceptedUntil']}.", label="done")


@app.command()
def remove(name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the policy.")], home: Home = None) -> None:
    """End a policy. Its versions are kept, and its deviations count as fixed."""
    asyncio.run(_ask(home, _REMOVE, name=name))
    note(f"The policy {name} is not applied any more.", label="done")


@app.command()
def infer(
    name: Annotated[str, typer.Option(help="The name of the policy.")] = "draft",
    home: Home = None,
) -> None:
    """Print a draft of a policy: it allows the flows between folders that were observed, and no others.

    Example: headwater policy infer --name lake
    """
    import yaml

    draft = asyncio.run(_ask(home, _DRAFT, name=name))["draftPolicy"]
    typer.echo(yaml.safe_dump(draft, sort_keys=False, allow_unicode=True, width=10_000), nl=False)


async def _ask(home: Path | None, document: str, **variables: Any) -> dict[str, Any]:
    async with open_answers(home, creates=document is _APPLY) as answers:
        await answers.settle()
        return await answers.ask(document, **variables)


def _read(file: Path) -> str:
    from headwater.backend.policies.service import GUIDE
    from headwater.graph.yaml_reader import read_document

    return read_document(file, GUIDE)[0]


def _emit_report(found: dict[str, Any], format: Format) -> None:
    rows = sorted(found["deviations"], key=lambda row: (_RANK.index(Severity(row["severity"].lower())), row["rule"], row["message"]))
    columns = _FOUND if format is Format.TABLE else ("id", *_FOUND, "owner", "source", "target", "path")
    emit([_shown(row, format) for row in rows], columns=columns, format=format, empty="Nothing deviates.")
    for each in found["idle"]:
        note(f"Nothing fits {each['selector']}, in the rule {each['rule']}.", label="note")
    for conflict in found["conflicts"]:
        note(f"For the present data: {conflict}", label="warning")
    for rule in found["cut"]:
        note(f"The rule {rule} has more deviations than are listed.", label="warning")


def _shown(row: dict[str, Any], format: Format) -> dict[str, Any]:
    texts = {name: row[name].lower() for name in ("severity", "state") if row[name]}
    path = row["path"] if format is Format.JSON else " > ".join(row["path"])
    return {**row, **texts, "path": path}
