"""The registry of random streams: no two streams share a number."""

from itertools import combinations

import pytest

from gpukit.streams import Keyed, Numpy, NumpySynth, named


@pytest.mark.parametrize("family", [Keyed, Numpy, NumpySynth])
def test_no_two_streams_overlap(family):
    streams = named(family)
    assert streams and all(len(numbers) and numbers.step == 1 for numbers in streams.values())
    for (one, first), (other, second) in combinations(streams.items(), 2):
        assert first.stop <= second.start or second.stop <= first.start, f"{one} and {other} overlap"
    assert min(n.start for n in streams.values()) >= 0 and max(n.stop for n in streams.values()) <= 2**32


def test_any_number_of_epochs_stays_among_the_epochs():
    from gpukit import random
    from gpukit.factorization.solvers.sgd.schedule import turn_key

    last = len(Keyed.EPOCHS) - 1
    assert [int(turn_key(3, epoch)) for epoch in (0, last, last + 1)] == [
        int(random.key(3, Keyed.EPOCHS[place])) for place in (0, last, 0)
    ]


def test_the_longest_code_has_its_words():
    from gpukit.neighbors.estimator import MOST_BITS
    from gpukit.neighbors.run import word_keys

    assert len(word_keys(1, MOST_BITS // 32)) == len(Keyed.SIMLSH_WORDS)
