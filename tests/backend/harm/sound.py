"""Sound documents of every kind of input, with every part that a parser reads, as material for damage."""

from __future__ import annotations

from tests.backend.captures import capture
from tests.backend.events import facet, run_event

EVENT = run_event(
    1,
    run={
        "runId": run_event(1)["run"]["runId"],
        "facets": {
            "parent": facet(run={"runId": run_event(2)["run"]["runId"]}, job={"namespace": "a", "name": "b"}),
            "nominalTime": facet(nominalStartTime="2013-02-12T03:00:00Z"),
            "errorMessage": facet(message="x", programmingLanguage="python"),
        },
    },
    outputs=[
        {
            "namespace": "file",
            "name": "/out",
            "facets": {
                "schema": facet(fields=[{"name": "a", "type": "struct", "fields": [{"name": "b", "type": "int"}]}]),
                "columnLineage": facet(
                    fields={
                        "a": {
                            "inputFields": [
                                {
                                    "namespace": "file",
                                    "name": "/in",
                                    "field": "c",
                                    "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}],
                                }
                            ]
                        }
                    }
                ),
                "version": facet(datasetVersion="7"),
                "ownership": facet(owners=[{"name": "team:a", "type": "OWNER"}]),
                "tags": facet(tags=[{"key": "pii", "value": "true", "source": "x"}]),
                "lifecycleStateChange": facet(lifecycleStateChange="RENAME", previousIdentifier={"namespace": "file", "name": "/before"}),
                "symlinks": facet(identifiers=[{"namespace": "hive", "name": "a.b", "type": "TABLE"}]),
            },
        }
    ],
)
DECLARATION = {
    "by": "ada",
    "types": [{"name": "ward", "axis": "data", "within": ["hospital"], "holds": ["dataset"], "after": ["ward"]}],
    "instances": [{"id": "data:ward:one", "properties": {"beds": 7}}],
    "containment": [{"container": "data:ward:one", "child": "dataset:file:/x"}],
    "links": [{"from": "data:ward:one", "to": "data:ward:two"}],
    "descriptions": [{"id": "dataset:file:/x", "aspect": "tag", "value": "pii", "removed": False}],
}
PROV = {
    "prefix": {"ex": "http://example.org/", "default": "http://example.org/d"},
    "entity": {"ex:a": {"prov:label": {"$": "a", "lang": "en"}, "prov:type": {"$": "prov:Plan", "type": "xsd:QName"}}, "ex:b": {}},
    "activity": {"ex:c": {"prov:startTime": "2026-01-31T10:00:00Z", "prov:endTime": "2026-01-31T10:05:00Z"}},
    "agent": {"ex:d": {"prov:type": {"$": "prov:Person", "type": "xsd:QName"}}},
    "used": {"_:u": {"prov:activity": "ex:c", "prov:entity": "ex:a", "prov:time": "2026-01-31T10:01:00Z"}},
    "wasGeneratedBy": {"_:g": {"prov:entity": "ex:b", "prov:activity": "ex:c"}},
    "wasDerivedFrom": {"_:w": [{"prov:generatedEntity": "ex:b", "prov:usedEntity": "ex:a"}]},
    "wasAssociatedWith": {"_:s": {"prov:activity": "ex:c", "prov:agent": "ex:d", "prov:plan": "ex:a"}},
    "bundle": {"ex:e": {"prefix": {"in": "http://example.org/in"}, "entity": {"in:f": {"in:n": 1.5}}}},
}
PROVN = b"""document
default <http://example.org/d>
prefix ex <http://example.org/>
entity(ex:raw, [prov:label="Raw weather"@en, ex:n=7, ex:x="1.5" %% xsd:double, prov:type='prov:Plan'])
activity(ex:c, 2026-01-31T10:00:00Z, -) // a remark
used(ex:u; ex:c, ex:raw, 2026-01-31T10:01:00Z)
wasGeneratedBy(ex:b, ex:c, -, [prov:role="out"])
wasDerivedFrom(ex:b, ex:raw, ex:c, -, -)
/* others */ alternateOf(ex:a, ex:b)
bundle ex:e
  entity(ex:f)
endBundle
endDocument
"""
XML = b"""<?xml version="1.0"?><prov:document xmlns:prov="http://www.w3.org/ns/prov#" xmlns:ex="http://example.org/">
<prov:entity prov:id="ex:a"><prov:label>a</prov:label></prov:entity></prov:document>"""
TURTLE = b"@prefix prov: <http://www.w3.org/ns/prov#> . @prefix ex: <http://e/> . ex:a a prov:Entity ; prov:wasDerivedFrom ex:b ."
MANIFEST, _SEGMENTS = capture(3)
SEGMENT = next(iter(_SEGMENTS.values()))
