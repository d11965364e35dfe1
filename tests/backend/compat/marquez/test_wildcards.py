"""Patterns with `%` and `_`: what fits, and that no pattern takes long."""

from __future__ import annotations

import re
import time

from hypothesis import given
from hypothesis import strategies as st

from headwater.backend.compat.marquez.wildcards import Wildcards, literals


@given(st.text("ab\n%_", max_size=8), st.text("ab\n_%", max_size=12))
def test_a_pattern_fits_what_the_regular_expression_of_the_same_meaning_finds(pattern: str, name: str) -> None:
    meaning = "".join({"%": ".*", "_": "."}.get(letter, re.escape(letter)) for letter in pattern)
    assert Wildcards(pattern).fits(name) == bool(re.search(meaning, name, re.DOTALL))


def test_no_pattern_takes_long_on_long_names() -> None:
    names = ["ab" * 250] * 20
    for pattern in ("a" + "%_" * 90 + "%#", "_" * 199 + "#", "a_" * 99 + "#", "%a" * 99 + "#", "a_%" * 66 + "#"):
        began = time.process_time()
        assert not any(Wildcards(pattern).fitting(names)), pattern
        assert time.process_time() - began < 2, pattern  # milliseconds, where the machine is quiet


def test_literals_are_the_texts_between_wildcards() -> None:
    assert literals("a%b_c") == ["a", "b", "c"]
    assert literals("%") == ["", ""]
