"""Registry of the random streams: draws of one seed are independent because their streams differ.

A stream is a number in addition to the seed. `Keyed` are streams of gpukit.random.key(seed, stream), `Numpy` and
`NumpySynth` of numpy.random.default_rng([seed, stream]). Each name is a range of numbers for the module in its comment.
A new name takes free numbers; a test checks that the ranges of a class do not overlap. Moving a range changes random
numbers, which no document promises.
"""


class Keyed:
    """Streams of gpukit.random.key, below 2**32."""

    RATINGS_SYNTH = range(0, 11)  # ratings.synth
    DOCUMENTS_SYNTH = range(20, 25)  # documents.synth
    ROW_SHUFFLE = range(103, 104)  # factorization.prepare: the ratings of a row
    CHUNK_ORDER = range(106, 108)  # factorization.solvers.sgd: among all chunks, within a worker's
    SAMPLES = range(108, 109)  # factorization.solvers.hogwild: the order of all ratings
    FIRST_FACTORS = range(104, 106)  # factorization.model.state: users, items
    EPOCHS = range(
        1000, 65534
    )  # factorization.solvers.sgd.schedule: order of the blocks, one stream per epoch, repeated
    PIVOTS = range(65534, 65535)  # sorting
    SUPPLEMENT = range(65535, 65536)  # neighbors: random neighbours
    SIMLSH_WORDS = range(1 << 16, (1 << 16) + (1 << 15))  # neighbors.simlsh: a stream per 32-bit word
    PROJECTION = range(1 << 17, (1 << 17) + 1)  # neighbors.projection: bits of the codes
    MINHASH = range((1 << 17) + 1, (1 << 17) + 2)  # neighbors.minhash: hashings
    NEGATIVES = range(1 << 18, (1 << 18) + (1 << 16))  # factorization.solvers.sampled: one stream per epoch, repeated


class Numpy:
    """Streams of numpy's generators in fits; default_rng(seed) is stream 0."""

    HELD_OUT_ENTRIES = range(1, 2)  # imputation.spectral.run.split
    HELD_OUT_RUNS = range(2, 3)  # imputation.auto.masking
    ROW_BLOCKS = range(102, 103)  # factorization.solvers.sgd.schedule
    JUDGES = range(103, 104)  # factorization.choose.folds
    CLICK_JUDGES = range(104, 105)  # factorization.implicit.evaluator: held-out clicks
    FOURIER_FEATURES = range(105, 106)  # ranking.feature_map


class NumpySynth:
    """Streams of numpy's generators in generated graphs, whose seed is not that of a fit."""

    GRAPHS_SYNTH = range(0, 4)  # graphs.synth


def named(family):
    """Return {name: range} of a class of streams."""
    return {name: numbers for name, numbers in vars(family).items() if isinstance(numbers, range)}
