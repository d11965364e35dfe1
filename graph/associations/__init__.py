"""Manifests and segments: the capture format (docs/reference/capture-format.md). The package may depend on pyarrow only."""

from headwater.graph.associations.behaviours import Behaviour
from headwater.graph.associations.expressions import Attribute, Definition, Expression, Frame, Operator, Ordering
from headwater.graph.associations.manifest import Manifest, is_segment_name
from headwater.graph.associations.parts import (
    Application,
    Boundary,
    BoundaryColumn,
    DatasetName,
    Problem,
    RunName,
    SegmentEntry,
    Sink,
    SinkColumn,
    Source,
    SourceColumn,
    SourceFile,
    Split,
)
from headwater.graph.associations.references import NONE, pack, unpack

__all__ = [
    "NONE",
    "Application",
    "Attribute",
    "Behaviour",
    "Boundary",
    "BoundaryColumn",
    "DatasetName",
    "Definition",
    "Expression",
    "Frame",
    "Manifest",
    "Operator",
    "Ordering",
    "Problem",
    "RunName",
    "SegmentEntry",
    "Sink",
    "SinkColumn",
    "Source",
    "SourceColumn",
    "SourceFile",
    "Split",
    "is_segment_name",
    "pack",
    "unpack",
]
