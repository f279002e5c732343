"""Twins that unpack ratings, and what packs them, against plain Python; the plan of the blocks."""

import numpy as np
import pytest

from factorization import naive
from factorization.solvers.sgd import stream_inputs
from gpukit.factorization import plan
from gpukit.factorization.solvers.sgd import stream_training, twins

COUNTS = [1, 31, 33, 200]
WIDTHS = [(0, 1), (1, 1), (3, 2), (3, 3), (8, 4), (8, 5), (0, 8)]
BITS = [2, 3, 4, 8]


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("level_bits, width", WIDTHS)
def test_ratings(level_bits, width, n):
    rows, levels, packed = stream_inputs.ratings(level_bits, n, width)
    minor, values = np.full(n + 3, -1, np.int32), np.full(n + 3, 9, np.float32)
    twins.unpack_ratings(packed, n, width, level_bits, stream_inputs.Z, minor, values)
    np.testing.assert_array_equal(minor, [*rows, -1, -1, -1])
    np.testing.assert_array_equal(values[:n], stream_inputs.Z[levels] if level_bits else np.full(n, 9))
    assert (values[n:] == 9).all()


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("slots", [32, 64])
def test_codes(bits, slots, n):
    lines, packed = stream_inputs.codes(bits, slots, n)
    words = n * slots // 4
    out = np.full(words + 2, 5, np.uint32)
    twins.unpack_codes(packed, words, bits, out)
    np.testing.assert_array_equal(out[:words].view(np.uint8), lines.ravel())
    assert (out[words:] == 5).all()


@pytest.mark.parametrize("level_bits, width", WIDTHS)
def test_packing(level_bits, width):
    """Chunks in any order, empty ones among them; each rating goes to its slot."""
    rows, levels, _ = stream_inputs.ratings(level_bits, 100, width)
    names, numbered = np.unique(rows, return_inverse=True)
    places, z = names.astype(np.int32), np.unique(stream_inputs.Z)
    values = z[levels]
    chunks = np.array([[4, 70, 30], [0, 0, 1], [7, 1, 0], [2, 5, 40]], np.int64)
    slots = np.cumsum(chunks[:, 2]) - chunks[:, 2]
    order = np.concatenate([np.arange(first, first + length) for _, first, length in chunks])
    packed = np.full(len(order) * width, 99, np.uint8)
    arrays = places, numbered.astype(np.int32), values, z
    stream_training.pack_ratings(chunks, slots, *arrays, (level_bits, width), packed)
    expected = [
        naive.packed_number(int(rows[t]), int(levels[t]) if level_bits else 0, level_bits, width) for t in order
    ]
    np.testing.assert_array_equal(packed, np.concatenate(expected))
    numbers = np.zeros(len(order), np.float32)
    stream_training.pack_numbers(chunks, slots, values, numbers)
    np.testing.assert_array_equal(numbers, values[order])


@pytest.mark.parametrize("bits", BITS)
def test_packing_codes(bits):
    lines, _ = stream_inputs.codes(bits, 64, 50)
    chunks = np.array([[4, 30, 20], [9, 3, 7]], np.int64)
    order, packed = [*range(30, 50), *range(3, 10)], np.full(27 * 2 * bits, 99, np.uint32)
    stream_training.pack_codes(chunks, np.array([0, 20]), lines, bits, packed)
    np.testing.assert_array_equal(packed, np.concatenate([naive.code_planes(lines[t], bits) for t in order]))


@pytest.mark.parametrize(
    "rows, levels, exact, slots, weighted, expected",
    [
        (17_770, 5, True, 0, False, (3, 3, 0, 0, False)),  # Netflix: 15 + 3 bits
        (480_189, 5, True, 32, False, (3, 3, 3, 32, False)),
        (1, 1, True, 0, True, (1, 1, 0, 0, True)),
        (256, 254, True, 32, False, (2, 8, 8, 32, False)),
        (257, 254, False, 32, True, (2, 0, 8, 32, True)),
        (2**31, 254, True, 0, False, (5, 8, 0, 0, False)),
        (2, 6, True, 32, False, (1, 3, 3, 32, False)),  # six levels, unrated and empty: eight codes
        (2, 7, True, 32, False, (1, 3, 4, 32, False)),
    ],
)
def test_the_packing(rows, levels, exact, slots, weighted, expected):
    assert plan.packing_of(rows, levels, exact, slots, weighted) == expected


def test_bytes_of_a_rating():
    packing = plan.packing_of(480_189, 5, True, 32, False)
    assert (packing.packed, packing.unpacked) == (3 + 12, 8 + 32)
    packing = plan.packing_of(480_189, 254, False, 0, True)
    assert (packing.packed, packing.unpacked) == (3 + 4 + 4, 4)


@pytest.mark.parametrize("budget", [10**5, 10**6, 3 * 10**6, 10**7, 10**9])
@pytest.mark.parametrize("slots", [0, 32])
def test_the_plan_fits(slots, budget):
    """Buffers and the blocks that stay, of 1.1 times the mean, take no more than the budget, if there is a plan."""
    packing, n = plan.packing_of(20_000, 5, True, slots, False), 10**6
    blocks = plan.plan_blocks(n, packing, budget, 400)
    n_kept = plan.kept_blocks(blocks, plan.largest_block(n, blocks), packing, budget)
    block = 1.1 * n / blocks
    buffers = block * (2 * packing.packed + packing.unpacked)
    assert 8 <= blocks <= 400 and 0 <= n_kept <= blocks
    assert n_kept == blocks or blocks - n_kept > 2
    kept = plan.is_kept(blocks, n_kept)
    assert sum(kept) == n_kept
    travelling = [place for place, stays in enumerate(kept) if not stays]
    assert not travelling or max(np.diff(travelling)) - min(np.diff(travelling)) <= 1
    if n_kept < blocks and blocks < 400:
        assert buffers + n_kept * block * packing.packed <= budget * 1.001
    if budget == 10**9:
        assert blocks == n_kept == 8


def test_few_chunks_bound_the_blocks():
    packing = plan.packing_of(20_000, 5, True, 0, False)
    assert plan.plan_blocks(1000, packing, 10**6, 3) == 3
