"""Whether columns are in order, and after how many of them things repeat: told from times, or from values."""

import numpy as np

from gpukit._pool import by_rows

FEWEST_COLUMNS = 8
LAGS = 1, 2, 3, 4, 7, 12, 24  # columns: next to each other, and quarters, weekdays, months and hours apart
PERMUTATIONS, LEVEL = 199, 0.02  # level: the share of tables without an order that pass for ordered
MOST_COLUMNS, MOST_ROWS = 1024, 256  # that the order is tested on
DAY, WEEK = 86_400, 7 * 86_400  # seconds
SHORTEST, LONGEST = 4, 4096  # periods in columns
REACH = 0.8  # of the columns, up to which values are compared with later ones
WHOLE = 2  # periods that must be seen again, each of them
PEAK = 0.1  # of the variance: how far the autocorrelation at a period's multiples is above that between them, at least
CHANCE = 4.0  # standard deviations of it where nothing repeats
STEADY = 0.3  # of the mean over the multiples: what each of the first ones has


def rising(times):
    """(T,) float64 of times if they rise from column to column, else None."""
    times = np.asarray(times).ravel()
    times = (times - times[0]).astype(np.float64)
    return times if len(times) > 1 and (np.diff(times) > 0).all() else None


def in_time(values, seen, shape=(1, 1)):
    """Return True if columns of series (N, T) depend on earlier ones, by a two-sided permutation test.

    The autocorrelation of ranks is compared with that of permuted columns: at each of LAGS, and as the sum and the
    difference of the first two, which are of one sign where like follows like and alternate where unlike does. Matrices
    of shape (m, n) are permuted by rows and by columns, because low rank alone makes their entries dependent.
    """
    if values.shape[1] < FEWEST_COLUMNS or not seen.any():
        return False
    row = shape[1] if min(shape) > 1 else 1
    ranks, known = center_ranks(*select_block(values, seen, row))
    products, pairs = ranks.T @ ranks, known.T @ known
    columns, rng = np.arange(ranks.shape[1]).reshape(-1, row), np.random.default_rng(0)
    orders = [columns] + [rng.permutation(rng.permutation(columns), axis=1) for _ in range(PERMUTATIONS)]
    lags = sorted(lag for lag in {*LAGS, row} if lag <= columns.size // 2)
    found = np.array([correlate_lags(products, pairs, order.ravel(), lags) for order in orders])
    spread = found.std(axis=0)
    away = np.divide(found - found.mean(axis=0), spread, out=np.zeros_like(found), where=spread > 0)
    both = (away[:, :1] + [1, -1] * away[:, 1:2]) / np.sqrt(2)
    farthest = np.abs(np.hstack((away, both))).max(axis=1)
    return bool(farthest[0] > 0 and np.count_nonzero(farthest >= farthest[0]) <= LEVEL * len(orders))


def select_block(values, seen, row):
    """Select (values, seen) of MOST_ROWS rows at most, in the MOST_COLUMNS successive columns with most values."""
    alive = np.flatnonzero(seen.any(axis=1))
    rows = alive[np.unique(np.linspace(0, len(alive) - 1, MOST_ROWS).astype(int))]
    width = min(values.shape[1], max(row, MOST_COLUMNS // row * row))
    before = np.r_[0, np.cumsum(np.count_nonzero(seen, axis=0))]
    starts = np.arange(0, values.shape[1] - width + 1, row)
    start = starts[np.argmax(before[starts + width] - before[starts])]
    return values[rows, start : start + width], seen[rows, start : start + width]


def center_ranks(values, seen):
    """Return (ranks of each row's observed values, mean 0 and deviation 1, 0 elsewhere; seen as numbers)."""
    ranks = np.zeros(values.shape)
    for out, value, there in zip(ranks, values, seen):
        rising = np.sort(value[there])
        out[there] = np.searchsorted(rising, value[there]) + np.searchsorted(rising, value[there], "right")
    return scaled(ranks, seen), seen.astype(np.float64)


def correlate_lags(products, pairs, order, lags):
    """Return, by lag, the sum of products of columns a lag apart in an order, over the root of the number of pairs."""
    places = [(order[:-lag], order[lag:]) for lag in lags]
    return [products[place].sum() / np.sqrt(max(1.0, pairs[place].sum())) for place in places]


def period_of(values, seen, shape, times=None):
    """Columns after which series (N, T) repeat, 0 for none.

    Of slices (m, n) with several rows a row. Else where the autocorrelation over all vertices stands out at the
    multiples of a lag from what it is halfway between them: the lag of which that is the least likely by chance. Where
    none is, and times (T,), seconds, are even: a day's columns, of days a week's, if values a day apart are alike.
    """
    if min(shape) > 1:
        return shape[1]
    curve = autocorrelation(values, seen)
    if not len(curve) or curve[0] <= 0:
        return 0
    curve = curve / curve[0]
    lags = np.arange(SHORTEST, min(LONGEST, int((len(curve) - 1) / (WHOLE + 0.5))) + 1)
    height = np.array([standing_out(curve, lag) for lag in lags])
    chance = CHANCE * np.sqrt(1.5 * lags / len(curve) * memory(curve) / values.shape[1])  # len / lag multiples
    height[height < np.maximum(PEAK, chance)] = 0.0
    if height.any():
        surest = shortest_part(lags[height > 0], lags[np.argmax(height / chance)])
        near = np.abs(lags - surest) <= flank(surest)
        return int(lags[near][np.argmax(height[near])])
    return of_calendar(curve, times)


def flank(lag):
    """How far from a lag the flank of its peak, which is broad, stands out too."""
    return np.maximum(1, lag // 8)


def shortest_part(lags, surest):
    """The shortest of lags that stand out of which the surest is a multiple: what repeats daily does so every nine
    days too, and a few warm days as far apart may make that look the surer."""
    times = np.round(surest / lags)
    parts = lags[(times > 1) & (np.abs(surest - times * lags) <= flank(lags))]
    return parts[0] if len(parts) else surest


def standing_out(curve, lag):
    """How far an autocorrelation at the multiples of a lag is above that halfway between them, in the mean; 0 where one
    of the first WHOLE is not."""
    count = int((len(curve) - 1) / lag - 0.5)
    half = 0.5 * (curve[:-1] + curve[1:]) if lag % 2 else curve  # between two lags
    middles = half[((np.arange(count + 1) + 0.5) * lag).astype(int)]
    peaks = curve[np.arange(1, count + 1) * lag] - 0.5 * (middles[:-1] + middles[1:])
    mean = float(peaks.mean())
    steady = peaks[:WHOLE].min() >= STEADY * mean and curve[2 * lag] <= curve[lag] + PEAK
    return mean if steady else 0.0


def memory(curve):
    """Columns that tell as much as one would if none were like the one before (Bartlett), up to where none is."""
    ends = np.flatnonzero(curve <= 0)
    return 1.0 + 2.0 * float(np.square(curve[1 : ends[0] if len(ends) else None]).sum())


def of_calendar(curve, times):
    """Columns of a day, or of a week of days, where times are even and the autocorrelation is above that beside; else
    0."""
    steps = np.unique(np.diff(times)) if times is not None and len(times) > 1 else []
    if len(steps) != 1:
        return 0
    for span in (DAY, WEEK):
        lag = int(span // steps[0])
        if span % steps[0] == 0 and lag >= SHORTEST and 1.5 * lag < len(curve):
            beside = 0.5 * (curve[lag // 2] + curve[lag + lag // 2])
            if curve[lag] - beside > PEAK:
                return lag
    return 0


def autocorrelation(values, seen):
    """(lags,): the mean product of what is seen of series (N, T), their means taken off, by lag."""
    count = values.shape[1]
    size = 1 << (2 * count - 1).bit_length()

    def spectra(rows):
        return spectrum(scaled(values[rows], seen[rows]), size), spectrum(seen[rows].astype(np.float64), size)

    both = [sum(parts) for parts in zip(*by_rows(spectra, values.shape))]
    power, there = (np.fft.irfft(one, size)[: int(REACH * count)] for one in both)
    return np.where(there > 0.5, power / np.maximum(there, 1.0), 0.0)


def scaled(values, seen):
    """(N, T): what is seen less its vertex's mean, in units of the vertex's deviation: no vertex has all the say."""
    rest = np.where(seen, values - row_means(values, seen), 0.0)
    scale = np.sqrt(np.square(rest).sum(axis=1, keepdims=True) / np.maximum(seen.sum(axis=1, keepdims=True), 1))
    return np.divide(rest, scale, out=np.zeros_like(rest), where=scale > 0)


def row_means(values, seen):
    """(N, 1) means of what is seen of each vertex; values (N, T), 0 where it is not."""
    return values.sum(axis=1, keepdims=True) / np.maximum(seen.sum(axis=1, keepdims=True), 1)


def spectrum(series, size):
    """(size / 2 + 1,): the power of each frequency of series (N, T), summed over them; of its autocorrelation."""
    waves = np.fft.rfft(series, size, axis=1)
    return np.einsum("ij,ij->j", waves.real, waves.real) + np.einsum("ij,ij->j", waves.imag, waves.imag)
