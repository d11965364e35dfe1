"""The pairs that lie on a circle, against trying every way."""

from hypothesis import given
from hypothesis import strategies as st

from headwater.graph.prov.circles import on_circles

PAIRS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=25)


@given(PAIRS)
def test_a_pair_lies_on_a_circle_when_a_way_leads_back(pairs):
    following = {first: {second for start, second in pairs if start == first} for first in range(8)}

    def reaches(start: int, end: int) -> bool:
        seen, waiting = {start}, [start]
        while waiting:
            at = waiting.pop()
            if at == end:
                return True
            waiting += following[at] - seen
            seen |= following[at]
        return False

    assert on_circles(pairs) == [pair for pair in dict.fromkeys(pairs) if reaches(pair[1], pair[0])]


def test_a_long_chain_needs_no_deep_stack():
    chain = [(number, number + 1) for number in range(100_000)]
    assert on_circles(chain) == []
    assert len(on_circles([*chain, (100_000, 0)])) == 100_001
