"""The name of the person who types a command."""

from __future__ import annotations

import os
import pwd


def machine_user() -> str:
    """Return the name of the user whose process this is, by the system's table. Variables such as LOGNAME could name anybody."""
    user = os.getuid()
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:  # a container without an entry for the user
        return str(user)
