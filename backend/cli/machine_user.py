"""Returns the name of the person who runs a command."""

from __future__ import annotations

import os
import pwd


def machine_user() -> str:
    """Return the owner of this process from the user database, because anybody can set variables such as LOGNAME."""
    user = os.getuid()
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:  # a container without an entry for the user
        return str(user)
