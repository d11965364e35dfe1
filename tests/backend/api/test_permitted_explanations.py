"""Explanations and rankings are for callers who may see records in all namespaces, and rankings for those who may see every column."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from headwater.backend.access.masks import Masks
from headwater.backend.api.authorization import PermittedQuestions
from headwater.backend.api.context import Service
from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import ForbiddenError
from headwater.backend.questions.masked_answers import MaskedQuestions
from headwater.errors import InvalidQueryError
from headwater.graph.access.rights import rights_of
from headwater.graph.trace.explain import ExplainRequest
from headwater.graph.trace.instances import InstanceRequest
from headwater.graph.trace.rank import RankRequest

TENANT = "default"
_INSTANCES = InstanceRequest(dataset="out", bad="true")
_EXPLAIN, _RANK = ExplainRequest(dataset="out", bad="true"), RankRequest(dataset="out", column="total", where="true")


class _Questions:
    """Questions that answer with the request, so that a test sees that it arrived."""

    async def explain(self, _: str, request: Any) -> Any:
        return request

    rank = instances = explain


def _permitted(folder: Path, scopes: list[str], *, masked: bool) -> PermittedQuestions:
    rules = folder / "masks.toml"
    if masked:
        rules.write_text('[[mask]]\ncolumns = ["salary"]\n')
    rights = rights_of([], scopes, lambda field, name: ValueError(f"{field} {name}"))
    who = Principal(tenant=TENANT, method="key", name="k", scopes=rights.scopes, within=rights.within)
    parts = cast("Service", SimpleNamespace(masks=Masks(rules)))
    return PermittedQuestions(parts, cast("Any", _Questions()), who)


@pytest.mark.parametrize(
    "scopes", [["read"], ["read:file*", "records"], ["read", "records:file*"], ["read:file*", "records:file*", "unmasked:file*"]]
)
async def test_a_caller_who_may_not_see_all_records_gets_none(tmp_path: Path, scopes: list[str]) -> None:
    caller = _permitted(tmp_path, scopes, masked=False)
    with pytest.raises(ForbiddenError):
        await caller.explain(TENANT, _EXPLAIN)
    with pytest.raises(ForbiddenError):
        await caller.instances(TENANT, _INSTANCES)
    with pytest.raises(ForbiddenError):
        await caller.rank(TENANT, _RANK)


@pytest.mark.parametrize(("scopes", "masked", "ranks"), [
    (["read", "records"], False, True), (["read", "records"], True, False), (["read", "records", "unmasked"], True, True),
    (["read", "records", "unmasked:file*"], True, False),
])  # fmt: skip
async def test_a_ranking_is_for_those_who_may_see_every_column(tmp_path: Path, scopes: list[str], masked: bool, ranks: bool) -> None:
    caller = _permitted(tmp_path, scopes, masked=masked)
    assert await caller.explain(TENANT, _EXPLAIN) is _EXPLAIN
    assert await caller.instances(TENANT, _INSTANCES) is _INSTANCES
    if ranks:
        assert await caller.rank(TENANT, _RANK) is _RANK
    else:
        with pytest.raises(ForbiddenError, match="masked"):
            await caller.rank(TENANT, _RANK)


async def test_a_question_with_masks_ranks_nothing() -> None:
    masked = MaskedQuestions(cast("Any", _Questions()), cast("Any", None), cast("Any", None), [])
    with pytest.raises(InvalidQueryError, match="masked") as refused:
        await masked.rank(TENANT, _RANK)
    assert refused.value.is_refusal
