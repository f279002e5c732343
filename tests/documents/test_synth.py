"""Generated documents: the shapes of the paper's Table 1, features like LETOR's, and reproducible seeds."""

import hashlib

import numpy as np
import pytest

from gpukit import random
from gpukit.documents import synth, synth_letor
from gpukit.documents.synth import SHAPES
from gpukit.errors import ParameterError

TABLE_1 = {
    "mq2007-list": (743_790, 46, 1_017, 285_943_893, 1_268),
    "mq2008-list": (540_679, 46, 471, 323_151_792, 1_831),
    "mslr-web10k": (723_421, 136, 6_000, 31_783_391, 809),
    "mslr-web30k": (2_270_296, 136, 18_919, 101_312_036, 1_251),
    "mq2007": (42_158, 46, 1_017, 246_015, 147),
    "mq2008": (9_630, 46, 471, 52_325, 121),
}
SMALL = {
    "mq2007-list": 0.02,
    "mq2008-list": 0.03,
    "mslr-web10k": 0.02,
    "mslr-web30k": 0.006,
    "mq2007": 0.5,
    "mq2008": 1.0,
}


@pytest.fixture(scope="module")
def made():
    """{like: Documents} of ten to twenty thousand documents."""
    return {like: synth_letor(like, scale) for like, scale in SMALL.items()}


def labels(shape, offsets):
    keys = np.array(
        [random.key(0, getattr(synth, name)) for name in ("QUERIES", "TRAITS", "RELEVANCE")], dtype=np.uint32
    )
    return synth._labels(shape, keys, offsets)


def count_pairs(y, offsets):
    """Return the number of pairs of one query with different labels, from the counts of each label."""
    levels = int(y.max()) + 1
    cells = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) * levels + y.astype(np.int64)
    counts = np.bincount(cells, minlength=levels * (len(offsets) - 1)).reshape(-1, levels)
    return int((np.diff(offsets) ** 2 - (counts**2).sum(axis=1)).sum()) // 2


@pytest.mark.parametrize("like", SHAPES)
def test_the_shapes_of_table_1(like):
    shape = SHAPES[like]
    documents, features, queries, pairs, longest = TABLE_1[like]
    offsets = synth._offsets(shape, 1.0, 0)
    lengths = np.diff(offsets)
    assert (offsets[-1], len(lengths), lengths.max(), shape.features) == (documents, queries, longest, features)
    assert lengths.min() >= shape.shortest >= 1
    if shape.shares is None:
        found = int((lengths * (lengths - 1)).sum()) // 2
    else:
        found = count_pairs(labels(shape, offsets), offsets)
    assert abs(found / pairs - 1) < 0.04, found


@pytest.mark.parametrize("like", SHAPES)
def test_the_lengths_keep_their_distribution(like):
    whole, part = (np.diff(synth._offsets(SHAPES[like], scale, 0)) for scale in (1.0, 0.3))
    assert len(part) == round(0.3 * len(whole)) and np.array_equal(part, whole[: len(part)])
    assert abs(np.median(part) / np.median(whole) - 1) < 0.15


@pytest.mark.parametrize("like", SHAPES)
def test_values(made, like):
    one = made[like]
    assert one.X.dtype == np.float32 and one.X.flags.c_contiguous and one.y.dtype == np.float64
    assert one.X.min() == 0 and one.X.max() == 1 and one.comments is None
    assert np.array_equal(one.X, np.round(one.X.astype(np.float64), 6).astype(np.float32))
    assert one.qids.tolist() == list(range(1, len(one.offsets)))
    if SHAPES[like].shares is None:
        for y in np.split(one.y, one.offsets[1:-1]):
            assert sorted(y) == list(range(1, len(y) + 1))
    else:
        assert np.allclose(np.bincount(one.y.astype(int)) / len(one.y), SHAPES[like].shares, atol=1e-3)


@pytest.mark.parametrize("like", SHAPES)
def test_features_are_correlated_and_heavy_tailed(made, like):
    """Within queries, as on MQ2008: many features are in few directions, with very different spreads."""
    X, offsets = made[like].X.astype(np.float64), made[like].offsets
    X = X - np.repeat(np.add.reduceat(X, offsets[:-1]) / np.diff(offsets)[:, None], np.diff(offsets), axis=0)
    spectrum = np.linalg.eigvalsh(X.T @ X / len(X))[::-1]
    assert spectrum[:10].sum() > 0.8 * spectrum.sum()
    assert (spectrum > 1e-3 * spectrum[0]).mean() < 0.7 and 0 < np.count_nonzero(spectrum < 1e-4 * spectrum[0])
    assert np.median(made[like].X.mean(axis=0)) < 0.2 and (made[like].X == 0).mean() > 0.2


@pytest.mark.parametrize("like", SHAPES)
def test_a_linear_model_tells_part_of_the_relevance(made, like):
    """Least squares on labels, features and labels centred by query: a pairwise accuracy of 0.6 to 0.85."""
    one = made[like]
    X, y = one.X.astype(np.float64), one.y.astype(np.float64)
    lengths = np.diff(one.offsets)
    X -= np.repeat(np.add.reduceat(X, one.offsets[:-1]) / lengths[:, None], lengths, axis=0)
    y = y - np.repeat(np.add.reduceat(y, one.offsets[:-1]) / lengths, lengths)
    score = X @ np.linalg.lstsq(X, y, rcond=None)[0]
    right = pairs = 0
    for start, stop in zip(one.offsets[:-1], one.offsets[1:], strict=True):
        above = np.subtract.outer(one.y[start:stop], one.y[start:stop]) > 0
        right += np.count_nonzero(above & (np.subtract.outer(score[start:stop], score[start:stop]) > 0))
        pairs += np.count_nonzero(above)
    assert 0.6 < right / pairs < 0.85, right / pairs


def test_a_seed_gives_the_same_documents_everywhere():
    digests = []
    for like in ("mq2008", "mslr-web10k"):
        one = synth_letor(like, 0.01, seed=5)
        digests.append(hashlib.sha256(one.X.tobytes() + one.y.tobytes() + one.offsets.tobytes()).hexdigest()[:16])
    assert digests == ["5a69b5445f1146c1", "2e0d0fedbfd84841"]
    first, other = (synth_letor("mq2008", 0.01, seed=seed).X[0] for seed in (5, 6))
    assert not np.array_equal(first, other)


def test_power_of_two():
    x = np.linspace(-40, 40, 4001).astype(np.float32)
    values = np.array([synth.power_of_two(one) for one in x])
    assert np.allclose(values, 2.0 ** np.clip(x.astype(np.float64), -32, 31), rtol=2e-6)


def test_coarse_normal():
    key = random.key(0, 99)
    values = np.array([synth.coarse_normal(key, index) for index in range(50_000)])
    assert abs(values.mean()) < 0.02 and abs(values.std() - 1) < 0.02 and 3 < np.abs(values).max() < 3.5


def test_refused_requests():
    for arguments in (("letor", 0.1), ("mq2008", 0.0), ("mq2008", 1.5), ("mq2008", 0.1, -1)):
        with pytest.raises(ParameterError):
            synth_letor(*arguments)
