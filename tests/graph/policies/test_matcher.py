"""A matcher gives for each node the selectors that fit it, as each selector says by itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headwater.graph.model import Node, NodeKind, kind_of, node_id
from headwater.graph.policies.matcher import Matcher
from headwater.graph.policies.selector import Selector

_LETTERS = st.text(alphabet="aAbs/.\u017f\u212akK", min_size=1, max_size=4)  # two letters that equal ASCII letters where case is ignored
_PATTERNS = st.text(alphabet="aAbskK/.*?[]\u017f\u212a", min_size=1, max_size=4)
_SELECTORS = st.dictionaries(st.sampled_from(["dataset", "column", "namespace"]), _PATTERNS, min_size=1)


@given(
    st.lists(_SELECTORS | st.fixed_dictionaries({"job": _PATTERNS}), min_size=1, max_size=8),
    st.lists(st.tuples(_LETTERS, _LETTERS, _LETTERS)),
)
def test_a_node_fits_the_selectors_that_say_so(stated: list[dict[str, str]], names: list[tuple[str, str, str]]) -> None:
    selectors = [Selector.parse(each, "$") for each in stated]
    matcher = Matcher(selectors)
    for namespace, name, column in names:
        for identifier in (
            node_id(NodeKind.DATASET, namespace, name),
            node_id(NodeKind.JOB, namespace, name),
            node_id(NodeKind.COLUMN, namespace, name, column),
        ):
            fitting = [selector for selector in selectors if selector.fits_id(identifier)]
            assert matcher.mask(Node(identifier, kind_of(identifier), name), lambda _: ()) == matcher.bits(fitting)
