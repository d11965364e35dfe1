"""No reader of a body takes much more than twice the time when the body doubles, however the body is made."""

from __future__ import annotations

import pytest

from headwater.backend.intake.prov import read_provenance
from tests.backend.intake.families import PROV
from tests.backend.intake.growth import MOST, Make, Read, growth

READERS: dict[str, tuple[Read, Make]] = {f"PROV: {name}": (read_provenance, make) for name, make in PROV.items()}
_SIZE = 3_000  # bytes of the smaller body
# Each of these took four times as long when it doubled, for a cause of its own. `make torture` tries the others, too.
_TELLING = {
    "PROV: one record, other attributes", "PROV: a chain of specialized entities", "PROV: a star of makers and readers",
    "PROV: a text that does not end", "PROV: comments that do not end", "PROV: bundles", "PROV: some prefixes, many bundles",
}  # fmt: skip


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in _TELLING else pytest.mark.torture) for name in READERS])
def test_twice_the_input_takes_about_twice_the_time(name: str) -> None:
    assert growth(*READERS[name], _SIZE) <= MOST


def test_the_quick_selection_names_families() -> None:
    assert READERS.keys() >= _TELLING


def test_a_reader_that_grows_with_the_square_is_noticed() -> None:
    def read(body: bytes) -> int:
        return sum(one == other for one in body[::16] for other in body[::16])

    assert growth(read, PROV["a long name"], _SIZE) > MOST
