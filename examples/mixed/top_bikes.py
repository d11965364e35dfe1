"""Step 3 of 3, in the shell: the three bikes with the most kilometres, without broken ones. `nl` numbers the lines for lineage.

python top_bikes.py BIKES.csv TOP.txt
"""

import subprocess
import sys
from pathlib import Path

from headwater.capture import Session

STEP = "tail -n +2 {} | nl -v 0 -w 1 -s , | grep -v ',broken' | sort -t , -k 4,4nr -k 2,2 | head -n 3"  # row, bike, trips, km, fastest

source, target = Path(sys.argv[1]), Path(sys.argv[2])
with Session("top_bikes") as session:
    actor = session.register("top", "shell")
    read, written = session.rows(source, options={"header": True}), session.rows(target)
    done = subprocess.run(["sh", "-c", STEP.format('"$1"'), "sh", source], check=True, capture_output=True, text=True)
    with target.open("w", encoding="utf-8") as file:
        for place, line in enumerate(done.stdout.splitlines()):
            row, rest = line.split(",", 1)
            file.write(f"{rest}\n")
            actor.capture(read[int(row)], written[place])
    actor.commit()
