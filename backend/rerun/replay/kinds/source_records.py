"""Finds the records of a source that a request selects, and the output that depends on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headwater.backend.rerun.replay.kinds.kind import ReplayRequest, Sources, rows_by_file
from headwater.errors import InvalidQueryError
from headwater.graph.trace import TraceRequest


@dataclass(frozen=True, slots=True)
class SourceRecords:
    """Selected records. `files` maps a file to record numbers, `datasets` contain these files, `output` depends on the records.

    `columns` are the columns of the records. The set is empty if the values were not read.
    """

    files: Mapping[str, Sequence[int]]
    datasets: Sequence[str]
    output: str
    columns: frozenset[str]


async def select_source_records(
    request: ReplayRequest, sources: Sources, purpose: str, *, reads_values: bool = False, needs_part: bool = True
) -> SourceRecords:
    """Return the records that a request selects. With `needs_part`, the output must depend on the records.

    Raises:
        InvalidQueryError: the selection is empty, does not select records, or leads to no output or to several.
    """
    dataset = request.dataset or ""
    trace = TraceRequest(
        dataset=dataset, where=request.where, rows=request.rows, forward=True, to=request.output, values=False, selected_values=reads_values
    )
    answer = await sources.trace(trace)
    if not answer.selected:
        raise InvalidQueryError(
            f"No record of {dataset} was selected.", field="where", hint="Look at the records first: `headwater trace … --where …`."
        )
    files = rows_by_file(answer.selected, purpose)
    outputs = list(dict.fromkeys(record.dataset for record in answer.records))
    if not outputs and needs_part:
        output = request.output or "any output"
        if lacking := [f"{entry.what}: {entry.reason}" for entry in answer.incomplete if entry.effect == "missing"]:
            reason = f"Whether the selected records of {dataset} had a part in {output} is not known: {'; '.join(lacking)}."
            raise InvalidQueryError(reason, hint="Run the program again on what is there now, then replay that run.")
        raise InvalidQueryError(f"The selected records of {dataset} had no part in {output}.", hint="There is nothing to replay.")
    if request.output is None and len(outputs) > 1:
        raise InvalidQueryError(f"The selected records reach {', '.join(outputs)}.", field="output", hint="Say which one to replay.")
    if not outputs:
        if request.output is None:
            raise InvalidQueryError(f"The selected records of {dataset} reach no output.", field="output", hint="Say which one to replay.")
        outputs = [await sources.find_dataset(request.output, "output")]
    datasets = list(dict.fromkeys(record.dataset for record in answer.selected))
    columns = frozenset(name for record in answer.selected for name in record.values)
    return SourceRecords(files, datasets, outputs[0], columns)
