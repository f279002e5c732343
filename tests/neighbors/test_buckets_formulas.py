"""Parts of codes, and the start of equal hashes, against plain counting."""

import numpy as np
import pytest

from gpukit.neighbors import formulas
from neighbors.inputs import unpack


@pytest.mark.parametrize("shift, width", [(0, 32), (31, 32), (5, 7), (24, 8), (30, 3)])
def test_piece_of(shift, width):
    low, high = 0x89ABCDEF, 0x01234567
    expected = ((high << 32 | low) >> shift) % 2**width
    assert formulas.piece_of(np.uint32(low), np.uint32(high), shift, width) == expected


@pytest.mark.parametrize("width", [24, 64, 96])
def test_table_code_depends_on_every_bit(width):
    codes = np.random.default_rng(1).integers(0, 2**32, (1, 7), dtype=np.uint32).repeat(width + 1, axis=0)
    for bit in range(width):
        codes[bit, (width + bit) // 32] ^= np.uint32(1 << ((width + bit) % 32))
    seen = {int(formulas.table_code(codes, item, 1, width)) for item in range(width + 1)}
    assert len(seen) == width + 1
    if width <= 64:
        pieces = unpack(codes[-1:], 7 * 32)[0][width : 2 * width]
        first, rest = pieces[: min(width, 32)], pieces[32:]
        value = sum(int(b) << k for k, b in enumerate(first)) << (32 if width > 32 else 0)
        assert int(formulas.table_code(codes, width, 1, width)) == value + sum(int(b) << k for k, b in enumerate(rest))


@pytest.mark.parametrize("size", [0, 1, 2, 7, 8])
def test_first_mate_is_where_equal_hashes_begin(size):
    hashes = np.sort(np.random.default_rng(size).integers(0, 4, size)).astype(np.float32)
    where = np.random.default_rng(0).permutation(size).astype(np.int32)
    scattered = np.full((2, size), 9, np.float32)
    scattered[1, where] = hashes
    mates = np.stack([where[::-1], where]) if size else np.zeros((2, 0), np.int32)
    for key in range(5):
        assert formulas.first_mate(scattered, mates, 1, np.float32(key)) == (hashes < key).sum()


def test_hashes_of_tables_are_whole_numbers_of_24_bits():
    codes = np.random.default_rng(3).integers(0, 2**63, 500, dtype=np.uint64)
    hashes = np.array([formulas.table_hash(code) for code in codes])
    assert (hashes == np.floor(hashes)).all()
    assert hashes.min() >= 0 and hashes.max() < 2**24 and hashes.max() > 2**23 and len(set(hashes)) > 495
    low, high = (np.array([formulas.table_hash(np.uint64(v << s)) for v in range(64)]) for s in (0, 32))
    assert len(set(low)) == len(set(high)) == 64
