"""Prints the path of the launcher, for spark-submit: `spark-submit "$(python -m headwater.spark_listener)" job.py`."""

import sys

from headwater.spark_listener import launch

if __name__ == "__main__":
    sys.stdout.write(f"{launch.__file__}\n")
