"""Projects moved files. The job that wrote the files also becomes a writer of the dataset to which they were moved, and of its columns.

Each pair of captures gives the same statements with the same time, so the order of the two does not matter.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from headwater.backend.projection.statement import Statement
from headwater.errors import HeadwaterError
from headwater.graph.associations import Manifest, Sink
from headwater.graph.model import EdgeKind, GraphBatch, Stamp
from headwater.graph.records.moved_files import Flow

_log = logging.getLogger("headwater.projector")
_AS_IT_IS = {"type": "DIRECT", "subtype": "IDENTITY"}


def project_moves(flows: Iterable[Flow], manifest_of: Callable[[str], Manifest]) -> list[GraphBatch]:
    """State each job as a writer of the dataset to which its files were moved. `manifest_of` returns the manifest of a capture."""
    batches = []
    for flow in flows:
        statement = Statement(Stamp.at(flow.at, ""))
        job = statement.job(*flow.job)
        statement.link(job, statement.dataset(*flow.dataset), EdgeKind.WRITES, {"moved": True})
        try:
            sink, reader = manifest_of(flow.writer).sink, manifest_of(flow.reader)
        except HeadwaterError as error:
            if error.transient:
                raise
            # `headwater store check` names the damaged capture. The current entry is intact, so its job is stated.
            _log.warning("columns of %s are not linked to those of a moved file: %s", flow.dataset[1], error)
        else:
            if sink is not None:
                _state_columns(statement, job, sink, flow.dataset, reader)
        batches.append(statement.batch())
    return batches


def _state_columns(statement: Statement, job: str, sink: Sink, dataset: tuple[str, str], reader: Manifest) -> None:
    """State that each column of the moved files derives unchanged from the written column, so that tags and masks apply to both."""
    derivation: dict[str, Any] = {"transformations": [_AS_IT_IS], f"by:{job}": [_AS_IT_IS]}
    written = {name.lower(): name for name in (*(column.name for column in sink.columns), *sink.partition_columns)}
    for source in reader.sources:
        if (source.dataset.namespace, source.dataset.name) != dataset:
            continue
        for name in (*(column.name for column in source.columns), *source.partition_columns):
            if name.lower() in written:
                column = statement.column(sink.dataset.namespace, sink.dataset.name, written[name.lower()])
                statement.link(column, statement.column(*dataset, name), EdgeKind.DERIVES, derivation)
