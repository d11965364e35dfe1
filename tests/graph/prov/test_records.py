"""A record trace as PROV: derivations record by record, tied to the files and runs of the graph."""

from dataclasses import replace

import pytest
from prov.model import ProvDerivation, ProvGeneration, ProvMembership

from headwater.errors import InvalidQueryError
from headwater.graph.prov import export_records
from headwater.graph.trace.answer import Grain, Hop, Incomplete, Semantics, TraceAnswer, TracedRecord, TraceRequest
from tests.graph.prov.validity import assert_valid, ends, pairs, read_back
from tests.stated import CLEAN, REPORT, TENANT

RAW, REPORTS = "dataset:file:/data/raw/weather.csv", "dataset:file:/data/out/report"
HOPS = [
    Hop("job:local:report", f"run:{REPORT}", REPORTS, ["dataset:file:/data/out/clean"], ["max"], 1, Grain.RECORD),
    Hop("job:local:clean", f"run:{CLEAN}", "dataset:file:/data/out/clean", [RAW], [], 2, Grain.RECORD),
]


def report(row: int) -> TracedRecord:
    return TracedRecord(REPORTS, "file:/data/out/report/part-0.parquet", row, Grain.RECORD)


def raw(row: int) -> TracedRecord:
    return TracedRecord(RAW, "/data/raw/weather.csv", row, Grain.RECORD, line=row + 2)


def answer(selected, records, *, incomplete=(), exact=True, path=HOPS) -> TraceAnswer:
    return TraceAnswer(Semantics.WITNESS, exact, records, path, incomplete, len(records), selected, 1.0)


def tracer(by_row: dict[int, list[int]], **about):
    """Answers as a trace does whose report rows come from these raw rows."""

    async def trace(request: TraceRequest) -> TraceAnswer:
        rows = [row for _, row in request.rows] or sorted(by_row)
        reached = sorted({source for row in rows for source in by_row[row]})
        return answer([report(row) for row in rows], [raw(row) for row in reached], **about)

    return trace


REPORT_ID = "record:file:/data/out/report:file%3A/data/out/report/part-0.parquet:{}"
RAW_ID = "record:file:/data/raw/weather.csv:/data/raw/weather.csv:{}"


async def test_each_selected_record_derives_from_its_own_sources_alone(store):
    request = TraceRequest(dataset=REPORTS, where="true", semantics=Semantics.WITNESS)
    bundle = read_back(await export_records(store, TENANT, tracer({0: [7], 1: [8, 9]}), request))
    assert_valid(bundle)
    found = {pair for pair in pairs(bundle, ProvDerivation) if str(pair[0]).startswith("record:")}
    assert found == {
        (REPORT_ID.format(0), RAW_ID.format(7)),
        (REPORT_ID.format(1), RAW_ID.format(8)),
        (REPORT_ID.format(1), RAW_ID.format(9)),
    }


async def test_a_record_belongs_to_its_file_and_was_made_by_the_run_that_wrote_it(store):
    bundle = read_back(await export_records(store, TENANT, tracer({0: [7]}), TraceRequest(dataset=REPORTS, where="true")))
    assert ("partition:file%3A/data/out/report/part-0.parquet:80:3000", REPORT_ID.format(0)) in pairs(bundle, ProvMembership)
    assert ("partition:file%3A/data/raw/weather.csv:900:1000", RAW_ID.format(7)) in pairs(bundle, ProvMembership)
    assert (REPORT_ID.format(0), f"run:{REPORT}") in pairs(bundle, ProvGeneration)


async def test_a_derivation_names_a_run_only_where_one_alone_lies_between(store):
    across = read_back(await export_records(store, TENANT, tracer({0: [7]}), TraceRequest(dataset=REPORTS, where="true")))
    direct = read_back(await export_records(store, TENANT, tracer({0: [7]}, path=HOPS[:1]), TraceRequest(dataset=REPORTS, where="true")))
    wanted = [REPORT_ID.format(0), RAW_ID.format(7)]
    assert [*wanted, None] in [ends(record) for record in across.get_records(ProvDerivation)]
    assert [*wanted, f"run:{REPORT}"] in [ends(record) for record in direct.get_records(ProvDerivation)]


async def test_a_hop_that_is_known_by_datasets_only_names_no_run(store):
    coarse = [replace(HOPS[0], run="", grain=Grain.DATASET)]

    async def vague(request: TraceRequest) -> TraceAnswer:
        return answer([report(0)], [TracedRecord(RAW, None, None, Grain.DATASET)], exact=False, path=coarse)

    bundle = read_back(await export_records(store, TENANT, vague, TraceRequest(dataset=REPORTS, where="true")))
    assert_valid(bundle)
    assert [REPORT_ID.format(0), RAW, None] in [ends(record) for record in bundle.get_records(ProvDerivation)]


async def test_a_forward_trace_turns_the_derivations_round(store):
    async def forward(request: TraceRequest) -> TraceAnswer:
        return answer([raw(7)], [report(0)])

    bundle = read_back(await export_records(store, TENANT, forward, TraceRequest(dataset=RAW, where="true", forward=True)))
    assert_valid(bundle)
    assert (REPORT_ID.format(0), RAW_ID.format(7)) in pairs(bundle, ProvDerivation)


async def test_what_an_answer_lacks_is_said_of_the_bundle(store):
    gap = Incomplete("job:local:count", "captured coarsely", "superset")
    document = await export_records(
        store, TENANT, tracer({0: [7]}, incomplete=[gap], exact=False), TraceRequest(dataset=REPORTS, where="true")
    )
    (bundle,) = document.bundles
    (about,) = document.get_record(bundle.identifier)
    said = {name.localpart: value for name, value in about.extra_attributes}
    assert said["exact"] is False
    assert said["incomplete"] == "job:local:count: captured coarsely (superset)"


async def test_values_never_leave(store):
    async def with_values(request: TraceRequest) -> TraceAnswer:
        assert not request.values
        return answer([replace(report(0), values={"name": "secret"})], [replace(raw(7), values={"name": "secret"})])

    document = await export_records(store, TENANT, with_values, TraceRequest(dataset=REPORTS, where="true"))
    assert "secret" not in str(document.serialize())


async def test_too_many_records_are_refused(store):
    with pytest.raises(InvalidQueryError, match="201 records"):
        await export_records(store, TENANT, tracer({row: [7] for row in range(201)}), TraceRequest(dataset=REPORTS, where="true"))
