"""The streams of a seed, every one in this file: two draws of one seed are independent because their numbers differ.

A stream is a number next to the seed. `Keyed` are those of gpukit.random.key(seed, stream), `Numpy` and `NumpySynth`
those of numpy.random.default_rng([seed, stream]). Each name is a range of numbers, for the module in the comment; a new
one takes numbers that are free: a test sees that no two of a class overlap. Moving one changes what is drawn, not what
is promised.
"""


class Keyed:
    """Numbers of gpukit.random.key: below 2**32."""

    RATINGS_SYNTH = range(0, 11)  # ratings.synth: what generated ratings are made of
    DOCUMENTS_SYNTH = range(20, 25)  # documents.synth
    ROW_SHUFFLE = range(103, 104)  # factorization.prepare: the ratings of a row
    CHUNK_ORDER = range(106, 108)  # factorization.solvers.sgd.chunks: among all chunks, in a worker's hand
    SAMPLES = range(108, 109)  # factorization.solvers.hogwild: the order of all ratings
    FIRST_FACTORS = range(104, 106)  # factorization.model.state: users, items
    EPOCHS = range(
        1000, 65534
    )  # factorization.solvers.sgd.schedule: order of an epoch's work, an epoch each, then again
    PIVOTS = range(65534, 65535)  # sorting
    SUPPLEMENT = range(65535, 65536)  # neighbors: random neighbours
    SIMLSH_WORDS = range(1 << 16, (1 << 16) + (1 << 15))  # neighbors.simlsh: a 32-bit word of the codes each
    PROJECTION = range(1 << 17, (1 << 17) + 1)  # neighbors.projection: bits of the codes
    MINHASH = range((1 << 17) + 1, (1 << 17) + 2)  # neighbors.minhash: hashings
    NEGATIVES = range(1 << 18, (1 << 18) + (1 << 16))  # factorization.solvers.sampled: an epoch each, then again


class Numpy:
    """Numbers of numpy's generators in fits. A bare seed, default_rng(seed), draws as its number 0 does."""

    HELD_OUT_ENTRIES = range(1, 2)  # imputation.spectral.holdout
    HELD_OUT_RUNS = range(2, 3)  # imputation.auto.masking
    ROW_BLOCKS = range(102, 103)  # factorization.solvers.sgd.schedule
    JUDGES = range(103, 104)  # factorization.choose.folds
    CLICK_JUDGES = range(104, 105)  # factorization.implicit.evaluator: held-out clicks
    FOURIER_FEATURES = range(105, 106)  # ranking.feature_map


class NumpySynth:
    """Numbers of numpy's generators in generated graphs, whose seed is the data's own and not that of a fit."""

    GRAPHS_SYNTH = range(0, 4)  # graphs.synth


def named(family):
    """{name: range} of a class of streams."""
    return {name: numbers for name, numbers in vars(family).items() if isinstance(numbers, range)}
