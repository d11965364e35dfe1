"""Converts the options of `headwater triggers create` and `test` to the document of a trigger."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headwater.errors import InvalidQueryError

_WHEN = "--data, --cron, --every, --job, --policy, --manual, --when or --file"
_DO = "--run, --replay, --recapture, --webhook, --notify, --report, --do or --file"


def read_file(path: Path) -> dict[str, Any]:
    """Read a document from a JSON or TOML file.

    Raises:
        InvalidQueryError: the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
        stated = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError) as error:
        raise InvalidQueryError(f"{path} cannot be read: {error}.", field="file", hint="It is a JSON or TOML file.") from error
    if not isinstance(stated, dict):
        raise InvalidQueryError(f"{path} holds no object.", field="file", hint="docs/guide/triggers.md shows one.")
    return stated


def document_of(
    *, name: str | None, file: Path | None, when: Mapping[str, Any], do: Mapping[str, Any], limits: Mapping[str, Any]
) -> dict[str, Any]:
    """Merge the document in a file with the options."""
    stated: dict[str, Any] = read_file(file) if file is not None else {}
    if name is not None:
        stated["name"] = name
    for part, given, options, about in (("when", when, _WHEN, "when it fires"), ("do", do, _DO, "what it does")):
        if len(given) > 1 or (given and part in stated):
            raise InvalidQueryError(f"Several options say {about}.", field=part, hint=f"Give one of {options}.")
        if given:
            stated[part] = dict(given)
        if part not in stated:
            raise InvalidQueryError(f"No option says {about}.", field=part, hint=f"Give {options}.")
    if given_limits := {part: value for part, value in limits.items() if value is not None}:
        stated["limits"] = {**stated.get("limits", {}), **given_limits}
    return stated


def conditions(
    *, data: str | None, where: str | None, failed_check: str | None, stale: str | None, cron: str | None, every: str | None,
    zone: str | None, missed: str | None, job: str | None, state: str | None, policy: str | None, rule: str | None,
    severity: str | None, manual: bool, when: str | None,
) -> dict[str, Any]:  # fmt: skip
    found: dict[str, Any] = {}
    if data is not None and stale is not None:
        found["stale"] = {"dataset": data, "after": stale}
        if where is not None or failed_check is not None:
            raise InvalidQueryError("--stale waits for the absence of rows.", field="stale", hint="Leave --where and --failed-check out.")
    elif data is not None:
        found["data"] = _given(dataset=data, where=where, failed_check=True if failed_check == "any" else failed_check)
    elif where is not None or failed_check is not None or stale is not None:
        raise InvalidQueryError("--where, --failed-check and --stale are about a dataset.", field="data", hint="Name it with --data.")
    if cron is not None or every is not None:
        found["time"] = _given(cron=cron, every=every, zone=zone, missed=missed)
    if job is not None:
        found["cascade"] = _given(job=job, state=state)
    if policy is not None or rule is not None or severity is not None:
        found["deviation"] = _given(policy=None if policy == "any" else policy, rule=rule, severity=severity)
    if manual:
        found["manual"] = {}
    return found | (_object(when, "when") if when is not None else {})


def actions(
    *, run: str | None, namespace: str | None, replay: str | None, output: str | None, dataset: str | None, recapture: str | None,
    webhook: str | None, notify: str | None, text: str | None, report: str | None, do: str | None,
) -> dict[str, Any]:  # fmt: skip
    found: dict[str, Any] = {}
    if run is not None:
        found["run"] = _given(job=run, namespace=namespace)
    if replay is not None:
        found["replay"] = _given(kind=replay, output=output, dataset=dataset)
    if recapture is not None:
        found["recapture"] = {"dataset": recapture}
    if webhook is not None:
        found["webhook"] = {"target": webhook}
    if notify is not None:
        found["notify"] = _given(target=notify, text=text)
    if report is not None:
        found["report"] = _given(of=report, node=dataset)
    return found | (_object(do, "do") if do is not None else {})


def _given(**parts: Any) -> dict[str, Any]:
    return {name: part for name, part in parts.items() if part is not None}


def _object(text: str, option: str) -> dict[str, Any]:
    try:
        stated = json.loads(text)
    except ValueError as error:
        raise InvalidQueryError(f"--{option} is not JSON: {error}.", field=option, hint='For example {"manual": {}}.') from None
    if not isinstance(stated, dict):
        raise InvalidQueryError(f"--{option} is not an object.", field=option, hint='For example {"manual": {}}.')
    return stated
