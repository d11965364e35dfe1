"""A home in which five jobs were captured record by record, graph and all: for tests of what people ask."""

import json
from pathlib import Path

from headwater.backend.home.folder import Home
from headwater.backend.ingest.intake.documents import document_key
from headwater.backend.ingest.log.model import Draft, EntryKind
from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.backend.projection import WrittenFile, capture_stamp, fold, project_capture
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.stores import GraphStore
from headwater.graph.stores.sqlite import SqliteStore
from headwater.spark_listener.registry import Registry
from tests.graph.jobs import TENANT
from tests.graph.trace.pipeline import Oracle, build


async def capture_pipeline(home: Path, root: Path, seed: int = 1) -> Oracle:
    """Run the pipeline over `root` and keep what it captured in `home`; what its lineage must be."""
    records = AssociationStore(home / "associations", sources=ANYWHERE)
    Registry(home).add_roots([str(root)])  # as the programs' own processes do
    oracle = build(records, root, seed)
    graph = SqliteStore(str(home / "graph.db"))
    await graph.open()
    await project_captures(graph, records)
    await graph.close()
    records.close()
    return oracle


async def project_captures(graph: GraphStore, records: AssociationStore) -> None:
    """Put what the captures state into the graph, as the projector does."""
    for entry in records.catalog.captures(TENANT):
        manifest = records.manifest(TENANT, entry.capture).to_json()
        files = [WrittenFile(*file.block, file.rows, file.attempt) for file in records.files(TENANT, entry.capture)]
        await fold(graph, TENANT, [project_capture(manifest, capture_stamp(manifest, entry.capture), files)])


def log_manifests(home: Path) -> None:
    """Append the manifests of the captures in a home to its log, from which `capture_pipeline` keeps away."""
    records, log = AssociationStore(home / "associations", sources=ANYWHERE), SqliteLog(Home(home).log)
    for entry in records.catalog.captures(TENANT):
        manifest = records.manifest(TENANT, entry.capture).to_json()
        log.append(TENANT, [Draft(EntryKind.CAPTURE, document_key(manifest), json.dumps(manifest).encode())]).result()
    log.close()
    records.close()
