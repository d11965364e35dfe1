"""Count the weather observations of each station, straight from the text: an RDD program.

Usage: station_counts.py RAW OUT
"""

import shutil
import sys
from operator import add
from pathlib import Path

from pyspark import SparkContext


def main(raw: str, out: str) -> None:
    target = Path(out) / "station_counts"
    shutil.rmtree(target, ignore_errors=True)  # Hadoop's text output refuses to overwrite
    sc = SparkContext(appName="station_counts")
    lines = sc.textFile(f"{raw}/weather.csv").filter(lambda line: not line.startswith("origin,"))
    counts = lines.map(lambda line: (line.split(",", 1)[0], 1)).reduceByKey(add)
    counts.map(lambda pair: f"{pair[0]}\t{pair[1]}").saveAsTextFile(str(target))
    sc.stop()


if __name__ == "__main__":
    main(*sys.argv[1:3])
