"""`GET /api/v1/prov`: the notation that is asked for, and refusals before the document begins."""

import json
import time

import pytest

from headwater.graph.prov import NOTATIONS, ProvFormat
from headwater.graph.prov.constraints import check
from headwater.graph.prov.read import read
from tests.stated import REPORT, event

PATH = "/api/v1/prov"
RUN = f"run:{REPORT}"

pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated.*:DeprecationWarning")


@pytest.fixture
def filled(client):
    """A service that knows a run."""
    stated = [
        event(REPORT, "report", kind, f"2026-01-31T10:0{minute}:00Z", "/data/out/clean", "/data/out/report")
        for kind, minute in (("START", 3), ("COMPLETE", 4))
    ]
    assert client.post("/api/v1/lineage", json=stated).status_code == 201
    until = time.monotonic() + 60
    while client.get(PATH, params={"target": RUN}).status_code != 200:
        assert time.monotonic() < until, "the run was not projected"
        time.sleep(0.02)
    return client


@pytest.mark.parametrize("notation", ProvFormat)
def test_the_media_type_that_is_accepted_chooses_the_notation(filled, notation):
    media_type = NOTATIONS[notation].media_type
    answer = filled.get(PATH, params={"target": RUN}, headers={"Accept": f"text/html;q=0.1, {media_type};q=0.9, */*;q=0.2"})
    assert answer.headers["content-type"].partition(";")[0] == media_type
    assert check(read(answer.content)) == []


def test_a_parameter_goes_before_the_header(filled):
    answer = filled.get(PATH, params={"target": RUN, "format": "n"}, headers={"Accept": "text/turtle"})
    assert answer.text.startswith("document\n")


def test_without_a_preference_it_is_json(filled):
    bundle = json.loads(filled.get(PATH, params={"target": "dataset:file:/data/out/report"}).content)["bundle"]
    assert len(bundle) == 1


@pytest.mark.parametrize(
    ("asked", "status", "error"),
    [
        ({"target": "run:0"}, 404, "NotFound"),
        ({"target": "dataset:file:/nowhere"}, 404, "NotFound"),
        ({"target": "job:local:nobody"}, 404, "NotFound"),
        ({"target": "report"}, 400, "InvalidQuery"),
        ({"target": [RUN, "job:local:report"]}, 400, "InvalidQuery"),
        ({"target": "job:local:report", "level": "colour"}, 400, "InvalidInput"),
        ({"target": "job:local:report", "level": "tag"}, 400, "InvalidQuery"),
        ({"target": "job:local:report", "level": "task"}, 400, "InvalidQuery"),
        ({"target": "job:local:report", "mask": "name"}, 400, "InvalidQuery"),
        ({"target": "job:local:report", "between": RUN}, 400, "InvalidQuery"),
        ({"target": "job:local:report", "as_of": "yesterday"}, 400, "InvalidQuery"),
        ({"target": "job:local:report", "open": "dataset:file:/elsewhere=column"}, 404, "NotFound"),
        ({"target": "job:local:report", "open": "report=column"}, 400, "InvalidQuery"),
        ({"target": "/data/out/report", "where": "true", "ends": "true"}, 400, "InvalidQuery"),
        ({"target": "/nowhere", "where": "true"}, 404, "NotFound"),
        ({"target": RUN, "format": "word"}, 400, "InvalidInput"),
        ({}, 400, "InvalidQuery"),
    ],
)
def test_what_cannot_be_exported_is_refused_with_a_status(filled, asked, status, error):
    answer = filled.get(PATH, params=asked)
    assert (answer.status_code, answer.json()["error"]) == (status, error)


@pytest.mark.parametrize("notation", ProvFormat)
def test_a_view_comes_in_every_notation(filled, notation):
    asked = {"target": ["dataset:file:/data/out/report"], "level": ["dataset", "system"], "mask": "name=*clean*", "format": notation}
    answer = filled.get(PATH, params=asked)
    assert answer.status_code == 200
    assert check(read(answer.content)) == []
    assert b"/data/out/clean" not in answer.content


def test_a_view_may_have_several_nodes_in_its_midst(filled):
    answer = filled.get(PATH, params={"target": ["job:local:report", "dataset:file:/data/out/clean"], "view": "true", "format": "n"})
    assert answer.text.count("hw:focus=") == 2


@pytest.mark.parametrize("accept", ["text/html", "image/png, application/json;q=0"])
def test_a_caller_who_accepts_no_notation_is_told_which_there_are(filled, accept):
    answer = filled.get(PATH, params={"target": RUN}, headers={"Accept": accept})
    assert answer.status_code == 406
    assert "text/provenance-notation" in answer.json()["hint"]


def test_a_stranger_gets_nothing(stranger):
    assert stranger.get(PATH, params={"target": RUN}).status_code == 401


def test_a_document_is_taken_in_once(filled):
    document = filled.get(PATH, params={"target": RUN, "format": "n"}).content
    headers = {"Content-Type": NOTATIONS[ProvFormat.N].media_type}
    first, again = (filled.post(PATH, content=document, headers=headers) for _ in range(2))
    assert (first.status_code, first.json()["duplicate"], again.json()["duplicate"]) == (201, False, True)
    assert first.json()["edges"] > 3


def test_a_document_that_is_wrong_is_refused_with_line_and_clause(client):
    answer = client.post(PATH, content=b"document\nprefix ex <http://x/>\nspecializationOf(ex:e, ex:e)\nendDocument")
    assert answer.status_code == 422
    assert (answer.json()["error"], answer.json()["line"], answer.json()["clause"]) == ("InvalidProvenance", 3, "PROV-CONSTRAINTS 52")


def test_a_document_that_is_too_large_is_refused(client):
    assert client.post(PATH, content=b"x" * 200_001).status_code == 413


PROVN = b"document\n prefix ex <http://e/>\n entity(ex:a)\n %s\nendDocument"


@pytest.mark.parametrize(
    ("document", "clause", "line"),
    [
        (b"", "PROV-DM 5", 1),
        (
            b"document\n prefix ex <http://e/>\n entity(ex:a)\n wasGeneratedBy(ex:a, ex:b, 2020-99-01T00:00:00)\nendDocument",
            "PROV-DM 5.7.3",
            4,
        ),
        (PROVN % b"activity(ex:a)", "PROV-CONSTRAINTS 55", 4),
        (b'{"entity": {"ex:a": {}}', "PROV-JSON 3", 1),
    ],
)
def test_a_document_that_is_wrong_is_refused_with_clause_and_line(filled, document, clause, line):
    answer = filled.post(PATH, content=document)
    assert (answer.status_code, answer.json()["clause"], answer.json()["line"]) == (422, clause, line)
