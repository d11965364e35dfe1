"""Print the path of the launcher, for spark-submit: `spark-submit "$(python -m headwater.spark_listener)" job.py`.

With `--site`, print a folder. If PYTHONPATH has this folder, `spark.headwater.enabled` turns capture on.
"""

import sys
from pathlib import Path

from headwater.spark_listener import launch

if __name__ == "__main__":
    launcher = Path(launch.__file__)
    sys.stdout.write(f"{launcher.parent / 'site' if '--site' in sys.argv[1:] else launcher}\n")
