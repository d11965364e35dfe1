"""The arms of a suite by turns in one JVM: two JVMs compile the same methods differently, which is more than what a case may cost."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

from bench.spark.arm import PLAIN, SparkArm
from bench.suite import Sample

_BUDGETS = {"active": 0.0, "auto": 1.0, "lazy": math.inf, "coarse": 0.0}


class Turns:
    """`arm` is a plain one; its JVM listens and rewrites only while it runs a case in another mode.

    What the listener's thread does after a query (its description, the spool) is not there: a suite's arms, of one JVM each, have it.
    """

    def __init__(self, arm: SparkArm, folder: Path) -> None:
        self._arm = arm
        self._segments = folder / "turns"
        self._rules = arm.spark._jsparkSession.experimental()  # noqa: SLF001  # PySpark has no public way to them
        self._before = self._rules.extraOptimizations()

    def run(self, name: str, case: str, turn: int) -> Sample:
        """Run a case plainly or in a mode. What earlier runs left in the heap is collected before the clock starts.

        Raises:
            RuntimeError: the case was not captured, so that the figures would compare plain with plain.
        """
        self._apply(self._before.take(0))
        bridge = None if name in PLAIN else self._bridge(name)
        try:
            jvm: Any = self._arm.spark.sparkContext._jvm  # noqa: SLF001  # nor to its JVM
            jvm.System.gc()
            sample = dict(self._arm.run(case, turn))
            if bridge is not None and name != "coarse":
                sample |= self._counted(bridge, case)
        finally:
            if bridge is not None:
                bridge.close()
            self._apply(self._before)
            shutil.rmtree(self._segments, ignore_errors=True)
        return sample

    def _apply(self, rules: Any) -> None:
        getattr(self._rules, "extraOptimizations_$eq")(rules)

    def _bridge(self, mode: str) -> Any:
        from headwater.spark_listener.capture import Bridge

        return Bridge.install(self._arm.spark, mode=mode, segments=str(self._segments), budget=_BUDGETS[mode])

    @staticmethod
    def _counted(bridge: Any, case: str) -> dict[str, float]:
        bridge.flush()
        manifests = [event["capture"] for event in bridge.drain(0) if event.get("capture")]
        if not manifests or any(manifest["status"] != "complete" for manifest in manifests):
            raise RuntimeError(f"{case} was not captured: {[manifest['problems'] for manifest in manifests]}")
        segments = [segment for manifest in manifests for segment in manifest["segments"]]
        return {
            "associations": float(sum(segment["rows"] for segment in segments)),
            "spooled_bytes": float(sum(segment["bytes"] for segment in segments)),
            "planning_ms": sum(float(manifest["cost"]["planning_ms"]) for manifest in manifests),
        }
