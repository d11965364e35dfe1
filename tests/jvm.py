"""How tests start Spark: options of the JVM for sessions that live for seconds and see tiny tables.

The second compiler and a parallel collector cost more than such a session can earn back. Neither changes what a query answers.
"""

from __future__ import annotations

_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def submit(options: str = "") -> str:
    """A value for PYSPARK_SUBMIT_ARGS; `options` are more of spark-submit."""
    return f"--driver-memory 1g --driver-java-options '{_JAVA}' {options} pyspark-shell"
