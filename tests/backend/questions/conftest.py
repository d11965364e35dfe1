"""A pool over a home in which one job copied a small CSV file, and its questions as one caller asks them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.home.settings import Settings, load_settings
from headwater.backend.questions import QuestionPool
from headwater.graph.records import AssociationStore
from headwater.graph.records.roots import ANYWHERE
from headwater.graph.records.slow_tables import WantedTables
from tests.graph.trace.small import ROWS, copy

Opened = Callable[..., Any]

# A lawful predicate that takes DuckDB minutes over one text of 20,000 letters, and that it does not leave when it is interrupted.
HARD = " OR ".join(f"regexp_matches(k, '[^b]{{900}}b|(a.{{900}})b$|{n}')" for n in range(150))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home that knows of `out`, a copy of `raw.csv`."""
    settings = load_settings(home=tmp_path / "home")
    raw = tmp_path / "data" / "raw.csv"
    raw.parent.mkdir()
    raw.write_text("k,v\n" + "".join(f"{k},{'NA' if v is None else v}\n" for k, v in [*ROWS, ["a" * 20_000, 0]]))
    store = AssociationStore(settings.folder.create().associations, sources=ANYWHERE)
    copy(store, raw, tmp_path / "data" / "out", 1)
    store.close()
    return tmp_path / "home"


@pytest.fixture
def opened(home: Path) -> Opened:
    """Opens a pool over the home, with settings of its own."""

    @asynccontextmanager
    async def open_pool(**options: Any) -> AsyncIterator[QuestionPool]:
        settings: Settings = load_settings(home=home, data_roots=[home.parent / "data"], **options)
        pool = QuestionPool(settings, WantedTables())
        try:
            yield pool
        finally:
            await pool.close()

    return open_pool
