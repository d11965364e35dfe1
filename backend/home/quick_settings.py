"""The settings for opening a home, without pydantic if the environment sets none of them.

For short commands: loading the full settings takes a quarter of their time.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from headwater.backend.home.default_settings import DefaultSettings
from headwater.backend.home.folder import Home

if TYPE_CHECKING:
    from headwater.backend.home.settings import Settings

_PREFIX = "HEADWATER_"
_NOT_HERE = frozenset({"HEADWATER_HOME", "HEADWATER_DEBUG", "HEADWATER_URL"})  # not settings, or read here

HomeSettings: TypeAlias = "DefaultSettings | Settings"


def settings_of(home: str | os.PathLike[str] | None) -> HomeSettings:
    """The settings of a home, by default of the home in the environment.

    Raises:
        ConfigurationError: a variable has an invalid value; the message names it.
    """
    stated = {name for name in os.environ if name.upper().startswith(_PREFIX)} - _NOT_HERE  # a variable's name may be in any case
    if not stated and (home is not None or os.environ.get("HEADWATER_HOME") != ""):
        return DefaultSettings(Home.at(home))
    from headwater.backend.home.settings import load_settings

    return load_settings(home=home)
