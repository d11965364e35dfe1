"""The settings for opening a home. pydantic is not loaded if the environment sets none of them.

Loading the full settings would take a quarter of the time of short commands.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from headwater.backend.home.default_settings import DefaultSettings
from headwater.backend.home.folder import Home

if TYPE_CHECKING:
    from headwater.backend.home.settings import Settings

_PREFIX = "HEADWATER_"
_NOT_HERE = frozenset({"HEADWATER_HOME", "HEADWATER_DEBUG", "HEADWATER_URL"})  # these are not settings, or this module reads them

HomeSettings: TypeAlias = "DefaultSettings | Settings"


def settings_of(home: str | os.PathLike[str] | None) -> HomeSettings:
    """Return the settings of a home, by default of the home in the environment.

    Raises:
        ConfigurationError: a variable has an invalid value. The message names it.
    """
    stated = {name for name in os.environ if name.upper().startswith(_PREFIX)} - _NOT_HERE  # names of variables may be in any case
    if not stated and (home is not None or os.environ.get("HEADWATER_HOME") != ""):
        return DefaultSettings(Home.at(home))
    from headwater.backend.home.settings import load_settings

    return load_settings(home=home)
