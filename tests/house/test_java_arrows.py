"""The folders of Java sources: each is its package, they use each other as ARCHITECTURE.md says, and never in a circle."""

from __future__ import annotations

import graphlib
import re
from collections import defaultdict
from pathlib import Path

_TOLD = re.compile(r"^\| `jvm/(\w+)` \| [^|]* \| ([^|]*) \|$", re.MULTILINE)
_USES = re.compile(r"\bheadwater\.(\w+)\.(?:\w+\.)*[A-Z]\w*")
_ASIDE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def _sources(root: Path) -> dict[Path, str]:
    folder = root / "spark_listener" / "jvm"
    return {path.relative_to(folder): path.read_text(encoding="utf-8") for path in folder.rglob("*.java")}


def _arrows(sources: dict[Path, str]) -> dict[str, set[str]]:
    """The folders at the top that each of them uses."""
    result: dict[str, set[str]] = defaultdict(set)
    for path, text in sources.items():
        result[path.parts[0]] |= set(_USES.findall(_ASIDE.sub(" ", text))) - {path.parts[0]}
    return dict(result)


def test_a_package_is_a_folder(root: Path) -> None:
    sources = _sources(root)
    assert len(sources) > 100
    for path, text in sources.items():
        folder = path.parent.parts[:1] if path.match("shim/v*/*.java") else path.parent.parts  # one of them is taken, in the place of shim
        assert text.startswith(f"package headwater.{'.'.join(folder)};\n"), path


def test_every_line_of_spark_has_the_same_classes(root: Path) -> None:
    lines: dict[str, set[str]] = defaultdict(set)
    for path in _sources(root):
        if path.match("shim/v*/*.java"):
            lines[path.parts[1]].add(path.name)
    assert lines["v41"]
    assert all(classes == lines["v41"] for classes in lines.values())


def test_sources_elsewhere_import_what_there_is(root: Path) -> None:
    classes = {f"headwater.{'.'.join(path.with_suffix('').parts)}" for path in _sources(root)}
    others = [path for folder in ("bench", "tests") for path in (root / folder).rglob("*.java")]
    assert others
    for path in others:
        assert set(re.findall(r"^import (headwater\.[\w.]+);", path.read_text(encoding="utf-8"), re.MULTILINE)) <= classes, path


def test_folders_use_each_other_as_the_architecture_says(root: Path) -> None:
    told = {name: set(re.findall(r"`(\w+)`", uses)) for name, uses in _TOLD.findall((root / "ARCHITECTURE.md").read_text(encoding="utf-8"))}
    assert _arrows(_sources(root)) == told


def test_nothing_below_the_families_knows_a_family(root: Path) -> None:
    """A new family is a new file and a line in their list: what they are made of asks for one by `FamilyList`."""
    rooms = {path: text for path, text in _sources(root).items() if path.parts[:1] == ("rewrite",) and path.parts[1] != "families"}
    assert len(rooms) > 50
    assert not [path for path, text in rooms.items() if "headwater.rewrite.families." in _ASIDE.sub(" ", text)]


def test_no_folder_uses_itself_by_way_of_others(root: Path) -> None:
    graphlib.TopologicalSorter(_arrows(_sources(root))).prepare()  # raises where there is a circle


def test_a_circle_would_be_found() -> None:
    sources = {
        Path("rewrite/core/Rule.java"): "import headwater.listen.Captures;",
        Path("listen/Captures.java"): "class Captures { headwater.rewrite.core.Rule rule; }",
    }
    assert _arrows(sources) == {"rewrite": {"listen"}, "listen": {"rewrite"}}
