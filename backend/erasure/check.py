"""Checks after an erasure that no derived record is left, and describes each dataset for the certificate.

No record meets the predicate any more, so the check follows the present state of the source. A dataset has no derived record if all of its
files come from this state. Anything else is a reason why records may be left.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from headwater.backend.erasure.certificate import digest_of
from headwater.backend.erasure.history import present_blocks
from headwater.backend.erasure.model import Action, Content, ErasedDataset, Erasure, ErasurePlan
from headwater.backend.erasure.plan import NO_RECORD, EraseRequest, Site, find_reached
from headwater.backend.rerun.replay.kinds.kind import place_of
from headwater.graph.trace.chosen_files import choose_records
from headwater.graph.versions.blocks import list_blocks


def changed_datasets(plan: ErasurePlan) -> list[str]:
    """Return the source, and the datasets that are made again or deleted."""
    return [plan.source, *(one.dataset for one in plan.datasets if one.action in (Action.RECOMPUTE, Action.DELETE))]


async def check_erasure(site: Site, erasure: Erasure, salt: bytes) -> tuple[list[ErasedDataset], list[str]]:
    """Return what is known of each dataset now, and why a record may be left."""
    plan, problems = erasure.plan, list[str]()
    if erasure.where is not None:
        left = (await choose_records(site.graph, site.records, erasure.tenant, plan.source, erasure.where, ())).count
        problems += [f"{left:,} records of {plan.source} meet the predicate now."] if left else []
    # No record meets the predicate now. The trace still says of each dataset whether its data comes from the present source alone.
    reached, _ = await find_reached(site, erasure.tenant, plan.source, plan.aliases, EraseRequest(dataset=plan.source, where=NO_RECORD))
    found = []
    after = await asyncio.to_thread(digest_datasets, salt, plan)
    for one in plan.datasets:
        state, left_records, is_checked = reached.get(one.dataset), None, False
        reasons = list(one.reasons)
        if one.action is Action.RECOMPUTE:
            left_records = state.records if state is not None else 0  # an output of the same programs that is not downstream
            is_checked = state is None or (state.complete and not state.records and not state.former)
            reasons = list(state.reasons) if state is not None and not is_checked else []
        elif one.action is Action.DELETE:
            is_checked = await asyncio.to_thread(_is_gone, place_of(one.dataset))
            left_records = 0 if is_checked else None
        elif one.action is Action.KEEP:
            is_checked, left_records = True, 0
        if not is_checked:
            problems.append(f"{one.dataset}: {'; '.join(reasons) or 'records may be left'}")
        found.append(ErasedDataset(
            dataset=one.dataset, action=one.action, records_found=one.records, former_found=one.former, records_left=left_records,
            is_checked=is_checked, reasons=reasons, versions_before=list(one.versions),
            versions_after=await _list_versions(site, erasure.tenant, one.dataset) if one.action is Action.RECOMPUTE else [],
            before=erasure.before.get(one.dataset), after=after.get(one.dataset),
        ))  # fmt: skip
    known = {plan.source, *plan.aliases, *(one.dataset for one in plan.datasets)}
    for dataset, state in reached.items():
        if dataset not in known and not state.complete:
            problems.append(f"{dataset} was made during the erasure: {'; '.join(state.reasons)}")
    source = ErasedDataset(
        dataset=plan.source, action=Action.REWRITE, records_found=plan.records, former_found=0, records_left=0,
        is_checked=True, before=erasure.before.get(plan.source), after=after.get(plan.source),
    )  # fmt: skip
    return [source, *found], problems


async def _list_versions(site: Site, tenant: str, dataset: str) -> list[str]:
    return [block.version for block in present_blocks(await list_blocks(site.graph, tenant, dataset))]


def digest_datasets(salt: bytes, plan: ErasurePlan) -> dict[str, Content]:
    """Return the present content of the datasets that an erasure changes. Datasets that are not there are left out."""
    found: dict[str, Content] = {}
    for dataset in changed_datasets(plan):
        if (digest := digest_of(salt, Path(place_of(dataset)))) is not None:
            found[dataset] = digest
    return found


def _is_gone(place: str) -> bool:
    return not os.path.lexists(place)
