"""Approvals of commits by a second person, if `replay.toml` requires them. The replay's folder stores them as `approval.json`.

A person is the name of a key, of a signed-in person, or of a user of this machine. Nobody can approve a replay that they started or commit.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel

from headwater.backend.rerun.replay.model import Replay, ReplayState
from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.records.atomic_files import write_durably

_FILE = "approval.json"


class Approval(BaseModel):
    """The approval of a replay's commit: the person, and the time (ISO 8601, UTC)."""

    by: str
    at: str


def approve(replay: Replay, folder: Path, by: str) -> Approval:
    """Approve the commit of a complete replay. `folder` is the replay's folder.

    Raises:
        InvalidQueryError: the replay is not complete.
        UnsupportedError: this person started the replay.
    """
    if replay.state is not ReplayState.COMPLETE:
        raise InvalidQueryError(f"The replay {replay.id} is {replay.state}; only a complete one can be approved.", field="id")
    if by == replay.started_by:
        raise UnsupportedError(f"{by} started the replay {replay.id}, so somebody else must approve it.")
    approval = Approval(by=by, at=datetime.now(UTC).isoformat(timespec="milliseconds"))
    write_durably(folder / _FILE, approval.model_dump_json().encode())
    return approval


def load_approval(folder: Path) -> Approval | None:
    try:
        return Approval.model_validate_json((folder / _FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def check_approved(replay: Replay, folder: Path, by: str) -> None:
    """Check that a person other than `by` has approved the commit of a replay.

    Raises:
        UnsupportedError: the approval is missing, or is from the same person.
    """
    approval = load_approval(folder)
    if approval is None:
        raise UnsupportedError(
            f"A second person must approve the replay {replay.id} before its commit.",
            hint=f"For example: headwater replay approve {replay.id}",
        )
    if approval.by == by:
        raise UnsupportedError(f"{by} approved the replay {replay.id}, so somebody else must commit it.")
