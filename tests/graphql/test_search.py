"""Search by words and facets through the schema."""

from __future__ import annotations

CLEANED, REPORTED = "dataset:file:/data/out/clean", "dataset:file:/data/out/report"
_FIND = """query ($text: String! = "", $kinds: [NodeKind!], $states: [String!], $order: SearchOrder! = FAILED_FIRST, $first: Int! = 20,
  $after: String) { find(text: $text, kinds: $kinds, states: $states, order: $order, first: $first, after: $after) {
    hits { node { id } score matched namespace state } total counted complete cursor facets { name values { value count } } } }"""


async def test_words_find_nodes_with_their_state_and_facets(ask):
    found = (await ask(_FIND, text="raport", kinds=["DATASET"]))["find"]
    (hit,) = found["hits"]
    assert (hit["node"]["id"], hit["matched"], hit["namespace"], hit["state"]) == (REPORTED, ["report"], "file", "COMPLETE")
    assert 0 < hit["score"] < 1
    assert {"name": "state", "values": [{"value": "COMPLETE", "count": 1}]} in found["facets"]
    assert (found["total"], found["counted"], found["complete"], found["cursor"]) == (1, True, True, None)


async def test_a_list_pages_through_everything_of_a_kind(ask):
    ids, after = [], None
    while True:
        found = (await ask(_FIND, kinds=["DATASET"], order="NAME", first=2, after=after))["find"]
        ids += [hit["node"]["id"] for hit in found["hits"]]
        assert found["total"] == 3
        after = found["cursor"]
        if after is None:
            break
    assert ids == [CLEANED, REPORTED, "dataset:file:/data/raw/weather.csv"]
    assert (await ask(_FIND, kinds=["DATASET"], states=["fail"]))["find"]["hits"] == []


async def test_what_is_too_much_or_not_a_cursor_is_refused(refused):
    assert (await refused(_FIND, text="x" * 1_001)).extensions["code"] == "InvalidQueryError"
    assert (await refused(_FIND, first=0)).extensions["code"] == "InvalidQueryError"
    assert "cursor" in (await refused(_FIND, after="nonsense")).message
