"""A view as PROV: all that it shows, at its levels, and of what it hides the number alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prov.model import ProvAssociation, ProvDerivation, ProvGeneration, ProvInfluence, ProvMembership, ProvUsage

from headwater.errors import InvalidQueryError
from headwater.graph.model import NodeKind, node_id
from headwater.graph.prov import ProvFormat, export_shown, view_document, write
from headwater.graph.prov.constraints import check
from headwater.graph.prov.model import Document
from headwater.graph.prov.read import read
from headwater.graph.stores import Direction
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.views import Mask, MaskBy, ViewOptions, ViewRequest, view
from tests.graph.prov.validity import document_of, ends, pairs, read_back
from tests.graph.views.worlds import World, worlds
from tests.stated import CLEAN, REPORT, TENANT

RAW, REPORTED = "dataset:file:/data/raw/weather.csv", "dataset:file:/data/out/report"
NODE = "urn:headwater:node:"


def asked(*focus: str, **options: Any) -> ViewRequest:
    return ViewOptions(**options).request(focus)


async def bundle_of(store: SqliteStore, request: ViewRequest) -> Any:
    return read_back(await export_shown(store, TENANT, request))


async def test_a_view_says_what_it_was_asked_and_how_much_it_hides(store):
    request = asked(REPORTED, masks=["kind=job", "name=*clean*"], direction=Direction.UPSTREAM)
    document = document_of(await export_shown(store, TENANT, request))
    (bundle,) = document.bundles
    (entity,) = [record for record in document.get_record(bundle.identifier) if record.get_type().localpart == "Entity"]
    said = {(name.localpart, value) for name, value in entity.extra_attributes if name.namespace.prefix == "hw"}
    assert {("focus", REPORTED), ("direction", "upstream"), ("mask", "kind=job"), ("mask", "name: 1"), ("masked", 3)} <= said


async def test_others_are_answered_while_a_view_is_described(store, monkeypatch):
    describe, answered = view_document.describe_links, threading.Event()

    def describe_once_answered(*parts: Any) -> None:
        assert answered.wait(60), "the event loop waits for the description"
        describe(*parts)

    monkeypatch.setattr(view_document, "describe_links", describe_once_answered)
    asyncio.get_running_loop().call_later(0.05, answered.set)
    assert (await bundle_of(store, asked(REPORTED))).get_records(ProvUsage)


async def test_a_masked_way_is_an_influence_with_the_number_of_what_lies_on_it(store):
    bundle = await bundle_of(store, asked(REPORTED, masks=["kind=job", "name=*clean*"]))
    (influence,) = bundle.get_records(ProvInfluence)
    assert ends(influence) == [REPORTED, RAW]
    assert {name.localpart: value for name, value in influence.extra_attributes} == {"via": 3, "direct": False}
    assert "clean" not in bundle.get_provn(), "what is hidden is not named"


async def test_between_versions_a_masked_way_is_a_derivation(store):
    bundle = await bundle_of(store, asked(REPORTED, levels=[NodeKind.VERSION, NodeKind.RUN], masks=["kind=run"]))
    report, clean = node_id("version", "file", "/data/out/report", REPORT), node_id("version", "file", "/data/out/clean", CLEAN)
    assert (report, clean) in pairs(bundle, ProvDerivation)
    assert not list(bundle.get_records(ProvUsage))


async def test_runs_are_said_as_in_the_export_of_a_run(store):
    bundle = await bundle_of(store, asked(REPORTED, levels=[NodeKind.VERSION, NodeKind.RUN]))
    report, clean = node_id("version", "file", "/data/out/report", REPORT), node_id("version", "file", "/data/out/clean", CLEAN)
    assert (report, f"run:{REPORT}") in pairs(bundle, ProvGeneration)
    assert (f"run:{REPORT}", clean) in pairs(bundle, ProvUsage)
    associations = [ends(record) for record in bundle.get_records(ProvAssociation)]
    assert [f"run:{REPORT}", "pipeline:local:flights", "job:local:report"] in associations


async def test_a_file_stands_in_the_version_that_it_was_written_with(store):
    bundle = await bundle_of(store, asked(REPORTED, levels=[NodeKind.PARTITION, NodeKind.RUN]))
    report = node_id("version", "file", "/data/out/report", REPORT)
    assert any(collection == report for collection, _ in pairs(bundle, ProvMembership))


async def test_a_hidden_container_is_not_named(store):
    request = asked(REPORTED, levels=[NodeKind.VERSION, NodeKind.RUN], masks=["kind=job", "kind=system"])
    text = (await bundle_of(store, request)).get_provn()
    assert "job:local" not in text
    assert "system:local" not in text


@pytest.mark.parametrize("focus", ["job:local:report", f"run:{REPORT}", "platform:file", "system:local"])
async def test_whatever_a_view_can_be_around_can_be_exported(store, focus):
    assert list((await bundle_of(store, asked(focus))).get_records())


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> AsyncIterator[SqliteStore]:
    """One store for all examples; a tenant each."""
    path: Path = tmp_path_factory.mktemp("shown")
    store = SqliteStore(str(path / "graph.db"))
    asyncio.run(store.open())
    yield store
    asyncio.run(store.close())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(worlds(), st.data())
def test_every_view_is_valid_says_every_link_and_names_nothing_hidden(shared: SqliteStore, world: World, data: st.DataObject) -> None:
    tenant = uuid4().hex
    nodes = sorted(world.nodes())
    focus = data.draw(st.sampled_from(nodes))
    hidden = tuple(data.draw(st.lists(st.sampled_from(nodes), unique=True)))
    request = ViewRequest(
        focus=(focus,),
        data=data.draw(st.sampled_from([NodeKind.DATASET, NodeKind.PLATFORM])),
        actors=data.draw(st.sampled_from([NodeKind.JOB, NodeKind.SYSTEM])),
        masks=(Mask(MaskBy.NODE, hidden),) if hidden else (),
    )

    async def both() -> tuple[Any, Any]:
        await shared.apply(tenant, [world.batch()])
        try:
            return await view(shared, tenant, request), await export_shown(shared, tenant, request)
        except InvalidQueryError:  # a level that this lineage has not
            return None, None

    made, export = asyncio.run(both())
    if made is None:
        return
    items = list(export.items())
    document = Document.of(items)
    assert check(document) == []
    assert check(read(b"".join(write(iter(items), ProvFormat.N)), ProvFormat.N)) == []
    (statements,) = document.bundles.values()
    joined = {frozenset(arg.removeprefix(NODE).replace("runs:", "job:") for arg in s.args if arg) for s in statements if s.args}
    for src, dst in made.all_edges():
        assert any({src, dst} <= pair for pair in joined), (src, dst)
    named = {name.removeprefix(NODE).replace("runs:", "job:") for s in statements for name in (s.id, *s.args) if name}
    assert named <= {*made.node_ids()}, "nothing is named that the view does not show"
