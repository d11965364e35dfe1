"""Drafts a policy from observed flows between folders of datasets."""

from __future__ import annotations

from typing import Any

from headwater.graph.model import parse_id
from headwater.graph.policies.flow_graph import FlowGraph

_SPECIAL = "[*?"
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
    rules = []
    for (namespace, folder), feeding in sorted(sources.items()):
        if feeding:
            selectors = [_selector(*each) for each in sorted({*feeding, (namespace, folder)})]
            flow = {"from": selectors, "to": _selector(namespace, folder)}
            rules.append({"name": f"into {folder} of {namespace}"[:_LONGEST_NAME], "severity": "warning", "may_flow": flow})
    return {"policy": name, "rules": rules}


def _folder(dataset: str) -> tuple[str, str]:
    """Return namespace and folder of a dataset: its name up to the last slash or dot."""
    _, (namespace, name) = parse_id(dataset)
    end = max(name.rstrip("/").rfind("/"), name.rfind(".") if "/" not in name else -1)
    return namespace, name[: end + 1] or "*"


def _selector(namespace: str, folder: str) -> dict[str, str]:
    return {"namespace": _escaped(namespace), "dataset": "*" if folder == "*" else f"{_escaped(folder)}*"}


def _escaped(text: str) -> str:
    return "".join(f"[{letter}]" if letter in _SPECIAL else letter for letter in text)
