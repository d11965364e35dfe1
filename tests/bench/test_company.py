"""The events, captures and policy of the simulated company."""

import json
from collections import Counter

import pytest

from bench.data.company import Company
from headwater.backend.projection import capture_stamp, event_stamp, project_capture, project_event
from headwater.graph.model import NodeKind, kind_of
from headwater.graph.policies import parse_policy
from headwater.graph.yaml_reader import parse_document


@pytest.fixture
def company():
    return Company(runs=1_000, jobs=200, seed=1)


def test_a_number_gives_the_same_event_in_any_batch(company):
    whole = list(company.events(0, 200))
    assert whole == [event for first in range(0, 200, 20) for event in Company(1_000, 200, 1).events(first, 20)]
    assert whole != list(Company(1_000, 200, 2).events(0, 200))
    assert len(set(whole)) == len(whole)


def test_data_comes_from_the_layer_before_or_from_sources(company):
    layers = ["public", "cleaned", "joined", "enriched", "mart", "report"]
    for job in range(company.jobs):
        layer = next(index for index, name in enumerate(layers) if name in company.name(job)[1])
        before = {next(index for index, name in enumerate(layers) if name in company.name(each)[1]) for each in company.inputs(job)}
        assert before
        assert before <= {0, layer - 1}


def test_a_run_has_ten_nodes_of_its_own(company):
    start, end = (json.loads(event) for event in company.events(0, 2))
    nodes = [*project_event(start, event_stamp(start, "a")).nodes, *project_event(end, event_stamp(end, "b")).nodes]
    own = Counter(kind_of(each) for each in {node.id for node in nodes})
    assert [own[kind] for kind in (NodeKind.RUN, NodeKind.VERSION, NodeKind.STAGE, NodeKind.TASK)] == [1, 1, 2, 6]


def test_a_capture_is_of_the_run_in_the_events(company):
    document, segments = company.capture(0)
    end = json.loads(next(company.events(1, 1)))
    assert [segment["name"] for segment in document["segments"]] == list(segments)
    ids = {node.id for node in project_capture(document, capture_stamp(document, "c")).nodes}
    stated = {node.id for node in project_event(end, event_stamp(end, "b")).nodes if kind_of(node.id) is not NodeKind.COLUMN}
    assert {each for each in ids if kind_of(each) in (NodeKind.JOB, NodeKind.RUN, NodeKind.DATASET, NodeKind.VERSION)} <= stated


def test_the_policy_has_a_hundred_rules(company):
    assert len(parse_policy(parse_document(company.policy(), "")).rules) == 100
