"""Finding a store by its URL."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from headwater.errors import ConfigurationError, MissingExtraError
from headwater.graph.stores import open_store


@pytest.mark.parametrize("url", ["", "graph.db", "postgresql://x", "sqlite://", "sqlite:///", "neo4j://", "neo4j:///db"])
def test_a_url_without_a_store_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"sqlite:///|neo4j://"):
        open_store(url)


def test_a_refusal_keeps_the_password_to_itself() -> None:
    with pytest.raises(ConfigurationError) as refusal:
        open_store("mongodb://admin:hunter2@host/db")
    assert "hunter2" not in str(refusal.value)


async def test_a_path_with_blanks_is_taken(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/my%20graph.db")
    await store.open()
    await store.close()
    assert (tmp_path / "my graph.db").exists()


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("headwater.graph.stores.neo4j")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "neo4j", None)
    with pytest.raises(MissingExtraError, match=r'pip install "headwater\[neo4j\]"'):
        open_store("neo4j://localhost:7687")


def test_the_registry_imports_no_driver_by_itself() -> None:
    importlib.import_module("headwater.graph.stores")
    assert "neo4j" not in vars(sys.modules["headwater.graph.stores.registry"])
