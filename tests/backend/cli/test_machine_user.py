"""The name of the person who types a command."""

from __future__ import annotations

import os
import pwd

import pytest

from headwater.backend.cli.machine_user import machine_user


def test_no_variable_names_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME", "SUDO_USER"):
        monkeypatch.setenv(name, "somebody-else")
    assert machine_user() == pwd.getpwuid(os.getuid()).pw_name
