"""Kernels of the chunk tables against their twins and plain numpy."""

import numpy as np
import pytest

pytestmark = pytest.mark.kernel

from support import launch, small_launches

from gpukit.factorization import cpu, gpu
from gpukit.factorization.solvers.sgd import kernels, schedule, twins
from gpukit.random import bits, integer_below, key

SHAPES = [(1, 32), (3, 64)]
COUNTS = {
    "one row": [17],
    "empty rows": [0, 3, 0, 0, 300, 1, 0],
    "tail": [900, 256, 257, 40, 33, 32, 31, 5, 4, 3, 2, 1],
}


def starts_of(counts):
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", COUNTS)
def test_cut_rows(name, shape):
    """Pieces of equal length, in order, with class and random bits.

    Rows after the last are ignored.
    """
    starts, pieces = starts_of(COUNTS[name]), -(-np.array(COUNTS[name]) // 40)
    before, classes, random_key = starts_of(pieces), schedule.classes_of_length(), np.uint32(key(7, 106))
    expected = [
        (row, starts[row] + part * size // parts, (part + 1) * size // parts - part * size // parts)
        for row, (size, parts) in enumerate(zip(COUNTS[name], pieces))
        for part in range(parts)
    ]
    numbers = [(int(classes[c[2]]) << 16) | (int(bits(random_key, at)) >> 16) for at, c in enumerate(expected)]
    for cut in (twins.cut_rows, lambda *arrays: launch(kernels.cut_rows, *shape, *arrays)):
        n = len(expected)
        found = np.full((n, 3), -1, np.int64), np.zeros(n, np.uint64), np.full(n, 77, np.uint32)
        cut(np.append(starts, 10**9), before, classes, 16, random_key, *found)
        np.testing.assert_array_equal(found[0], expected)
        np.testing.assert_array_equal(found[1], np.array(numbers, np.uint64))
        np.testing.assert_array_equal(found[2], np.arange(n))


def test_classes_of_length():
    """Classes of an eighth of an octave each, descending.

    Powers of two are at the edges; empty chunks are last.
    """
    classes = schedule.classes_of_length().astype(int)
    assert len(classes) == 1025 and classes[1024] == 0 and classes.max() == 80 < 1 << schedule.LENGTH_BITS
    assert [classes[2**e] for e in range(11)] == [8 * (10 - e) for e in range(11)]
    assert (np.diff(classes) <= 0).all() and classes[0] == classes[1] and classes[1023] == 0 and classes[938] == 1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("quads, n", [(1, 1), (1, 4), (33, 130), (40, 130)])
def test_fallen_lengths(quads, n, shape):
    """Quads in the order of the chunks; those beyond the last are empty."""
    chunks, lengths = np.random.default_rng(n).integers(0, 257, (n, 3)), np.zeros(4 * quads, int)
    order = np.random.default_rng(n).permutation(n).astype(np.uint32)
    lengths[:n] = chunks[order, 2]
    for fallen in (twins.fallen_lengths, lambda *arrays: launch(kernels.fallen_lengths, *shape, *arrays)):
        found = np.zeros(quads, np.uint64), np.full(quads, 77, np.uint32)
        fallen(chunks, order, n, 256, *found)
        np.testing.assert_array_equal(found[0], 256 - lengths.reshape(-1, 4).max(axis=1))
        np.testing.assert_array_equal(found[1], np.arange(quads))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rounds, fours", [(1, 1), (1, 70), (5, 1), (8, 33)])
def test_hands(rounds, fours, shape):
    """Alternating direction, then a Fisher-Yates shuffle of each hand; the quads follow, the last chunks are empty."""
    order, random_key = np.random.default_rng(0).permutation(rounds * fours).astype(np.uint32), np.uint32(key(3, 107))
    expected = order.reshape(rounds, fours).copy()
    expected[1::2] = expected[1::2, ::-1].copy()
    for m in range(fours):
        for last in range(rounds - 1, 0, -1):
            other = integer_below(random_key, m * rounds + last, last + 1)
            expected[[last, other], m] = expected[[other, last], m]
    quads, n = 5 + np.arange(12 * rounds * fours).reshape(-1, 3), 4 * rounds * fours - 2
    places = np.random.default_rng(1).permutation(n).astype(np.uint32)
    chunks, quads[n:] = np.zeros((n, 3), np.int64), 0
    chunks[places] = quads[:n]
    for deal, take in (
        (twins.deal_hands, twins.take_quads),
        (
            lambda *a: launch(kernels.deal_hands, *shape, *a),
            lambda *a: launch(kernels.take_quads, *shape, *a),
        ),
    ):
        hands, out = np.full((rounds, fours), 77, np.uint32), np.zeros_like(quads)
        deal(order, random_key, hands)
        np.testing.assert_array_equal(hands, expected)
        take(chunks, places, n, hands, out)
        np.testing.assert_array_equal(out.reshape(-1, 12), quads.reshape(-1, 12)[expected.reshape(-1)])


@pytest.fixture
def few_threads(monkeypatch):
    """Host steps launch few threads."""
    small_launches(monkeypatch)


@pytest.mark.parametrize("counts, workers", [([900, 3, 0, 41, 260, 7], 40), ([5], 1), ([300] * 3, 8)])
def test_both_devices_make_the_same_table(counts, workers, few_threads):
    indptr, made = starts_of(counts), []
    for steps in (cpu, gpu):
        made.append(
            schedule.chunk_table(indptr, steps.resident(indptr, np.int64), schedule.Pace(workers, 0.15), 3, steps)
        )
    np.testing.assert_array_equal(made[1].copy_to_host(), made[0])


@pytest.mark.parametrize("parts", [2, 3])
def test_both_devices_deal_parts_out_alike(parts, few_threads):
    """Whole rows, and rows in pieces."""
    counts, made = np.array([90, 3, 0, 41, 200, 7, 120, 80, 33, 50] * 12), []
    indptr, pace = starts_of(counts), schedule.Pace(12, np.full(120, 0.15), whole=130)
    for steps in (cpu, gpu):
        made.append(schedule.cut_table(counts, steps.resident(indptr, np.int64), pace, 3, steps, parts))
    np.testing.assert_array_equal(made[1].copy_to_host(), made[0])
    assert made[0][:, 2].max() == 120 and made[0][:, 2].sum() == counts.sum()


def test_a_block_without_ratings(few_threads):
    """Arrays without chunks have the number of dimensions for which kernels are compiled."""
    indptr, made = np.zeros(6, np.int64), []
    for steps in (cpu, gpu):
        starts = steps.resident(indptr, np.int64)
        made.append(schedule.cut_table(np.diff(indptr), starts, schedule.Pace(8, 0.15), 3, steps, 2))
    np.testing.assert_array_equal(made[1].copy_to_host(), made[0])
    assert made[0].shape == (16, 3) and not made[0].any()
    assert gpu.empty((0, 3), np.int64).shape == (1, 3) and gpu.empty(0, np.int64).shape == (1,)
    assert gpu.resident(np.empty((4, 0)), np.float32).shape == (4, 1)
