"""The file of a kept manifest: compressed, or the plain text of an earlier release."""

import gzip
import json

import pytest

from headwater.errors import DamagedError
from headwater.graph.records.layout import MANIFEST, manifest_text, pack_manifest, read_manifest, read_sized_manifest
from tests.graph.jobs import TENANT


@pytest.fixture
def published(staged):
    store, manifest = staged
    store.publish(TENANT, manifest)
    return store.table(TENANT, manifest.capture, 0).parent, manifest


def test_a_kept_manifest_is_compressed(published) -> None:
    folder, manifest = published
    content = (folder / MANIFEST).read_bytes()
    assert content == pack_manifest(manifest)
    assert gzip.decompress(content) == manifest_text(manifest)
    assert len(content) < len(manifest_text(manifest)) / 2
    assert read_sized_manifest(folder, MANIFEST) == (manifest, len(manifest_text(manifest)))


def test_a_manifest_of_an_earlier_release_is_read(published) -> None:
    folder, manifest = published
    (folder / "digests.json").unlink()  # as in the first releases
    (folder / MANIFEST).write_text(json.dumps(manifest.to_json()))
    assert read_manifest(folder) == manifest


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: content + b" ",
        lambda content: content + content,
        lambda content: content[:30] + bytes([content[30] ^ 1]) + content[31:],
        lambda content: gzip.compress(gzip.decompress(content)[:-1]),
    ],
)
def test_a_damaged_manifest_is_reported(published, damage) -> None:
    folder, _ = published
    (folder / "digests.json").unlink()
    (folder / MANIFEST).write_bytes(damage((folder / MANIFEST).read_bytes()))
    with pytest.raises(DamagedError, match=MANIFEST):
        read_manifest(folder)


def test_a_text_beyond_the_limit_is_damage(published, monkeypatch) -> None:
    folder, manifest = published
    monkeypatch.setattr("headwater.graph.records.layout._MOST_TEXT", len(manifest_text(manifest)) - 1)
    with pytest.raises(DamagedError):
        read_manifest(folder)
