"""The kept associations: segments of tasks, sorted and catalogued so that a trace reads only the rows that it needs."""

from headwater.graph.records.catalog import CaptureEntry, Catalog, DatasetEntry
from headwater.graph.records.dataset_index import KnownDataset
from headwater.graph.records.layout import KeptFile
from headwater.graph.records.replaced_data import ReplacedData
from headwater.graph.records.roots import ANYWHERE, DataRoots, Look
from headwater.graph.records.safe_names import FileBlock, block_at, block_of, uri_of
from headwater.graph.records.slow_tables import Wanted
from headwater.graph.records.store import AssociationStore

__all__ = [
    "ANYWHERE",
    "AssociationStore",
    "CaptureEntry",
    "Catalog",
    "DataRoots",
    "DatasetEntry",
    "FileBlock",
    "KeptFile",
    "KnownDataset",
    "Look",
    "ReplacedData",
    "Wanted",
    "block_at",
    "block_of",
    "uri_of",
]
