"""The records that a replay keeps or excludes, whatever the format, the number of records, and the files without any."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark_listener.spark import environment, run

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.mark.slow
def test_a_replay_reads_exactly_the_chosen_records(tmp_path: Path, root: Path) -> None:
    done = run(["-m", "tests.spark_listener.kept_records", str(tmp_path)], root, environment(root))
    assert done.stdout.splitlines() == ["done"], done.stderr[-3000:]
