"""Drafts a policy from observed flows between folders of datasets."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

from headwater.graph.model import parse_id
from headwater.graph.policies.flow_graph import FlowGraph

_SPECIAL = "[*?"
_WHOLE = "*"  # a whole namespace
_LONGEST_NAME = 200


def infer_policy(graph: FlowGraph, name: str) -> dict[str, Any]:
    """Return the document of a policy that allows the observed flows between folders, and no others."""
    sources: dict[tuple[str, str], set[tuple[str, str]]] = {}
    readings: dict[str, list[str]] = {}
    for dataset, jobs in graph.readers.items():
        for job in jobs:
            readings.setdefault(job, []).append(dataset)
    for job, outputs in graph.outputs.items():
        for output in outputs:
            sources.setdefault(_folder(output), set()).update(_folder(dataset) for dataset in readings.get(job, ()))
    rules: list[dict[str, Any]] = []
    ordered = sorted(sources)
    for number, (namespace, folder) in enumerate(sorted(folder for folder, feeding in sources.items() if feeding), 1):
        # The pattern of a folder also fits the folders in it, so their sources are allowed too.
        prefix = "" if folder == _WHOLE else folder
        inner = ordered[bisect_left(ordered, (namespace, prefix)) : bisect_left(ordered, (namespace, f"{prefix}{chr(sys.maxunicode)}"))]
        feeding = {source for each in inner for source in sources[each]} | set(inner)
        flow = {"from": [_selector(*each) for each in _outermost(feeding)], "to": _selector(namespace, folder)}
        rule = f"{number}: into {folder} of {namespace}"
        rules.append({"name": rule[:_LONGEST_NAME], "severity": "warning", "may_flow": flow})
    return {"policy": name, "rules": rules}


def _folder(dataset: str) -> tuple[str, str]:
    """Return namespace and folder of a dataset: its name up to the last slash or dot."""
    _, (namespace, name) = parse_id(dataset)
    end = max(name.rstrip("/").rfind("/"), name.rfind(".") if "/" not in name else -1)
    return namespace, name[: end + 1] or _WHOLE


def _outermost(folders: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the folders that are not in another one of them."""
    found: list[tuple[str, str]] = []
    for namespace, folder in sorted(folders, key=lambda each: (each[0], each[1] != _WHOLE, each[1])):
        other, outer = found[-1] if found else ("", "")
        if not found or namespace != other or not (outer == _WHOLE or folder.startswith(outer)):
            found.append((namespace, folder))
    return found


def _selector(namespace: str, folder: str) -> dict[str, str]:
    return {"namespace": _escaped(namespace), "dataset": "*" if folder == _WHOLE else f"{_escaped(folder)}*"}


def _escaped(text: str) -> str:
    return "".join(f"[{letter}]" if letter in _SPECIAL else letter for letter in text)
