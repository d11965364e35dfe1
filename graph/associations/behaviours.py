"""The behaviour of an operator: its effect on rows, which is all that a trace needs of it (docs: capture format, "Behaviours").

A manifest states it. Manifests of formats 1 and 2 do not, so `ASSUMED` derives it from Spark's operator names at reading. No other module
decides by a name. So a new operator, or one of another engine, can be traced if it states its behaviour. An unknown operator never counts
as one that passes rows: its behaviour is `OPAQUE`, and the answer reports that.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Behaviour(StrEnum):
    """The rows from which an operator makes each of its rows."""

    SOURCE = "source"  # a record of `source`
    CONSTANT = "constant"  # no record
    PASSES = "passes"  # an unchanged row of its one input; some rows may be left out, and the order may differ
    FILTER = "filter"  # the same; `condition` and `reads` decide which
    DEFINES = "defines"  # a row of its one input, with the columns `defines` added
    BRANCHES = "branches"  # a row of its one input, by one of several projections: the arguments of each of `defines`
    GENERATES = "generates"  # one of several rows made from a row of its one input; `reads` decide how many
    UNION = "union"  # a row of one of its inputs; the arguments of each of `defines` are the inputs' columns
    JOIN = "join"  # a row of each input; those of the inputs `optional` may be lacking
    MATCH = "match"  # a row of its first input, and the rows of its second that match it: one at least, unless that input is `optional`
    ABSENCE = "absence"  # a row of its first input that no row of its second matches
    GROUP = "group"  # all rows of equal `keys`
    WINDOW = "window"  # a row of its one input, and the rows of the partition that its `frames` hold
    KEPT = "kept"  # a row that its one input made before, in this query or another
    OPAQUE = "opaque"  # unknown rows and columns of its inputs


# Behaviours by the names of Spark's logical operators. Joins depend on the type, see below.
ASSUMED: Mapping[str, Behaviour] = {
    "Scan": Behaviour.SOURCE,
    **dict.fromkeys(("LocalRelation", "Range", "OneRowRelation"), Behaviour.CONSTANT),
    **dict.fromkeys(("Sort", "Repartition", "RepartitionByExpression", "RebalancePartitions", "Coalesce"), Behaviour.PASSES),
    **dict.fromkeys(("GlobalLimit", "LocalLimit", "WindowGroupLimit", "Offset", "Tail", "Sample"), Behaviour.PASSES),
    **dict.fromkeys(("SubqueryAlias", "ResolvedHint", "WithCTE", "CTERelationDef", "CTERelationRef"), Behaviour.PASSES),
    **dict.fromkeys(("ScalarSubquery", "Write", "WriteFiles"), Behaviour.PASSES),
    "Filter": Behaviour.FILTER,
    **dict.fromkeys(("Project", "PythonUDF", "BatchEvalPython", "ArrowEvalPython"), Behaviour.DEFINES),
    "Expand": Behaviour.BRANCHES,
    "Generate": Behaviour.GENERATES,
    "Union": Behaviour.UNION,
    "Aggregate": Behaviour.GROUP,
    **dict.fromkeys(
        ("FlatMapGroupsInPandas", "FlatMapGroupsInArrow", "FlatMapCoGroupsInPandas", "FlatMapCoGroupsInArrow"), Behaviour.GROUP
    ),
    "Window": Behaviour.WINDOW,
    **dict.fromkeys(("InMemoryRelation", "Checkpoint"), Behaviour.KEPT),
    **dict.fromkeys(("MapInPandas", "MapInArrow", "PythonMapInArrow", "BatchEvalPythonUDTF", "ArrowEvalPythonUDTF"), Behaviour.OPAQUE),
}

# Operators that pass every row. A manifest does not state it: other operators that pass rows may be limits or samples. An unknown name
# counts as one of these others.
_PASS_ALL = frozenset({
    "Sort", "Repartition", "RepartitionByExpression", "RebalancePartitions", "Coalesce", "SubqueryAlias", "ResolvedHint", "WithCTE",
    "CTERelationDef", "CTERelationRef", "CollectMetrics", "Write", "WriteFiles",
})  # fmt: skip

# Join types: what the join does, and which of its inputs may have no row.
ASSUMED_JOINS: Mapping[str, tuple[Behaviour, tuple[int, ...]]] = {
    **dict.fromkeys(("inner", "cross"), (Behaviour.JOIN, ())),
    **dict.fromkeys(("left", "left outer", "left single"), (Behaviour.JOIN, (1,))),
    **dict.fromkeys(("right", "right outer"), (Behaviour.JOIN, (0,))),
    **dict.fromkeys(("full", "full outer", "outer"), (Behaviour.JOIN, (0, 1))),
    "left semi": (Behaviour.MATCH, ()),
    "existence": (Behaviour.MATCH, (1,)),
    "left anti": (Behaviour.ABSENCE, ()),
}

# The least and the greatest number of inputs of a behaviour. None: no limit.
INPUTS: Mapping[Behaviour, tuple[int, int | None]] = {
    **dict.fromkeys((Behaviour.SOURCE, Behaviour.CONSTANT), (0, 0)),
    **dict.fromkeys((Behaviour.PASSES, Behaviour.KEPT), (0, 1)),
    **dict.fromkeys((Behaviour.FILTER, Behaviour.DEFINES, Behaviour.BRANCHES, Behaviour.GENERATES, Behaviour.WINDOW), (1, 1)),
    **dict.fromkeys((Behaviour.UNION, Behaviour.GROUP), (1, None)),
    Behaviour.JOIN: (2, None),
    **dict.fromkeys((Behaviour.MATCH, Behaviour.ABSENCE), (2, 2)),
    Behaviour.OPAQUE: (0, None),
}


def passes_all(name: str) -> bool:
    """Return whether an operator that passes rows passes every row of its input."""
    return name in _PASS_ALL


def assumed(name: str, how: str | None) -> tuple[Behaviour | None, tuple[int, ...]]:
    """Return the behaviour of an operator of an old manifest, and its inputs that may have no row. None if its name is unknown."""
    if name == "Join":
        return ASSUMED_JOINS.get(how or "", (None, ()))
    return ASSUMED.get(name), ()
