"""Names are matched alike one by one and by the thousand."""

from __future__ import annotations

from fnmatch import fnmatch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headwater.graph.views import patterns

NAMES = st.text(st.sampled_from(list("abAB01_-./\\ \n+^$(){}|[]#&~éK\u212aß\u017f")), max_size=6)
PATTERNS = st.text(st.sampled_from(list("abA0_-./\\ \n+^$(){}|#&~*?*?[]!kS")), min_size=1, max_size=5)


@given(st.lists(PATTERNS, min_size=1, max_size=3), st.lists(NAMES, max_size=8))
@example(["*K*"], ["\u212a"])  # the sign for Kelvin is a K in small letters, to one tool and not to the other
@example(["a?b", "tmp_*"], ["a\nb", "TMP_1", "x"])
def test_names_by_the_thousand_match_as_each_does(values: list[str], names: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patterns, "_FEW", -1)
        assert patterns.all_like(tuple(values), names) == [patterns.like(tuple(values), name) for name in names]


@given(PATTERNS, st.text("abAB01_. \n", max_size=6))
def test_a_pattern_means_what_it_does_to_file_names_whatever_the_case(value: str, name: str) -> None:
    assert patterns.like((value,), name) == fnmatch(name.lower(), value.lower())


def test_more_patterns_than_there_is_room_for_in_one_expression() -> None:
    values = tuple(f"{number:05}{'x' * 37}*" for number in range(20_000))
    names = [values[7][:-1], *(f"other{number}" for number in range(100))]
    assert patterns.all_like(values, names) == [True] + [False] * 100
