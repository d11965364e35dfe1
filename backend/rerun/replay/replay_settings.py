"""The operator's settings of replays: `replay.toml` of the home.

    [commit]
    approval = true          # a second person must approve a replay before somebody commits it

Runners are tables of the same file; see `runners`. A file that cannot be read refuses what it is about: a commit, or another runner than
this machine.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from headwater.errors import ConfigurationError

FILE = "replay.toml"


class CommitSettings(BaseModel):
    """`approval`: a commit needs the approval of a person who neither started nor commits the replay."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    approval: bool = False


class ReplaySettings(BaseModel):
    """The content of `replay.toml`. `runners` maps the names of runners to their settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    commit: CommitSettings = CommitSettings()
    runners: Mapping[str, Mapping[str, Any]] = {}

    @classmethod
    def of_home(cls, home: Path) -> ReplaySettings:
        """Read the settings of a home; the defaults where there is no file.

        Raises:
            ConfigurationError: the file is invalid.
        """
        file = home / FILE
        try:
            return cls.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError, ValidationError) as error:
            raise ConfigurationError(f"{file} cannot be used: {error}", hint="docs/guide/replay.md shows an example.") from error
