"""The share of sentences that are hard to follow stays below a limit in each folder (`python -m tests.house.prose --list 20 FOLDER`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.prose import count, is_hard, sentences

GOALS = {"python": 6, "java": 6, "typescript": 6, "markdown": 10}  # percent
_ALONE = ("bench", "capture", "examples", "graphql", "headwater", "scripts", "tests")


def _parts(root: Path) -> list[tuple[str, str]]:
    """The folders with their kinds of prose."""
    inner = [path for top in ("backend", "graph", "spark_listener") for path in (root / top).iterdir() if any(path.glob("**/*.py"))]
    python = [str(path.relative_to(root)) for path in inner if path.is_dir() and path.name != "jvm"]
    markdown = [path.name for path in root.glob("*.md")]
    return [
        *((part, "python") for part in (*python, *_ALONE)),
        *((part, "markdown") for part in (*markdown, "docs", "deploy", "examples")),
        ("spark_listener/jvm", "java"),
        ("ui/src", "typescript"),
    ]


def test_no_folder_has_more_sentences_that_are_hard_to_follow_than_its_limit(root: Path) -> None:
    over = []
    for part, kind in _parts(root):
        found, total = count(root / part, kind)
        limit = GOALS[kind]
        if len(found) > 1 and 100 * len(found) > limit * total:
            over.append(f"{part} ({kind}): {len(found)} of {total} sentences are flagged, at most {limit} % may be: {found[0][1]}")
    assert not over, "\n".join(over)


@pytest.mark.parametrize(
    "sentence",
    [
        "What it then does is written here.",
        "A file that nobody reads, of which the name is known.",
        "The node that has what a caller who asks may see.",
        "The worker reads " + "one more entry of the log and " * 5 + "ends.",
    ],
)
def test_hard_sentences_are_found(sentence: str) -> None:
    assert is_hard(sentence)


def test_plain_sentences_pass() -> None:
    text = "Return the files of a dataset, newest first. Files without a run come last.\n\n    Those `that` are in examples do not count."
    assert [is_hard(sentence) for sentence in sentences(text)][:2] == [False, False]
