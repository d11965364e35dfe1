"""Triggers that are refused when they are created, and the rights of their owners when they fire."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headwater.backend.access.keys import KeyRing
from headwater.backend.triggers.model import TriggerState
from headwater.backend.triggers.owners import key_owner
from headwater.errors import HeadwaterError, InvalidInputError
from headwater.graph.access.scopes import Scope
from headwater.spark_listener.invocation import script_sha256
from headwater.spark_listener.registry import Program
from tests.backend.events import facet, run_event
from tests.backend.triggers.conftest import TriggeredHome
from tests.backend.triggers.receiver import Receiver

MANUAL: dict[str, Any] = {"manual": {}}
HOOK = {"webhook": {"target": "there"}}


def register(home: TriggeredHome, folder: Path, job: str = "report", text: str = "print('it ran')\n") -> Path:
    """Register a program."""
    script = folder / f"{job}.py"
    script.write_text(text)
    program = Program(
        namespace="default", job=job, argv=[str(script)], script=str(script), script_sha256=str(script_sha256(str(script))),
        working_directory=str(folder), operator=True,
    )  # fmt: skip
    home.workspace.registry.register(program)
    return script


@pytest.mark.parametrize(
    ("stated", "field", "reason"),
    [
        ({"name": "a b"}, "name", "not a name"),
        ({"name": None}, "name", "not a name"),
        ({"when": {}}, "when", "0 kinds"),
        ({"when": {"manual": {}, "data": {}}}, "when", "2 kinds"),
        ({"when": {"dta": {}}}, "when", "Did you mean data"),
        ({"when": "manual"}, "when", "not an object"),
        ({"when": {"manual": {"by": "me"}}}, "manual.by", "takes no 'by'"),
        ({"when": {"data": {}}}, "data.dataset", "needs dataset"),
        ({"when": {"data": {"dataset": "nothing"}}}, "data.dataset", "No dataset is named nothing"),
        ({"when": {"data": {"dataset": "dataset:file:/x", "failed_check": 3}}}, "data.failed_check", "failed_check is 3"),
        ({"when": {"data": {"dataset": "dataset:file:/x", "failed_check": True, "where": "a = 1"}}}, "data.where", "not both"),
        ({"when": {"cascade": {"job": "nothing"}}}, "cascade.job", "No job is named nothing"),
        ({"when": {"cascade": {"job": "job:n:j", "state": "done"}}}, "cascade.state", "state is 'done'"),
        ({"when": {"time": {}}}, "time", "cron or every"),
        ({"when": {"time": {"cron": "61 * * * *"}}}, "time.cron", "Bad minute"),
        ({"when": {"time": {"cron": "* * * *"}}}, "time.cron", "Wrong number of fields"),
        ({"when": {"time": {"cron": "* * * * * *"}}}, "time.cron", "Wrong number of fields"),
        ({"when": {"time": {"cron": "0 0 30 2 *"}}}, "time.cron", "cron expression"),
        ({"when": {"time": {"cron": "0 6 * * *", "zone": "Mars/Olympus"}}}, "time.zone", "no time zone"),
        ({"when": {"time": {"cron": "0 6 * * *", "zone": "../../etc/passwd"}}}, "time.zone", "no time zone"),
        ({"when": {"time": {"every": "soon"}}}, "time.every", "not a length of time"),
        ({"when": {"time": {"every": "0.1s"}}}, "time.every", "shortest"),
        ({"when": {"time": {"every": "1h", "zone": "UTC"}}}, "time.zone", "no time zone"),
        ({"when": {"time": {"every": "1h", "missed": "maybe"}}}, "time.missed", "missed is 'maybe'"),
        ({"when": {"all_of": {"of": [MANUAL]}}}, "all_of.of", "2 to 20"),
        ({"when": {"any_of": {"of": [MANUAL, {"all_of": {}}]}}}, "any_of.of", "holds all_of"),
        ({"when": {"all_of": {"of": [MANUAL, "nothing"]}}}, "trigger.name", "no trigger 'nothing'"),
        ({"when": {"all_of": {"of": [MANUAL, MANUAL], "within": "x"}}}, "all_of.within", "length of time"),
        ({"do": {}}, "do", "0 kinds"),
        ({"do": {"run": {"job": "nothing"}}}, None, "No program is registered for the job nothing"),
        ({"do": {"webhook": {"target": "http://169.254.169.254/"}}}, None, "no webhook"),
        ({"do": {"notify": {"target": "nobody"}}}, None, "no target 'nobody'"),
        ({"do": {"replay": {"kind": "again"}}}, "replay.kind", "kind is 'again'"),
        ({"do": {"replay": {"kind": "verify", "dataset": "dataset:file:/x"}}}, "dataset", "takes no dataset"),
        ({"do": {"replay": {"kind": "verify"}}}, "output", "no output"),
        ({"limits": {"concurrent": 0}}, "limits.concurrent", "from 1 to"),
        ({"limits": {"concurrent": True}}, "limits.concurrent", "from 1 to"),
        ({"limits": {"chain": 1_000}}, "limits.chain", "from 1 to"),
        ({"limits": {"cool_down": "-1s"}}, "limits.cool_down", "length of time"),
        ({"limits": {"speed": 1}}, "limits.speed", "takes no 'speed'"),
        ({"then": 1}, "trigger.then", "takes no 'then'"),
    ],
)  # fmt: skip
async def test_bad_input_is_refused_with_its_field(home: TriggeredHome, stated: dict[str, Any], field: str | None, reason: str) -> None:
    with pytest.raises(HeadwaterError, match=reason) as refusal:
        await home.triggers.create("default", {"name": "t", "when": MANUAL, "do": HOOK, **stated}, {"kind": "home"})
    assert field is None or getattr(refusal.value, "field", None) == field
    assert refusal.value.hint
    assert await home.triggers.all("default") == []


async def test_a_changed_script_is_refused(home: TriggeredHome, tmp_path: Path) -> None:
    script = register(home, tmp_path)
    script.write_text("print('another')\n")
    with pytest.raises(HeadwaterError, match="changed since it was registered"):
        await home.create(MANUAL, {"run": {"job": "report"}})


async def test_triggers_that_would_fire_themselves_are_refused(home: TriggeredHome, tmp_path: Path) -> None:
    """`report` reads /b and writes /a; `load` reads /a and writes /b."""
    for number, (job, reads, writes) in enumerate((("report", "/b", "/a"), ("load", "/a", "/b"))):
        register(home, tmp_path, job)
        parent = facet(run={"runId": f"00000000-0000-0000-0000-00000000000{number}"}, job={"namespace": "default", "name": job})
        run = run_event(number, job={"namespace": "default", "name": f"{job}.save"})
        run |= {"inputs": [{"namespace": "file", "name": reads}], "outputs": [{"namespace": "file", "name": writes}]}
        run["run"]["facets"] = {"parent": parent}
        await home.send(run, run_event(number + 10, job={"namespace": "default", "name": job}, inputs=[], outputs=[]))
    with pytest.raises(InvalidInputError, match="fire itself: self → self"):
        await home.create({"data": {"dataset": "/a"}}, {"run": {"job": "report"}}, name="self")
    with pytest.raises(InvalidInputError, match="fire itself"):
        await home.create({"cascade": {"job": "report.save", "state": "failed"}}, {"run": {"job": "report"}}, name="again")
    await home.create({"data": {"dataset": "/a"}}, {"run": {"job": "load"}}, name="one")
    await home.create({"trigger": {"name": "one"}}, HOOK, name="between")
    with pytest.raises(InvalidInputError, match="two → one → two"):
        await home.create({"data": {"dataset": "/b"}}, {"run": {"job": "report"}}, name="two")
    with pytest.raises(InvalidInputError, match="third → one → third"):
        await home.create({"any_of": {"of": ["one", MANUAL]}}, {"run": {"job": "report"}}, name="third")
    assert await home.create({"data": {"dataset": "/b"}}, HOOK, name="harmless")


async def test_a_revoked_key_stops_the_triggers_of_its_owner(home: TriggeredHome, there: Receiver) -> None:
    ring = KeyRing(home.workspace.home.named_keys)
    try:
        key, _ = ring.create("engineer", [Scope.READ, Scope.REPLAY], tenant="default")
        trigger = await home.create(MANUAL, owner=key_owner(key.id, key.name))
        await home.triggers.fire("default", "t")
        await home.ended(trigger, 1)
        ring.revoke("engineer")
    finally:
        ring.close()
    await home.triggers.fire("default", "t", key="second")
    (_, entry) = await home.ended(trigger, 2)
    assert len(there.requests) == 1
    assert (entry.cause.outcome, entry.cause.reason) == ("skipped", "The key engineer is revoked or expired.")
    stopped = await home.stopped("t")
    assert (stopped.state, stopped.reason) == (TriggerState.STOPPED, "The key engineer is revoked or expired.")
    assert [line["decision"] for line in home.audit() if line["what"] == "trigger.fire"] == ["allowed", "refused"]
    with pytest.raises(InvalidInputError, match="stopped"):
        await home.triggers.fire("default", "t")


async def test_an_owner_without_the_right_does_not_fire(home: TriggeredHome, there: Receiver) -> None:
    ring = KeyRing(home.workspace.home.named_keys)
    try:
        key, _ = ring.create("viewer", [Scope.READ], tenant="default")
    finally:
        ring.close()
    trigger = await home.create(MANUAL, owner=key_owner(key.id, key.name))
    await home.triggers.fire("default", "t")
    (entry,) = await home.ended(trigger, 1)
    assert entry.cause.reason == "viewer may not replay."
    assert there.requests == []
