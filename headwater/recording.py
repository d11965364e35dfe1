"""`headwater.record_operations`: a program records its operations on fields, like a CDAP program with `context.record(…)`.

The operations belong to the run of the program, and have the form of `POST …/lineage/operations`. They are validated immediately, by the
rules of that endpoint, which are in the service's packages. A later fault of delivery never reaches the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from headwater.errors import InvalidInputError, MissingExtraError

_recorded: dict[int, list[Any]] = {}  # the operations of the program so far, by capture
_lock = Lock()


def record_operations(operations: Iterable[Any]) -> None:
    """Record operations on fields of the running program.

        headwater.record_operations([
            {"name": "read", "inputs": {"endPoint": {"namespace": "file", "name": "/lake/lines"}}, "outputs": {"fields": ["body"]}},
            {"name": "parse", "inputs": {"fields": [{"origin": "read", "name": "body"}]}, "outputs": {"fields": ["first"]}},
            {"name": "write", "inputs": {"fields": [{"origin": "parse", "name": "first"}]},
             "outputs": {"endPoint": {"namespace": "file", "name": "/lake/people"}}},
        ])

    Each call has a read and a write. Further calls add operations with other names. The run's OpenLineage event contains them, and
    views mark them as declared. If nothing is captured, they are only validated.

    Raises:
        InvalidInputError: the operations break a rule; `field` is the path of the fault. Nothing of the call is recorded.
        MissingExtraError: the packages that validate them are not installed.
    """
    try:
        from headwater.backend.ingest.intake.recorded_operations import event_of, read_recording
    except ModuleNotFoundError as error:
        raise MissingExtraError("headwater.record_operations", extra="server") from error
    from headwater.spark_listener.attach import recorder
    from headwater.spark_listener.operations import RecordedOperations

    if isinstance(operations, (str, bytes, Mapping)) or not isinstance(operations, Iterable):
        raise InvalidInputError("The operations are no list.", field="$.operations", hint="Give a list of objects, one an operation.")
    stated = list(operations)
    read_recording({"operations": stated})  # each call must also be valid by itself
    agent = recorder()
    with _lock:
        whole = [*_recorded.get(id(agent), ()), *stated] if agent is not None else stated
        recording = read_recording({"operations": whole, "time": datetime.now(UTC).isoformat(timespec="microseconds")})
        event_of(recording, namespace="", application="", program="", kind="spark", run="00000000-0000-4000-8000-000000000000")
        if agent is None:
            return
        _recorded.clear()  # removes operations of ended captures
        _recorded[id(agent)] = whole

    def event(namespace: str, job: str, run: str) -> dict[str, Any]:
        return event_of(recording, namespace=namespace, application=job, program=job, kind="spark", run=run)

    agent.operation(RecordedOperations(event))
