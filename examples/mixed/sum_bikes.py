"""Step 2 of 3, with pandas: a line for each bike, from the part files that Spark wrote.

python sum_bikes.py CLEAN BIKES.csv
"""

import sys
from pathlib import Path

import pandas as pd

from headwater.capture import Session

folder, result = Path(sys.argv[1]), Path(sys.argv[2])
with Session("sum_bikes") as session:
    actor = session.register("sum", "pandas")
    parts = []
    for path in sorted(folder.glob("part-*.csv")):
        records = session.rows(path, options={"header": True}, dataset=folder)
        part = pd.read_csv(path)
        part["record"] = [records[row] for row in range(len(part))]  # the input record of a row, kept through the pandas steps
        parts.append(part)
    trips = pd.concat(parts)
    bikes = trips.groupby("bike", sort=True).agg(trips=("km", "size"), km=("km", "sum"), fastest=("speed", "max"), made_of=("record", list))
    target = session.rows(result, options={"header": True})
    for row, made_of in enumerate(bikes["made_of"]):
        actor.capture_all(made_of, target[row])
    bikes.drop(columns="made_of").to_csv(result)
    actor.commit()
