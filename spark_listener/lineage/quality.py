"""Observations of a program (`DataFrame.observe`), as data quality facets of OpenLineage.

Numbers about all rows of a dataset, read or written, become its `dataQualityMetrics`. Boolean observations about a read dataset become
`dataQualityAssertions`; others belong to the run (`test`). Numbers about intermediate rows are left out, because readers would take them
for the dataset's. Observed texts and times never leave the driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater.spark_listener.lineage.facets import Facet, facet
from headwater.spark_listener.redact import redact

_SAME_ROWS = {"CollectMetrics", "Project", "Sort", "Repartition", "RebalancePartitions"}
_OF_COLUMN = {"min", "max", "sum", "count"}  # names shared with the facet
_LONGEST = 2000


@dataclass(slots=True)
class Quality:
    """Data quality facets. `inputs` are by the number of a source, `output` are facets of the output, `run` of the run."""

    inputs: dict[Any, dict[str, Facet]] = field(default_factory=dict)
    output: dict[str, Facet] = field(default_factory=dict)
    run: dict[str, Facet] = field(default_factory=dict)


def quality_of(plan: Mapping[str, Any], observed: Mapping[str, Any] | None) -> Quality:
    found = Quality()
    operators = {operator["id"]: operator for operator in plan.get("operators") or ()}
    tests: list[dict[str, Any]] = []
    for operator in operators.values():
        values = (observed or {}).get(operator.get("observes"))
        if operator.get("observes") is None or not isinstance(values, Mapping):
            continue
        metrics = [metric for metric in operator.get("metrics") or () if metric["name"] in values]
        scan = _scan_below(operator, operators)
        names = {column["attr"]: column["name"] for column in scan.get("columns") or ()} if scan else {}
        written = _written(plan, operator, operators)
        if scan and (of_input := _metrics(metrics, values, names)):
            found.inputs.setdefault(scan["source"], {})["dataQualityMetrics"] = facet("input_dataQualityMetrics", **of_input)
        if written is not None and (of_output := _metrics(metrics, values, written)):
            found.output["dataQualityMetrics"] = facet("dataQualityMetrics", **of_output)
        truths = [metric for metric in metrics if isinstance(values[metric["name"]], bool)]
        if scan and truths:
            assertions = [_assertion(metric, values, names) for metric in truths]
            found.inputs.setdefault(scan["source"], {})["dataQualityAssertions"] = facet("dataQualityAssertions", assertions=assertions)
        elif truths:
            tests += [_test(metric, values) for metric in truths]
    if tests:
        found.run["test"] = facet("test", tests=tests)
    return found


def _scan_below(operator: Mapping[str, Any], operators: Mapping[Any, Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the scan with exactly the rows that pass the operator. None if these are not the rows of a dataset."""
    while operator.get("op") in _SAME_ROWS and len(operator.get("children") or ()) == 1:
        operator = operators.get(operator["children"][0], {})
    return operator if operator.get("op") == "Scan" and operator.get("source") is not None else None


def _written(plan: Mapping[str, Any], wanted: Mapping[str, Any], operators: Mapping[Any, Mapping[str, Any]]) -> dict[Any, str] | None:
    """Return the output names of the operator's columns, if its rows are exactly the written rows. Otherwise None."""
    sink = plan.get("sink") or {}
    if not sink or sink.get("mode") not in ("overwrite", "append") or sink.get("merge"):
        return None
    names = {column.get("attr"): str(column.get("name")) for column in sink.get("columns") or ()}
    operator = operators.get(0, {})
    while operator.get("id") != wanted["id"]:
        children = list(operator.get("children") or ())
        if len(children) != 1 or (operator.get("op") not in _SAME_ROWS and operator.get("op") != "Write"):
            return None
        for made in operator.get("defines") or ():
            expression = made.get("expr") or {}
            name = names.pop(made.get("attr"), None)
            if name is not None and expression.get("fn") == "attr":
                names.setdefault(expression["attr"], name)
        operator = operators.get(children[0], {})
    return names


def _metrics(metrics: Sequence[Mapping[str, Any]], values: Mapping[str, Any], names: Mapping[Any, str]) -> dict[str, Any]:
    rows: int | None = None
    columns: dict[str, dict[str, Any]] = {}
    for metric in metrics:
        value, expression = values[metric["name"]], metric.get("expr") or {}
        arguments = [argument for argument in expression.get("args") or () if isinstance(argument, Mapping)]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or expression.get("filter") or expression.get("distinct"):
            continue
        if expression.get("fn") == "count" and all(argument.get("fn") == "literal" for argument in arguments):
            rows = int(value)
        elif expression.get("fn") in _OF_COLUMN and len(arguments) == 1:
            name = names.get(arguments[0].get("attr"))
            if name is not None:
                columns.setdefault(name, {})[str(expression["fn"])] = float(value)
    for known in columns.values():
        if rows is not None and "count" in known:  # a column's count is the number of values that are not null
            known["nullCount"] = rows - int(known["count"])
    of_rows: dict[str, Any] = {} if rows is None else {"rowCount": rows}
    return {**of_rows, "columnMetrics": columns} if of_rows or columns else {}


def _assertion(metric: Mapping[str, Any], values: Mapping[str, Any], names: Mapping[Any, str]) -> dict[str, Any]:
    asked = {names[attribute] for attribute in _attributes(metric.get("expr") or {}) if attribute in names}
    stated = {"assertion": redact(str(metric["name"])), "success": values[metric["name"]], **_text(metric)}
    return {**stated, "column": next(iter(asked))} if len(asked) == 1 else stated


def _test(metric: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": redact(str(metric["name"])), "status": "pass" if values[metric["name"]] else "fail", "type": "observe", **_text(metric)}


def _text(metric: Mapping[str, Any]) -> dict[str, Any]:
    text = (metric.get("expr") or {}).get("sql")
    return {"content": redact(str(text))[:_LONGEST], "contentType": "expression"} if text else {}


def _attributes(expression: Mapping[str, Any]) -> Iterator[Any]:
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if part.get("fn") == "attr":
            yield part.get("attr")
        waiting += [argument for argument in part.get("args") or () if isinstance(argument, Mapping)]
