"""`GET /api/v1/tags`: the tags that anything bears or bore, by events or declarations."""

from __future__ import annotations

from typing import Any

from headwater.backend.api.marquez.asking import Ask, Page, page_of, subject_router
from headwater.graph.model import NodeKind, parse_id
from headwater.graph.model.descriptions import descriptions_of

router = subject_router()


@router.get("/tags")
async def get_tags(ask: Ask, place: Page) -> dict[str, Any]:
    """All tags, in order of their encoded names: `{"tags": […]}`."""
    listing = await ask.graph.listed(ask.tenant, f"{NodeKind.TAG}:", first=place.limit, skip=place.offset)
    tags = [{"name": parse_id(tag.id)[1][0], "description": descriptions_of(tag).description} for tag in listing.nodes]
    return page_of("tags", tags, listing)
