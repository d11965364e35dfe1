"""Delivers the spool of applications on this machine into the log without a service.

`headwater run` uses it at its end, and the service for applications that died. The rules are those of
HTTP delivery: an item is acknowledged after the log has it, and refused for good only if the same bytes could never
be accepted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from shutil import copyfileobj
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from headwater.backend.ingest.intake.captures import CaptureIntake, MissingSegmentsError
from headwater.backend.ingest.intake.receive import EventIntake
from headwater.errors import InvalidEventError, InvalidInputError, SourceUnavailableError, UnavailableError
from headwater.graph.records.store import INCOMING
from headwater.graph.storage import NOWHERE, Remote

if TYPE_CHECKING:
    from headwater.spark_listener.spool import Item, SpoolFolder


class LogDelivery:
    """Delivers items of a spool into one home's log, for one tenant. `incoming` is a folder for arriving segments."""

    def __init__(self, tenant: str, events: EventIntake, captures: CaptureIntake, incoming: Path, remote: Remote = NOWHERE) -> None:
        self._tenant = tenant
        self._events = events
        self._captures = captures
        self._incoming = incoming
        self._remote = remote

    def send(self, item: Item, folder: SpoolFolder) -> None:
        """Deliver one item. It is durable on return.

        Raises:
            UnavailableError: the log cannot be written now.
            InvalidInputError: the item is refused for good, and becomes a dead letter.
        """
        body = json.dumps(item.body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        if item.kind == "event":
            self._take_event(body)
        else:
            self._take_capture(item, folder, body)

    def _take_event(self, body: bytes) -> None:
        rejected = self._events.submit(self._tenant, body).result().rejected
        if rejected:
            raise InvalidEventError(rejected[0].message, field=rejected[0].field, hint=rejected[0].hint)

    def _take_capture(self, item: Item, folder: SpoolFolder, body: bytes) -> None:
        try:
            self._captures.submit(self._tenant, body)
        except MissingSegmentsError as error:
            self._take_segments(item, folder, error.missing, body)
            self._captures.submit(self._tenant, body)

    def _take_segments(self, item: Item, folder: SpoolFolder, names: Sequence[str], body: bytes) -> None:
        try:
            for name in names:
                self._stage(item, folder, name)
        except InvalidInputError as error:
            self._captures.refuse(self._tenant, body, error)
            raise

    def _stage(self, item: Item, folder: SpoolFolder, name: str) -> None:
        with self._segment(item, folder, name) as source, NamedTemporaryFile(dir=self._incoming, prefix=INCOMING) as file:
            copyfileobj(source, file)
            file.flush()
            self._captures.stage(self._tenant, str(item.body["capture"]), name, Path(file.name))

    def _segment(self, item: Item, folder: SpoolFolder, name: str) -> Any:
        """Open a segment. Segments below a root of remote storage are read with the root's settings, others like the application."""
        from headwater.spark_listener.delivery.http import open_segment  # imported late, because it loads OpenLineage's client

        if item.segments is None or not self._remote.covers(item.segments):
            return open_segment(item, folder, name)
        uri = f"{item.segments.rstrip('/')}/{item.body['capture']}/{name}"
        try:
            file = self._remote.file(uri)
            content = b"" if file is None else file.content()
        except SourceUnavailableError as error:
            raise UnavailableError(error.message, hint=error.hint) from error
        if file is None:
            raise InvalidInputError(f"Segment {uri} is gone.")
        return BytesIO(content)
