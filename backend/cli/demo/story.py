"""The queries of the demo to the service, and the evaluation of the answers. The module `command` prints them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.errors import HeadwaterError, NotFoundError
from headwater.transport import GraphQLClient

COLUMN = "max_wind_mph"
WRONG = "origin = 'EWR' AND month = 2"

_ROWS = "query ($dataset: ID!, $where: String) { rows(dataset: $dataset, where: $where) { columns { name } rows { file row values } } }"
_TRACE = """
query ($dataset: String!, $where: String, $rows: [RowRef!], $column: String, $semantics: Semantics!, $forward: Boolean!, $to: String) {
  trace(dataset: $dataset, where: $where, rows: $rows, column: $column, semantics: $semantics, forward: $forward, to: $to) {
    exact total elapsedMs
    records { dataset datasetName file row line grain values }
    path { job output operations records }
    incomplete { what reason effect }
  }
}"""
_SEARCH = "query ($text: String!) { search(text: $text, kinds: [DATASET], first: 200) { nodes { id name } } }"
_PENDING = "{ service { pending } }"
_REPLAY = """
mutation ($dataset: String!, $rows: [RowRef!], $output: String) {
  startReplay(dataset: $dataset, rows: $rows, output: $output) { id }
}"""
_REPLAY_STATE = "query ($id: ID!) { replay(id: $id) { state error shadow steps { job state } differences { before after columns } } }"


@dataclass(frozen=True, slots=True)
class Story:
    """The demo's queries to one service about one pipeline's output in `out`."""

    client: GraphQLClient
    raw: Path
    out: Path

    def dataset(self, path: Path) -> str:
        """Return the id of the dataset at a path.

        Raises:
            NotFoundError: the service knows no dataset at the path.
        """
        found = self.client.execute(_SEARCH, text=str(path))["search"]["nodes"]
        for node in found:
            if node["name"] == str(path):
                return str(node["id"])
        raise NotFoundError(f"The service knows no dataset {path}.", hint="Was the pipeline run with `headwater run`?")

    def await_graph(self, *, patience: float = 60) -> None:
        """Wait until the graph contains the events of the jobs.

        Raises:
            HeadwaterError: the graph does not contain them after `patience` seconds.
        """
        deadline = time.monotonic() + patience
        while pending := self.client.execute(_PENDING)["service"]["pending"]:
            if time.monotonic() > deadline:
                raise HeadwaterError(
                    f"{pending} entries of the log are not in the graph after {patience:.0f} s.", hint="The log of the service says why."
                )
            time.sleep(0.1)

    def report_row(self, where: str = WRONG) -> dict[str, Any]:
        """Return one row of the report as a mapping of columns to values.

        Raises:
            HeadwaterError: `where` does not match exactly one row.
        """
        page = self.client.execute(_ROWS, dataset=self.dataset(self.out / "report"), where=where)["rows"]
        if len(page["rows"]) != 1:
            raise HeadwaterError(f"The report has {len(page['rows'])} rows where {where}; one was expected.")
        return dict(zip((column["name"] for column in page["columns"]), page["rows"][0]["values"], strict=True))

    def witness(self) -> dict[str, Any]:
        """Return the record of the raw weather data that the wrong number came from.

        Raises:
            HeadwaterError: the record is unknown, or files have changed since the pipeline ran.
        """
        answer = self._trace(
            dataset=str(self.out / "report"), where=WRONG, column=COLUMN, semantics="WITNESS", to=str(self.raw / "weather.csv")
        )
        if not answer["exact"] or not answer["records"] or not all(record["values"] for record in answer["records"]):
            lacking = "; ".join(f"{entry['what']}: {entry['reason']}" for entry in answer["incomplete"]) or "no record was found"
            raise HeadwaterError(f"The record that {COLUMN} came from cannot be shown: {lacking}", hint="Run the pipeline again: --fresh")
        return answer

    def influence(self) -> dict[str, Any]:
        """Return every record of the raw weather data that contributed to the row."""
        return self._trace(dataset=str(self.out / "report"), where=WRONG, to=str(self.raw / "weather.csv"))

    def forward(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return everything that a raw record contributed to."""
        return self._trace(dataset=record["datasetName"], rows=[{"file": record["file"], "row": record["row"]}], forward=True)

    def replay_without(self, records: Sequence[Mapping[str, Any]], *, patience: float = 600) -> dict[str, Any]:
        """Run the pipeline again without these records, and return the finished replay.

        Raises:
            HeadwaterError: the replay failed, or took longer than `patience` seconds.
        """
        rows = [{"file": record["file"], "row": record["row"]} for record in records]
        began = self.client.execute(_REPLAY, dataset=records[0]["datasetName"], rows=rows, output=str(self.out / "report"))
        identifier = began["startReplay"]["id"]
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            replay: dict[str, Any] = self.client.execute(_REPLAY_STATE, id=identifier)["replay"]
            if replay["state"] == "COMPLETE":
                return replay
            if replay["state"] == "FAILED":
                raise HeadwaterError(f"The replay failed: {replay['error']}")
            time.sleep(0.5)  # a replay takes tens of seconds, so polling costs nothing in comparison
        raise HeadwaterError(
            f"The replay {identifier} has not ended after {patience:.0f} s.", hint="`headwater replay --list` shows its state."
        )

    def _trace(self, **asked: Any) -> dict[str, Any]:
        variables = {"where": None, "rows": None, "column": None, "semantics": "INFLUENCE", "forward": False, "to": None} | asked
        answer: dict[str, Any] = self.client.execute(_TRACE, **variables)["trace"]
        return answer
