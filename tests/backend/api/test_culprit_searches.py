"""Searches for culprits over GraphQL: who may start one, what a caller without values sees, and how a search ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import pytest

from headwater.backend.access.keys import KeyRing
from headwater.backend.access.masks import Masks
from headwater.backend.api.context import Service
from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import ForbiddenError
from headwater.backend.api.permitted_culprits import PermittedCulprits
from headwater.backend.questions.masked_answers import SHOWN
from headwater.backend.rerun.culprit_searches import Culprit, CulpritSearches, CulpritSearchJob
from headwater.backend.rerun.queued_jobs import now
from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.access.rights import rights_of
from headwater.graph.access.scopes import Scope
from tests.backend.service import ServiceProcess

WHY = 'mutation { startWhy(run: "job:default:nothing") { id } }'
BLAME = 'mutation { startBlame(dataset: "/data/nothing", where: "x = 1") { id } }'
COMPARE = 'mutation { startCompare(first: "run:1", second: "run:2") { id } }'
CLEAN = 'mutation { startClean(dataset: "/data/nothing", quality: "x") { id } }'
WITNESS = 'mutation { startWitness(dataset: "/data/nothing", where: "x = 1") { id } }'
TENANT = "default"


@pytest.mark.parametrize("document", [WHY, BLAME, COMPARE, CLEAN, WITNESS])
@pytest.mark.parametrize(
    ("tenant", "roles", "scopes", "codes"),
    [
        ("default", ["steward"], [], {"ForbiddenError"}),
        ("sales", ["engineer"], [], {"ForbiddenError"}),
        ("default", [], ["read:file*", "replay"], {"ForbiddenError"}),
        ("default", ["engineer"], [], {"NotFoundError"}),
    ],
)
def test_a_search_is_for_whoever_may_replay_in_the_tenant_of_the_home(
    service: ServiceProcess, tenant: str, roles: list[str], scopes: list[str], codes: set[str], document: str
) -> None:
    rights = rights_of(roles, scopes, lambda field, name: ValueError(f"{field} {name}"))
    with closing(KeyRing(service.home.named_keys)) as ring:
        _, text = ring.create(f"culprits-{uuid4().hex}", rights, tenant=tenant)
    with service.client(key=False, headers={"X-Api-Key": text}) as caller:
        answer = caller.post("/graphql", json={"query": document}).json()
    assert answer["errors"][0]["extensions"]["code"] in codes, answer


def test_searches_that_show_values_need_the_right_to_see_them(service: ServiceProcess) -> None:
    """The answer of a blame says whether a predicate holds, so it would show values bit by bit."""
    rights = rights_of([], ["read", "replay"], lambda field, name: ValueError(f"{field} {name}"))
    with closing(KeyRing(service.home.named_keys)) as ring:
        _, text = ring.create(f"culprits-{uuid4().hex}", rights, tenant="default")
    with service.client(key=False, headers={"X-Api-Key": text}) as caller:
        refused = [caller.post("/graphql", json={"query": document}).json() for document in (BLAME, COMPARE, CLEAN, WITNESS)]
        why = caller.post("/graphql", json={"query": WHY}).json()
    assert [answer["errors"][0]["extensions"]["code"] for answer in refused] == ["ForbiddenError"] * 4
    assert why["errors"][0]["extensions"]["code"] == "NotFoundError"


class _Searches(CulpritSearches):
    """Searches whose work is given: a queue as it is, without a home."""

    def __init__(self) -> None:
        super().__init__(*(cast("Any", None) for _ in range(3)), asyncio.Lock())

    def begin(self, work: Callable[[CulpritSearchJob], Awaitable[None]]) -> CulpritSearchJob:
        job = CulpritSearchJob(id=uuid4().hex, tenant=TENANT, started_at=now(), kind="why", subject="run:1")
        self.add(job, lambda: work(job))
        return job


def _permitted(searches: CulpritSearches, folder: Path, scopes: tuple[Scope, ...], *, masked: bool) -> PermittedCulprits:
    rules = folder / "masks.toml"
    if masked:
        rules.write_text('[[mask]]\ncolumns = ["age"]\n')
    parts = cast("Service", SimpleNamespace(masks=Masks(rules)))
    return PermittedCulprits(searches, parts, Principal(tenant=TENANT, method="key", name="k", scopes=frozenset(scopes)))


async def _ended(searches: CulpritSearches, job: CulpritSearchJob) -> CulpritSearchJob:
    while not job.has_ended:  # noqa: ASYNC110 - a job tells nobody
        await asyncio.sleep(0)
    return job


@pytest.mark.parametrize(
    ("scopes", "masked", "shows"),
    [
        ((Scope.READ, Scope.REPLAY), False, False),
        ((Scope.READ, Scope.REPLAY, Scope.RECORDS), False, True),
        ((Scope.READ, Scope.REPLAY, Scope.RECORDS), True, False),
        ((Scope.READ, Scope.REPLAY, Scope.RECORDS, Scope.UNMASKED), True, True),
    ],
)
async def test_values_and_messages_are_shown_to_those_who_may_see_them(
    tmp_path: Path, scopes: tuple[Scope, ...], masked: bool, shows: bool
) -> None:
    searches = _Searches()
    caller = _permitted(searches, tmp_path, scopes, masked=masked)

    async def find(job: CulpritSearchJob) -> None:
        job.records, job.origins = [Culprit("file:/a", 3, {"age": "x17"})], [Culprit("file:/b", 5, {"age": "x17"})]
        job.doing, job.cleaning = "leaving out x17", cast("Any", "x17")
        job.comparison = cast("Any", "x17")
        job.notes, job.count, job.problem = ["another message: x17"], 1, "it failed in another way: ValueError: x17"

    job = await _ended(searches, searches.begin(find))
    found = await caller.get(TENANT, job.id)
    assert found is not None
    assert ("x17" in repr(found)) is shows
    assert [(record.file, record.row) for record in found.records] == [("file:/a", 3)]
    if not shows:
        assert found.records[0].values == {"age": SHOWN}
    assert await caller.get("sales", job.id) is None


async def test_a_search_that_shows_masked_columns_is_refused(tmp_path: Path) -> None:
    caller = _permitted(_Searches(), tmp_path, (Scope.READ, Scope.REPLAY, Scope.RECORDS), masked=True)
    with pytest.raises(ForbiddenError, match="masked"):
        await caller.start_blame(TENANT, "out", None, "age > 3", 60)
    with pytest.raises(ForbiddenError, match="masked"):
        await caller.start_witness(TENANT, "out", "age > 3", [], 60)
    with pytest.raises(ForbiddenError, match="masked"):
        await caller.start_compare(TENANT, "run:1", "run:2", 60, replays=False)
    with pytest.raises(ForbiddenError, match="masked"):
        await caller.start_clean(TENANT, "out", "age", None, 10, None, dry_run=True)


async def test_a_search_is_cancelled_and_keeps_what_it_found() -> None:
    searches = _Searches()
    begun = asyncio.Event()

    async def find(job: CulpritSearchJob) -> None:
        begun.set()
        await asyncio.to_thread(job.cancelled.wait)
        job.count = 40
        raise InvalidQueryError("The search was cancelled.")

    job = searches.begin(find)
    await begun.wait()
    await searches.cancel(TENANT, job.id)
    ended = await _ended(searches, job)
    assert (ended.state, ended.error, ended.count) == ("failed", "The search was cancelled.", 40)
    with pytest.raises(InvalidQueryError, match="has ended"):
        await searches.cancel(TENANT, job.id)
    with pytest.raises(NotFoundError):
        await searches.cancel("sales", job.id)
