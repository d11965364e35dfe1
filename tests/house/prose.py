"""Finds sentences that are hard to follow, in docstrings, comments and Markdown.

    python -m tests.house.prose FOLDER…              # the share of flagged sentences in each folder
    python -m tests.house.prose --list 20 FOLDER…    # and the first places

A sentence is flagged if it begins with a word that hides its subject, contains an unusual phrase, has more than 25 words, or has more than
two words like `that` and `which`. Code in backticks counts as one word.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

KINDS = {".py": "python", ".java": "java", ".ts": "typescript", ".tsx": "typescript", ".md": "markdown"}
_SKIPPED = {"node_modules", "generated", "page", "__pycache__", "results"}
_MOST_WORDS = 25
_MOST_CLAUSES = 2
_NO_SUBJECT = re.compile(r"(?:What|Who|Those|Such|It|They|How many|How much|Of|Which|The same)\b")
_PHRASE = re.compile(r"\b(?:of which|by which|whose own|that is none|beside|tells|told|stands in)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"\b(?:that|which|where|what|whose|who)\b", re.IGNORECASE)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_END = re.compile(r"(?<=[.:;!?])\s+(?=[A-Z`x])")
_JAVA_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*+(.*?)\*/|//([^\n]*)', re.DOTALL)
_DIRECTIVE = re.compile(r"(?:noqa|type:|fmt:|mypy:|biome-ignore|@ts-|eslint|<reference)")


def sentences(text: str) -> Iterator[str]:
    """The sentences of prose, without indented examples."""
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line for line in paragraph.splitlines() if not re.match(r"\s*(?:\||```|>>>|[$#]\s)", line)]
        plain = _CODE.sub("x", _LINK.sub(r"\1", " ".join(line.strip(" *-\t") for line in lines)))
        yield from (part for part in _END.split(plain) if len(part.split()) > 2)


def is_hard(sentence: str) -> bool:
    """Whether a sentence breaks a rule."""
    return bool(
        _NO_SUBJECT.match(sentence)
        or _PHRASE.search(sentence)
        or len(sentence.split()) > _MOST_WORDS
        or len(_CLAUSE.findall(sentence)) > _MOST_CLAUSES
    )


def texts(path: Path) -> Iterator[str]:
    """The docstrings and comments of a source file, or the prose of a Markdown file."""
    source = path.read_text(encoding="utf-8")
    kind = KINDS[path.suffix]
    if kind == "python":
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (text := ast.get_docstring(node)):
                yield re.sub(r"^ {4,}.*$", "", text, flags=re.MULTILINE)
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT and not _DIRECTIVE.search(token.string):
                yield token.string.lstrip("#! ")
    elif kind == "markdown":
        yield re.sub(r"```.*?```", "", source, flags=re.DOTALL)
    else:
        for found in _JAVA_COMMENT.finditer(source):
            if (text := found[1] or found[2]) and not _DIRECTIVE.search(text):
                yield re.sub(r"<[^>]*>|\{@\w+ ([^}]*)\}", r"\1", text)


def files(folder: Path) -> Iterator[Path]:
    """The files with prose below a folder, or the file itself."""
    found = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    yield from (path for path in found if path.suffix in KINDS and not _SKIPPED & set(path.parts))


def count(folder: Path, kind: str | None = None) -> tuple[list[tuple[Path, str]], int]:
    """The flagged sentences below a folder with their files, and the number of all sentences."""
    found, total = [], 0
    for path in files(folder):
        if kind in (None, KINDS[path.suffix]):
            for text in texts(path):
                for sentence in sentences(text):
                    total += 1
                    if is_hard(sentence):
                        found.append((path, sentence))
    return found, total


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", type=int, default=0, metavar="N", help="print the first N flagged sentences of each folder")
    parser.add_argument("folders", nargs="+", type=Path)
    options = parser.parse_args()
    for folder in options.folders:
        found, total = count(folder)
        sys.stdout.write(f"{100 * len(found) / max(total, 1):5.1f} %  {len(found)} of {total}  {folder}\n")
        for path, sentence in found[: options.list]:
            sys.stdout.write(f"    {path}: {sentence}\n")


if __name__ == "__main__":
    main()
