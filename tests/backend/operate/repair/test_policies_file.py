"""A damaged `policies.db` is found by every check and moved aside by the repair, and a sound one is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.operate.repair.home import _policies
from headwater.backend.operate.soundness.files import all_faults, quick_faults
from headwater.backend.policies.store import open_policy_store
from headwater.backend.triggers.store.registry import open_store


@pytest.mark.parametrize("content", [b"no database" * 1000, b""])
def test_a_damaged_file_of_policies_is_found_and_moved_aside(tmp_path: Path, content: bytes) -> None:
    settings = load_settings(home=tmp_path / "home")
    home = settings.folder
    home.path.mkdir(parents=True, exist_ok=True)
    assert not [fault for fault in quick_faults(settings) if fault.part == "policies"], "a missing file is no fault"
    home.policies.write_bytes(content)
    for find in (quick_faults, all_faults):
        (fault,) = [fault for fault in find(settings) if fault.part == "policies"]
        assert fault.path == home.policies
    (repair,) = _policies(home, [fault])
    assert "policies" in str(repair.lost)
    assert not home.policies.exists()
    assert [path.read_bytes() for path in home.path.glob("policies.db*")] == [content]


def test_new_files_of_policies_and_triggers_have_all_tables(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home")
    settings.folder.create()
    for open_new in (open_policy_store, open_store):
        open_new(settings).close()
    assert settings.folder.policies.exists()
    assert settings.folder.triggers.exists()
    for find in (quick_faults, all_faults):
        assert not [fault for fault in find(settings) if fault.part in ("policies", "triggers")]
