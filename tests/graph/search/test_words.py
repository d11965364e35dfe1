"""Typing errors in words: the parts of a misspelling find each word that it may mean."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headwater.graph.search.words import allowed_edits, edits, pieces

LETTERS = "abcde"


@st.composite
def misspellings(draw: st.DrawFn) -> tuple[str, str]:
    """A word, and what somebody typed instead, with as many errors as are forgiven: a wrong, missing, additional or swapped letter."""
    word = typed = draw(st.text(LETTERS, min_size=5, max_size=14))
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(typed) - 2))
        letter = draw(st.sampled_from(LETTERS))
        typed = draw(
            st.sampled_from([
                typed[:place] + letter + typed[place + 1 :],
                typed[:place] + typed[place + 1 :],
                typed[:place] + letter + typed[place:],
                typed[:place] + typed[place + 1] + typed[place] + typed[place + 2 :],
            ])
        )  # fmt: skip
    return word, typed


@given(misspellings())
def test_a_word_contains_a_part_of_each_misspelling(words: tuple[str, str]) -> None:
    word, typed = words
    if edits(typed, word, 2) <= allowed_edits(typed):
        assert any(piece in word for piece in pieces(typed)), list(pieces(typed))


def test_letters_that_are_swapped_across_two_parts_are_found() -> None:
    assert "reve" in pieces("revneue")
