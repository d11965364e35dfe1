"""What every store of triggers does. A module of tests gives a fixture `database`, a new one, `again`, which opens it once more,
`expire`, which ends leases, and `age`, which makes all that is stored older by some seconds."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headwater.backend.tables.database import Database
from headwater.backend.triggers.model import (
    Combination,
    Condition,
    Definition,
    ExecutionState,
    Fact,
    FactKind,
    Limits,
    Member,
    Outcome,
    Trigger,
    TriggerState,
)
from headwater.backend.triggers.owners import HOME
from headwater.backend.triggers.store import TriggerStore
from headwater.backend.triggers.store.cause_writer import Match
from headwater.backend.triggers.store.combination import MOST_PARTS
from headwater.errors import InvalidInputError, NotFoundError

Opens = Callable[[], Database]
DATASET = "dataset:file:/raw"


def definition(name: str = "t", *members: Member, **changes: Any) -> Definition:
    """A trigger that calls a webhook when a dataset has a new version."""
    condition = Condition(changes.pop("combination", Combination.ONE), list(members) or [data()], changes.pop("within", None))
    return Definition(name, condition, Member("webhook", {"target": "there"}), Limits(**changes))


def data(dataset: str = DATASET, **parts: Any) -> Member:
    return Member("data", {"dataset": dataset, **parts})


def fact(identifier: str, *, at: float = 1_000.0, depth: int = 0, subject: str = DATASET) -> Fact:
    return Fact(FactKind.VERSION, subject, identifier, at, depth)


def record(store: TriggerStore, *matches: Match) -> int:
    """Record matches as the next entry of the log."""
    after = store.definitions.cursor("a")
    return store.causes.record("a", matches, after=after, upto=after + 1)


def outcomes(store: TriggerStore, trigger: Trigger) -> dict[str, tuple[str, str | None]]:
    return {cause.id: (str(cause.outcome), cause.reason) for cause in store.causes.of(trigger.id, first=1_000)}


class StoreContract:
    @pytest.fixture
    def store(self, database: Database) -> TriggerStore:
        return TriggerStore(database)

    def create(self, store: TriggerStore, *stated: Any, **changes: Any) -> Trigger:
        return store.definitions.create("a", definition(*stated, **changes), HOME, since=0)

    def test_a_trigger_comes_back_as_it_was_created(self, store: TriggerStore) -> None:
        made = store.definitions.create(
            "a", definition("t", data(where="x > 'ü'"), concurrent=3, cool_down=1.5, chain=4), {"kind": "key", "id": "k"}, since=7
        )
        assert store.definitions.all("a") == [made]
        assert store.definitions.get("a", made.id) == store.definitions.get("a", "t") == made
        assert store.definitions.all("b") == []
        with pytest.raises(NotFoundError):
            store.definitions.get("b", "t")
        with pytest.raises(InvalidInputError, match="already"):
            self.create(store)

    def test_a_cause_and_its_execution_are_one(self, store: TriggerStore) -> None:
        trigger = self.create(store)
        assert record(store, Match(trigger.id, 0, fact("v1")), Match(trigger.id, 0, fact("v1")), Match(trigger.id, 0, fact("v2"))) == 2
        assert record(store, Match(trigger.id, 0, fact("v1"))) == 0
        causes = store.causes.of(trigger.id, first=10)
        assert {cause.id for cause in causes} == {"v1", "v2"}
        executions = store.executions.of([cause.execution or "" for cause in causes])
        assert sorted(one.cause for one in executions.values()) == ["v1", "v2"]
        assert {one.state for one in executions.values()} == {ExecutionState.WAITING}

    def test_nothing_is_recorded_from_a_position_that_has_moved(self, store: TriggerStore) -> None:
        trigger = self.create(store)
        assert store.causes.record("a", [Match(trigger.id, 0, fact("v1"))], after=0, upto=5) == 1
        assert store.causes.record("a", [Match(trigger.id, 0, fact("v2"))], after=0, upto=9) == 0
        assert store.definitions.cursor("a") == 5
        assert outcomes(store, trigger) == {"v1": ("fired", None)}

    def test_processes_that_find_the_same_causes_at_once_fire_each_once(self, store: TriggerStore, again: Opens) -> None:
        trigger = self.create(store)
        others = [TriggerStore(again()) for _ in range(3)]
        facts = [fact(f"v{number}") for number in range(30)]

        def find(other: TriggerStore) -> int:
            ordered = 0
            for one in facts:
                ordered += record(other, Match(trigger.id, 0, one))
                other.causes.fire(trigger, Fact(FactKind.MANUAL, trigger.id, f"manual {one.id}", 0.0))
            return ordered

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(find, others))
        for one in facts:
            record(store, Match(trigger.id, 0, one))  # those whose position had moved
        assert set(outcomes(store, trigger)) == {name for one in facts for name in (one.id, f"manual {one.id}")}
        claims = [claim for _ in range(100) for claim in self.claim_all(store)]
        assert (len(claims), len({claim.cause.id for claim in claims})) == (60, 60)

    def claim_all(self, store: TriggerStore, holder: str = "me") -> list[Any]:
        claims = store.executions.claim("a", holder, most=16, may_run=lambda _: True)
        for claim in claims:
            assert store.executions.finish(claim.execution, holder, ExecutionState.COMPLETE, result="done")
        return claims

    def test_a_limit_holds_back_executions_of_one_trigger_and_not_of_others(self, store: TriggerStore) -> None:
        first, second = self.create(store, "one", concurrent=2), self.create(store, "two")
        record(store, *(Match(first.id, 0, fact(f"v{number}")) for number in range(5)), Match(second.id, 0, fact("v")))
        claims = store.executions.claim("a", "me", most=16, may_run=lambda _: True)
        assert sorted(claim.trigger.name for claim in claims) == ["one", "one", "two"]
        assert store.executions.claim("a", "you", most=16, may_run=lambda _: True) == []
        of_first = next(claim for claim in claims if claim.trigger.name == "one")
        assert store.executions.finish(of_first.execution, "me", ExecutionState.FAILED, error="no")
        assert len(store.executions.claim("a", "you", most=16, may_run=lambda _: True)) == 1

    def test_an_execution_that_a_process_cannot_run_is_left_to_others(self, store: TriggerStore) -> None:
        trigger = self.create(store)
        record(store, Match(trigger.id, 0, fact("v1")))
        assert store.executions.claim("a", "me", most=16, may_run=lambda _: False) == []
        assert len(store.executions.claim("a", "you", most=16, may_run=lambda _: True)) == 1

    def test_a_cool_down_skips_and_says_so(self, store: TriggerStore) -> None:
        trigger = self.create(store, cool_down=60.0)
        for identifier, at in (("v1", 1000.0), ("v2", 1059.0), ("v3", 1060.0), ("v4", 1061.0)):
            record(store, Match(trigger.id, 0, fact(identifier, at=at)))
        assert {name: outcome for name, (outcome, _) in outcomes(store, trigger).items()} == {
            "v1": "fired", "v2": "skipped", "v3": "fired", "v4": "skipped"
        }  # fmt: skip
        assert "60 s" in str(outcomes(store, trigger)["v2"][1])

    def test_a_chain_of_causes_is_cut(self, store: TriggerStore) -> None:
        trigger = self.create(store, chain=3)
        record(store, *(Match(trigger.id, 0, fact(f"v{depth}", depth=depth)) for depth in range(5)))
        found = outcomes(store, trigger)
        assert [found[f"v{depth}"][0] for depth in range(5)] == ["fired", "fired", "fired", "skipped", "skipped"]
        assert "chain" in str(found["v3"][1])
        depths = sorted(
            one.depth for one in store.executions.of([c.execution or "" for c in store.causes.of(trigger.id, first=9)]).values()
        )
        assert depths == [1, 2, 3]

    def test_all_of_fires_once_for_a_fact_of_each_within_the_window(self, store: TriggerStore) -> None:
        trigger = self.create(store, "t", data("one"), data("two"), combination=Combination.ALL, within=60.0)
        for member, identifier, at in (
            (0, "a1", 0.0),
            (0, "a2", 10.0),
            (1, "b1", 20.0),
            (1, "b2", 30.0),
            (0, "a3", 100.0),
            (1, "b3", 120.0),
        ):
            record(store, Match(trigger.id, member, fact(identifier, at=at)))
        causes = sorted(store.causes.of(trigger.id, first=9), key=lambda cause: cause.at)
        assert [[one.id for one in cause.facts] for cause in causes] == [["a2", "b1"], ["a3", "b3"]]

    def test_a_window_of_all_of_counts_in_any_order_of_arrival(self, store: TriggerStore) -> None:
        """A predicate is evaluated after facts that happened later."""
        trigger = self.create(store, "t", data("one"), data("two"), combination=Combination.ALL, within=60.0)
        for member, identifier, at in ((0, "a1", 100.0), (0, "a2", 300.0), (1, "b1", 130.0), (1, "b2", 200.0)):
            record(store, Match(trigger.id, member, fact(identifier, at=at)))
        causes = sorted(store.causes.of(trigger.id, first=9), key=lambda cause: cause.at)
        assert [[one.id for one in cause.facts] for cause in causes] == [["a1", "b1"]]

    def test_a_fact_counts_once_in_all_of_also_if_its_event_arrives_again(self, store: TriggerStore) -> None:
        trigger = self.create(store, "t", data("one"), data("two"), combination=Combination.ALL)
        for member, identifier, at in ((0, "a1", 0.0), (1, "b1", 1.0), (0, "a1", 2.0), (1, "b2", 3.0), (1, "b1", 4.0), (0, "a2", 5.0)):
            record(store, Match(trigger.id, member, fact(identifier, at=at)))
        causes = sorted(store.causes.of(trigger.id, first=9), key=lambda cause: cause.at)
        assert [[one.id for one in cause.facts] for cause in causes] == [["a1", "b1"], ["a2", "b2"]]

    @pytest.mark.parametrize(("within", "most"), [(None, 1), (3_600.0, MOST_PARTS)])
    def test_facts_that_wait_for_other_members_are_bounded(
        self, store: TriggerStore, database: Database, within: float | None, most: int
    ) -> None:
        trigger = self.create(store, "t", data("one"), data("two"), combination=Combination.ALL, within=within)
        record(store, *(Match(trigger.id, 0, fact(f"a{number}", at=float(number))) for number in range(MOST_PARTS + 50)))
        assert database.ask("SELECT count(*) FROM trigger_part")[0][0] == most
        record(store, Match(trigger.id, 1, fact("b", at=200.0)))
        (cause,) = store.causes.of(trigger.id, first=9)
        assert [one.id for one in cause.facts] == [f"a{MOST_PARTS + 49}", "b"]

    def test_old_causes_are_removed_and_never_fire_again(self, store: TriggerStore, age: Callable[[float], None]) -> None:
        trigger = self.create(store)
        for number in range(12):
            record(store, Match(trigger.id, 0, fact(f"v{number}")))
        key = Fact(FactKind.MANUAL, trigger.id, "manual monday", 0.0)
        store.causes.fire(trigger, key)
        while self.claim_all(store):
            pass
        age(40 * 86_400.0)
        assert store.retention.prune(90.0) == 0
        age(60 * 86_400.0)
        record(store, Match(trigger.id, 0, fact("recent")))
        while store.retention.prune(90.0):
            pass
        found = outcomes(store, trigger)
        assert (len(found), "recent" in found) == (10, True)
        gone = ({f"v{number}" for number in range(12)} | {key.id}) - found.keys()
        assert len(gone) == 4
        before = store.executions.tenants()
        record(store, *(Match(trigger.id, 0, fact(identifier)) for identifier in sorted(gone - {key.id})))
        if key.id in gone:
            with pytest.raises(InvalidInputError, match="fired t before"):
                store.causes.fire(trigger, key)
        assert outcomes(store, trigger) == found
        assert store.executions.tenants() == before

    def test_an_execution_that_has_not_ended_is_never_removed(self, store: TriggerStore, age: Callable[[float], None]) -> None:
        trigger = self.create(store)
        for number in range(12):
            record(store, Match(trigger.id, 0, fact(f"v{number}")))
        age(100 * 86_400.0)
        assert store.retention.prune(90.0) == 0
        assert len(outcomes(store, trigger)) == 12

    def test_a_new_owner_lends_no_rights_to_executions_that_wait(self, store: TriggerStore) -> None:
        trigger = store.definitions.create("a", definition(), {"kind": "key", "id": "first", "name": "first"}, since=0)
        record(store, Match(trigger.id, 0, fact("v1")))
        paused = store.definitions.set_state(trigger, TriggerState.PAUSED)
        store.definitions.set_state(paused, TriggerState.ACTIVE, since=0, owner=HOME)
        record(store, Match(trigger.id, 0, fact("v2")))
        claims = [store.executions.claim("a", "me", most=1, may_run=lambda _: True)[0] for _ in range(1)]
        store.executions.finish(claims[0].execution, "me", ExecutionState.COMPLETE)
        claims += store.executions.claim("a", "me", most=1, may_run=lambda _: True)
        assert {claim.cause.id: claim.trigger.owner["name"] for claim in claims} == {"v1": "first", "v2": "home"}
        assert not store.definitions.stop(claims[0 if claims[0].cause.id == "v1" else 1].trigger, "first lost a right")
        assert store.definitions.get("a", "t").state is TriggerState.ACTIVE

    def test_a_pause_with_an_older_trigger_keeps_the_present_owner(self, store: TriggerStore) -> None:
        stale = store.definitions.create("a", definition(), {"kind": "key", "id": "first", "name": "first"}, since=0)
        store.definitions.set_state(stale, TriggerState.ACTIVE, since=5, owner=HOME)
        paused = store.definitions.set_state(stale, TriggerState.PAUSED, "maintenance")
        assert (paused.owner, paused.since) == (HOME, 5)

    def test_the_instants_of_a_paused_trigger_pass_without_work(self, store: TriggerStore, expire: Callable[[], None]) -> None:
        trigger = self.create(store, "t", Member("time", {"every": 20.0, "missed": "all"}))
        assert store.causes.next_due() is not None
        store.definitions.set_state(trigger, TriggerState.PAUSED)
        expire()
        assert store.causes.next_due() is None
        assert store.causes.tick() == 0

    def test_any_of_with_a_window_gathers_what_follows(self, store: TriggerStore) -> None:
        trigger = self.create(store, "t", data("one"), data("two"), combination=Combination.ANY, within=60.0)
        for member, identifier, at in ((0, "a1", 0.0), (1, "b1", 59.0), (1, "b1", 59.0), (1, "b2", 61.0)):
            record(store, Match(trigger.id, member, fact(identifier, at=at)))
        causes = sorted(store.causes.of(trigger.id, first=9), key=lambda cause: cause.at)
        assert [[one.id for one in cause.facts] for cause in causes] == [["a1", "b1"], ["b2"]]

    def test_a_trigger_fires_those_that_wait_for_it(self, store: TriggerStore) -> None:
        first = self.create(store, "first")
        second = self.create(store, "second", Member("trigger", {"trigger": first.id, "name": "first"}))
        record(store, Match(first.id, 0, fact("v1")))
        (cause,) = store.causes.of(second.id, first=9)
        assert (cause.depth, cause.outcome, cause.facts[0].details["trigger"]) == (2, Outcome.FIRED, "first")

    def test_a_paused_trigger_does_not_fire_and_its_waiting_executions_stay(self, store: TriggerStore) -> None:
        trigger = self.create(store)
        record(store, Match(trigger.id, 0, fact("v1")))
        paused = store.definitions.set_state(trigger, TriggerState.PAUSED, "maintenance")
        assert (paused.state, paused.reason) == (TriggerState.PAUSED, "maintenance")
        record(store, Match(trigger.id, 0, fact("v2")))
        with pytest.raises(InvalidInputError, match="paused"):
            store.causes.fire(paused, Fact(FactKind.MANUAL, trigger.id, "manual", 0.0))
        assert store.executions.claim("a", "me", most=9, may_run=lambda _: True) == []
        store.definitions.set_state(paused, TriggerState.ACTIVE, since=9)
        assert len(store.executions.claim("a", "me", most=9, may_run=lambda _: True)) == 1
        assert set(outcomes(store, trigger)) == {"v1"}

    def test_a_lost_execution_waits_again_or_is_interrupted(self, store: TriggerStore, expire: Callable[[], None]) -> None:
        trigger = self.create(store, concurrent=2)
        record(store, Match(trigger.id, 0, fact("v1")), Match(trigger.id, 0, fact("v2")))
        first, second = store.executions.claim("a", "gone", most=9, may_run=lambda _: True)
        assert store.executions.recover(lambda *_: True) == []
        expire()
        (lost,) = store.executions.recover(lambda _, execution: execution.id == first.execution.id)
        assert lost.id == second.execution.id
        (taken,) = store.executions.claim("a", "me", most=9, may_run=lambda _: True)
        assert (taken.execution.id, taken.execution.attempt) == (first.execution.id, 2)
        assert not store.executions.finish(first.execution, "gone", ExecutionState.COMPLETE)  # another process has it
        assert store.executions.finish(second.execution, "gone", ExecutionState.COMPLETE)  # it came to its end after all
        assert store.executions.finish(taken.execution, "me", ExecutionState.COMPLETE)

    def test_an_execution_is_tried_again_after_a_pause(self, store: TriggerStore, expire: Callable[[], None]) -> None:
        trigger = self.create(store)
        record(store, Match(trigger.id, 0, fact("v1")))
        (claim,) = store.executions.claim("a", "me", most=9, may_run=lambda _: True)
        store.executions.postpone(claim.execution, "me", 10.0, "not now")
        assert store.executions.claim("a", "me", most=9, may_run=lambda _: True) == []
        expire()
        (again,) = store.executions.claim("a", "me", most=9, may_run=lambda _: True)
        assert (again.execution.attempt, again.execution.error) == (2, "not now")

    def test_a_predicate_waits_apart_and_its_result_counts_once(self, store: TriggerStore) -> None:
        trigger = self.create(store, "t", data(where="x > 1"))
        record(store, *(Match(trigger.id, 0, fact(f"v{number}")) for number in range(3)))
        assert outcomes(store, trigger) == {}
        checks = store.causes.take_checks("a", 9)
        assert [check.where for check in checks] == ["x > 1"] * 3
        assert store.causes.take_checks("a", 9) == []
        store.causes.settle(checks[0], is_met=True)
        store.causes.settle(checks[0], is_met=True)
        store.causes.settle(checks[1], is_met=False)
        store.causes.settle(checks[2], is_met=False, reason="no such file")
        found = outcomes(store, trigger)
        assert found == {checks[0].fact.id: ("fired", None), checks[2].fact.id: ("skipped", "no such file")}
        assert not store.causes.has_checks("a")

    def test_a_clock_fires_each_instant_once(self, store: TriggerStore, again: Opens, expire: Callable[[], None]) -> None:
        trigger = self.create(store, "t", Member("time", {"every": 20.0, "missed": "all"}))
        assert store.causes.tick() == 0
        expire()
        assert store.causes.tick() + TriggerStore(again()).causes.tick() == len(outcomes(store, trigger)) > 0

    def test_a_trigger_with_nothing_to_read_in_its_source_passes_its_instants(
        self, store: TriggerStore, expire: Callable[[], None]
    ) -> None:
        trigger = self.create(store, "t", Member("time", {"every": 20.0, "missed": "once", "source": "raw"}))
        other = self.create(store, "other", Member("time", {"every": 20.0, "missed": "once"}))
        expire()
        before = store.causes.next_due()
        assert store.causes.tick(lambda _: True) == len(outcomes(store, other)) == 1
        assert outcomes(store, trigger) == {}
        assert store.causes.next_due() != before
        expire()
        store.causes.tick(lambda _: False)
        assert len(outcomes(store, trigger)) == 1
        expire()
        store.causes.tick(lambda _: False)
        assert len(outcomes(store, trigger)) == 1, "the execution that waits reads what has arrived"

    def test_nothing_of_a_removed_trigger_stays(self, store: TriggerStore) -> None:
        trigger = self.create(store, "t", data(), Member("time", {"every": 20.0, "missed": "all"}), combination=Combination.ALL)
        record(store, Match(trigger.id, 0, fact("v1")))
        store.definitions.remove(trigger)
        assert store.definitions.all("a") == []
        assert store.causes.of(trigger.id, first=9) == []
        assert store.causes.next_due() is None
        assert self.create(store, "t").id != trigger.id

    def test_the_depth_of_runs_that_an_execution_started_is_found(self, store: TriggerStore) -> None:
        trigger = self.create(store)
        record(store, Match(trigger.id, 0, fact("v1", depth=4)))
        (cause,) = store.causes.of(trigger.id, first=9)
        assert store.executions.depths("a", ["other", str(cause.execution)]) == {cause.execution: 5}
        assert store.executions.depths("b", [str(cause.execution)]) == {}
