"""Every entry of a table that names modules to load later can be loaded: a wrong name would show only when a user needs the entry."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import pytest

import headwater
from headwater.backend.cli.main import _COMMANDS as COMMANDS
from headwater.backend.intakes.settings import KINDS as INTAKES
from headwater.backend.rerun.replay.kinds import KINDS as REPLAYS
from headwater.graph import trace
from headwater.graph.files.formats import FORMAT_MODULES, get_format
from headwater.graph.storage import remote


def _entries() -> Iterator[tuple[str, str]]:
    """The module and the name of every entry."""
    for package, table in (
        ("headwater.graph.files.formats", FORMAT_MODULES),
        ("headwater.graph.storage", remote._STORES),
        ("headwater.backend.rerun.replay.kinds", REPLAYS),
    ):
        for entry in table.values():
            module, _, name = entry.partition(":")
            yield f"{package}.{module}", name
    yield from INTAKES.values()
    yield from ((module, name) for name, module in headwater._LAZY.items())
    yield from ((f"headwater.graph.trace.{module}", name) for name, module in trace._LAZY.items())
    yield from ((command.module, "app") for command in COMMANDS.values())


@pytest.mark.parametrize(("module", "name"), sorted(set(_entries())))
def test_an_entry_can_be_loaded(module: str, name: str) -> None:
    assert callable(getattr(import_module(module), name))


@pytest.mark.parametrize("name", sorted(FORMAT_MODULES))
def test_a_format_has_the_name_by_which_it_is_found(name: str) -> None:
    assert get_format(name).name == name
