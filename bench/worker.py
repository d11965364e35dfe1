"""A worker process runs one arm and answers line by line. The harness starts it as `python -m bench.worker SUITE ARM FOLDER FD SCALE`.

It reads JSON from standard input and writes one JSON line for each to the descriptor FD. Standard output is free for the arm:

    {"run": "clean", "turn": 3}   →   {"sample": {"seconds": 4.2}}   or   {"error": "…"}
    end of input                  →   the arm is closed and the process ends

The first line that it writes is {"ready": true}.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any, TextIO

from bench.run import load
from bench.suite import Arm, PairedSuite


def serve(arm: Arm, requests: TextIO, replies: TextIO) -> None:
    """Answer until the input ends. An arm's error is sent as an answer, because the harness decides how to react."""

    def reply(content: dict[str, Any]) -> None:
        replies.write(json.dumps(content) + "\n")
        replies.flush()

    reply({"ready": True})
    for line in requests:
        request = json.loads(line)
        try:
            reply({"sample": dict(arm.run(request["run"], request["turn"]))})
        except Exception:  # noqa: BLE001  # whatever a case raises is the harness's to report
            reply({"error": traceback.format_exc()})


def main(suite: str, arm_name: str, folder: str, descriptor: str, scale: str) -> None:
    with os.fdopen(int(descriptor), "w", encoding="utf-8") as replies:
        loaded = load(suite, float(scale) if scale else None)
        if isinstance(loaded, PairedSuite):
            raise TypeError(f"The arms of {suite} take turns in one process; bench.pairs runs them.")
        arm = loaded.arm(arm_name, Path(folder))
        try:
            serve(arm, sys.stdin, replies)
        finally:
            arm.close()


if __name__ == "__main__":
    main(*sys.argv[1:6])
