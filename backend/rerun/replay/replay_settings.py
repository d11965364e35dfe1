"""The operator's settings of replays: `replay.toml` of the home.

    [commit]
    approval = true          # a second person must approve a replay before somebody commits it

If the file cannot be read, commits are refused.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from headwater.errors import ConfigurationError

FILE = "replay.toml"


class CommitSettings(BaseModel):
    """Settings of commits. With `approval`, a person who neither started nor commits the replay must approve it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    approval: bool = False


class ReplaySettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    commit: CommitSettings = CommitSettings()

    @classmethod
    def of_home(cls, home: Path) -> ReplaySettings:
        """Read the settings of a home. Without a file, the defaults apply.

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
