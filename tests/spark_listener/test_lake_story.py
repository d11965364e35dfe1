"""examples/lake: its one command reports the true story of a wrong number on Iceberg tables in an S3 bucket."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

pytestmark = [
    pytest.mark.lake,
    pytest.mark.slow,
    pytest.mark.torture,  # test_lake_chain.py goes the same way in one program
    pytest.mark.timeout(1800),
    pytest.mark.xdist_group("s3a"),
    pytest.mark.skipif(not pyspark.__version__.startswith("4.1."), reason="the connector is that of Spark 4.1"),
]


def test_a_wrong_number_is_traced_through_a_compacted_table_to_its_line_and_repaired(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "examples/lake/story.py"], cwd=root, env=dict(os.environ), capture_output=True, text=True, timeout=1700
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = [line.strip() for line in done.stdout.splitlines() if line.startswith("  ")]
    line, record, influence, repaired = told
    assert "s3://lake/raw/weather.csv, line 1011:" in line
    assert '"wind_speed": 1048.36058' in line or '"wind_speed": "1048.36058"' in line
    assert "/warehouse/nyc/weather/data/origin=EWR/" in record
    assert '"day": 12, "hour": 3, "wind_speed": 1048.36058' in record
    assert influence == "In all, 669 lines had a part in that row (exact)."
    assert "weather.csv" in repaired
    assert "1048" not in repaired
    assert "(exact)" in record
