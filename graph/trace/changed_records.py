"""Reports records that a committed replay read with other values than their file has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headwater.graph.trace.session import Capture, Session

_SHOWN = 5  # records that a note names


def report_edited_records(session: Session, capture: Capture, tables: Sequence[str]) -> None:
    """Report the records in tables `origin, file, row` that the replay of a capture edited."""
    replay = capture.manifest.extra.get("replay")
    if not isinstance(replay, Mapping) or not tables:
        return
    edited, files = replay.get("edited"), replay.get("editedFiles")
    if not isinstance(edited, Mapping) and not isinstance(files, Mapping):
        return
    for number in sorted(session.list_files_of(tables)):
        path = session.files[number].block.path
        if isinstance(edited, Mapping) and isinstance(rows := edited.get(path), Mapping):
            reached = _find_rows(session, tables, number, rows)
            for row in reached[:_SHOWN]:
                values = ", ".join(f"{column} = {_text(value)}" for column, value in rows[str(row)].items())
                session.report(path, f"the replay {replay.get('id')} read record {row} with edited values: {values}", "version")
            if len(reached) > _SHOWN:
                more = len(reached) - _SHOWN
                session.report(path, f"the replay {replay.get('id')} read {more} more of its records with edited values", "version")
        elif isinstance(files, Mapping) and path in files:
            reason = f"the replay {replay.get('id')} read {files[path]} of its records with edited values, too many to name"
            session.report(path, reason, "version")


def _find_rows(session: Session, tables: Sequence[str], file: int, edited: Mapping[str, Any]) -> list[int]:
    wanted = session.keep_in_memory({"row": np.array(sorted(int(row) for row in edited if row.isdecimal()), np.int64)})
    union = " UNION ALL ".join(f"SELECT row FROM {table} WHERE file = {file}" for table in tables)
    rows = session.database.execute(f"SELECT DISTINCT row FROM ({union}) SEMI JOIN {wanted} USING (row) ORDER BY row").fetchall()
    return [int(row) for (row,) in rows]


def _text(value: Any) -> str:
    return "NULL" if value is None else json.dumps(value, ensure_ascii=False)
