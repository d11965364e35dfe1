"""Segments to columns of longs, however they are cut into blocks."""

from __future__ import annotations

import time

import numpy as np
import pytest

from headwater.errors import InvalidCaptureError
from headwater.graph.associations.segment import LISTED, MAX_LISTED, PackedColumn
from headwater.graph.records.decode import _List


def test_a_list_that_grows_by_one_value_a_block_takes_linear_time() -> None:
    listed, known, began = _List(), np.empty(0, np.int64), time.process_time()
    for value in range(MAX_LISTED):
        known = listed.longer("s", PackedColumn(1, LISTED, 1, memoryview(b""), memoryview(np.int64(value).tobytes())))
    assert time.process_time() - began < 10  # where each block copies what came before it, minutes
    assert np.array_equal(known, np.arange(MAX_LISTED))
    with pytest.raises(InvalidCaptureError, match="lists more than"):
        listed.longer("s", PackedColumn(1, LISTED, 1, memoryview(b""), memoryview(bytes(8))))
