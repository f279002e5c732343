"""How many GPUs are worth their start: what `--gpus auto` and `--ranks auto` go by, all of it here.

One GPU's time for a pass over the data, and two GPUs', are rows of docs/benchmarks.csv (H200s of one host, "..., 2
ranks"). What two take above half of one's time goes by the way between them: it is taken to be as long for less data,
and to grow with more. Of R ranks that is added to an R-th. Sizes are guessed by files' bytes, which may be twice off:
near where it matters either answer is about as fast.
"""

from typing import NamedTuple

START = 1.0  # s: 0.6 that a second process takes on a CPU beside the first one, 0.2 of NCCL's first connections, a GPU
HANDED = 1e-9  # s a byte that the first rank has read and hands on to another by sockets, on two cores
LINKED = 0.09e-9  # s a byte by NCCL, beyond its way to one GPU: 0.57 s in place of 0.34 for the tensor of STEP
RATINGS, VALUES, NUMBERS = 99.07e6, 3.77e6 * 136, 512 * 512 * 2600.0  # of the rows: Netflix, WEB30K, a tensor
EPOCHS = {(32, 0): (7.12, 4.29), (128, 0): (16.81, 8.58), (32, 32): (11.44, 6.05)}  # (F, K): ms on one GPU, on two
PRODUCT, STEP = (0.5459, 0.3801), (73.79, 39.80)  # ms on one GPU, on two
ROW = 12  # bytes of a rating in memory


class Work(NamedTuple):
    """What ranks would share: so many passes, of `one` seconds on one GPU, `two` on two; handed: seconds that
    the first rank takes to hand the data on to another."""

    passes: float
    one: float
    two: float
    handed: float = 0.0

    def seconds(self, ranks):
        """Seconds on so many GPUs, from the start of their processes."""
        if ranks == 1:
            return self.passes * self.one
        shared = self.passes * (self.one / ranks + self.two - self.one / 2)
        return START + self.handed * (ranks - 1) + shared


def of_ratings(count, epochs, factors, neighbors):
    """The Work of a training by stochastic gradient descent: so many ratings, F, K."""
    usual, wide, near = EPOCHS.values()
    more, joined = (factors - 32) / 96, neighbors / 32
    row = [max(a / 4, a + more * (b - a) + joined * (c - a)) for a, b, c in zip(usual, wide, near)]
    return Work(epochs, *scaled(row, count / RATINGS), HANDED * ROW * count)


def of_documents(values, products):
    """The Work of RankSVMs: features of all documents; products with the Hessian. Every rank reads for itself."""
    return Work(products, *scaled(PRODUCT, values / VALUES))


def of_tensor(numbers, steps):
    """The Work of an imputation."""
    return Work(steps, *scaled(STEP, numbers / NUMBERS), LINKED * 4 * numbers)


def scaled(row, share):
    """(seconds of one GPU, of two) for a share of the data of a row (ms of one, of two)."""
    one, two = (1e-3 * each for each in row)
    return one * share, one * share / 2 + (two - one / 2) * max(1.0, share)


def gpus_for(work, found):
    """(how many of the GPUs that were found to take, why): all, or one. work: a Work; None: what several would gain is
    not known."""
    if found < 2:
        return 1, "no other GPU was found" if found else "no GPU was found"
    if work is None:
        return 1, f"whether {found} would be faster here was not measured"
    alone, many = work.seconds(1), work.seconds(found)
    told = f"about {alone:.2g} s of work on one, {many:.2g} s on {found} with their start"
    return (found if many < alone else 1), told


def processes_for(cores):
    """(how many processes to share a CPU's work out to, why): one."""
    return 1, f"its threads take all {cores} processors already, and ranks beside it were never faster on one machine"
