"""Detection of the order and period of columns.

Times are used if known, otherwise values.
"""

import numpy as np

from gpukit._pool import map_row_blocks

FEWEST_COLUMNS = 8
SHORTEST_PERIOD = 4  # columns
PEAK = 0.1  # least height of the autocorrelation at a period's multiples above its value between them; test
HOUR = 3600  # seconds
DAY = 24 * HOUR


def rising_times(times):
    """Return times (T,) float64 if they rise, else None."""
    times = np.asarray(times).ravel()
    times = (times - times[0]).astype(np.float64)
    return times if len(times) > 1 and (np.diff(times) > 0).all() else None


def in_time(values, seen, shape=(1, 1)):
    """Return True if columns of series (N, T) are ordered in time.

    Columns then depend on earlier ones, by a two-sided permutation test. The autocorrelation of ranks is compared
    with that of permuted columns: at adjacent ones, quarters, weekdays, months and hours, and as the sum and the
    difference of the first two, which are of one sign where like follows like and alternate where unlike does.
    Matrices of shape (m, n) are permuted by rows and by columns, because low rank alone makes their entries dependent.
    """
    permutations, level = 199, 0.02  # level: share of unordered tables classified as ordered; test
    if values.shape[1] < FEWEST_COLUMNS or not seen.any():
        return False
    row = shape[1] if min(shape) > 1 else 1
    ranks, known = center_ranks(*select_block(values, seen, row))
    products, pairs = ranks.T @ ranks, known.T @ known
    columns, rng = np.arange(ranks.shape[1]).reshape(-1, row), np.random.default_rng(0)
    orders = [columns] + [rng.permutation(rng.permutation(columns), axis=1) for _ in range(permutations)]
    orders = np.reshape(orders, (len(orders), columns.size))
    lags = sorted(lag for lag in {1, 2, 3, 4, 7, 12, 24, row} if lag <= columns.size // 2)
    sums = np.stack([correlate_lag(products, pairs, orders, lag) for lag in lags], axis=1)
    spread = sums.std(axis=0)
    deviation = np.divide(sums - sums.mean(axis=0), spread, out=np.zeros_like(sums), where=spread > 0)
    both = (deviation[:, :1] + [1, -1] * deviation[:, 1:2]) / np.sqrt(2)
    farthest = np.abs(np.hstack((deviation, both))).max(axis=1)
    return bool(farthest[0] > 0 and np.count_nonzero(farthest >= farthest[0]) <= level * len(orders))


def select_block(values, seen, row):
    """Return (values, seen) of some rows and of successive columns, those with most values."""
    most_rows, most_columns = 256, 1024
    alive = np.flatnonzero(seen.any(axis=1))
    rows = alive[np.unique(np.linspace(0, len(alive) - 1, most_rows).astype(int))]
    width = min(values.shape[1], max(row, most_columns // row * row))
    before = np.r_[0, np.cumsum(np.count_nonzero(seen, axis=0))]
    starts = np.arange(0, values.shape[1] - width + 1, row)
    start = starts[np.argmax(before[starts + width] - before[starts])]
    return values[rows, start : start + width], seen[rows, start : start + width]


def center_ranks(values, seen):
    """Return (scaled ranks of each row's observed values, seen as numbers).

    Ranks have mean 0 and deviation 1; they are 0 where not observed.
    """
    ranks = np.zeros(values.shape)
    for out, value, present in zip(ranks, values, seen):
        rising = np.sort(value[present])
        out[present] = np.searchsorted(rising, value[present]) + np.searchsorted(rising, value[present], "right")
    return standardize(ranks, seen), seen.astype(np.float64)


def correlate_lag(products, pairs, orders, lag):
    """Return the sum (n,) of products of columns a lag apart, for each of orders (n, T) of the columns.

    Each sum is divided by the root of the number of pairs.
    """
    places = orders[:, :-lag], orders[:, lag:]
    return products[places].sum(axis=1) / np.sqrt(np.maximum(1.0, pairs[places].sum(axis=1)))


def period_of(values, seen, shape, times=None):
    """Return the period of series (N, T) in columns, 0 for none.

    For slices (m, n) with several rows the period is a row. Otherwise it is a lag whose multiples have a higher
    autocorrelation, over all vertices, than lags halfway between them: the lag that is least likely by chance. If there
    is none and times (T,), seconds, are even, it is a day's columns, for days a week's, if values a day apart are
    similar.
    """
    if min(shape) > 1:
        return shape[1]
    curve = autocorrelation(values, seen)
    if not len(curve) or curve[0] <= 0:
        return 0
    curve = curve / curve[0]
    longest = min(4096, int((len(curve) - 1) / 2.5))  # two repetitions of a period must be present
    lags = np.arange(SHORTEST_PERIOD, longest + 1)
    height = np.array([peak_height(curve, lag) for lag in lags])
    deviation = np.sqrt(1.5 * lags / len(curve) * dependence_length(curve) / values.shape[1])  # of len / lag multiples
    noise_level = 4.0 * deviation  # without a period; test
    height[height < np.maximum(PEAK, noise_level)] = 0.0
    if height.any():
        surest = shortest_divisor(lags[height > 0], lags[np.argmax(height / noise_level)])
        near = np.abs(lags - surest) <= peak_width(surest)
        return int(lags[near][np.argmax(height[near])])
    return calendar_period(curve, times)


def peak_width(lag):
    """Return the half-width of a lag's peak, which is broad."""
    return np.maximum(1, lag // 8)


def shortest_divisor(lags, surest):
    """Return the shortest lag that divides the surest one.

    It divides it within its peak width. A daily pattern also repeats every nine days, and a few warm days at that
    distance may make nine days the surest.
    """
    times = np.round(surest / lags)
    parts = lags[(times > 1) & (np.abs(surest - times * lags) <= peak_width(lags))]
    return parts[0] if len(parts) else surest


def peak_height(curve, lag):
    """Return the mean height of an autocorrelation at a lag's multiples.

    Heights are measured from the lags halfway between. 0 if one of the first two multiples is not steady.
    """
    count = int((len(curve) - 1) / lag - 0.5)
    half = 0.5 * (curve[:-1] + curve[1:]) if lag % 2 else curve  # between two lags
    middles = half[((np.arange(count + 1) + 0.5) * lag).astype(int)]
    peaks = curve[np.arange(1, count + 1) * lag] - 0.5 * (middles[:-1] + middles[1:])
    mean = float(peaks.mean())
    least = 0.3 * mean  # test
    return mean if peaks[:2].min() >= least and curve[2 * lag] <= curve[lag] + PEAK else 0.0


def dependence_length(curve):
    """Return the number of columns per independent column (Bartlett).

    Lags up to the first nonpositive one are summed.
    """
    ends = np.flatnonzero(curve <= 0)
    return 1.0 + 2.0 * float(np.square(curve[1 : ends[0] if len(ends) else None]).sum())


def calendar_period(curve, times):
    """Return the columns of a day or a week; 0 for none.

    Times must be even and the autocorrelation must have such a peak. A week is of days.
    """
    steps = np.unique(np.diff(times)) if times is not None and len(times) > 1 else []
    if len(steps) != 1:
        return 0
    for span in (DAY, 7 * DAY):
        lag = int(span // steps[0])
        if span % steps[0] == 0 and lag >= SHORTEST_PERIOD and 1.5 * lag < len(curve):
            between_peaks = 0.5 * (curve[lag // 2] + curve[lag + lag // 2])
            if curve[lag] - between_peaks > PEAK:
                return lag
    return 0


def autocorrelation(values, seen):
    """Return (lags,): the mean product of observed values of centred series (N, T) by lag."""
    count = values.shape[1]
    size = 1 << (2 * count - 1).bit_length()

    def spectra(rows):
        return spectrum(standardize(values[rows], seen[rows]), size), spectrum(seen[rows].astype(np.float64), size)

    both = [sum(parts) for parts in zip(*map_row_blocks(spectra, values.shape))]
    reach = int(0.8 * count)  # pairs at larger lags are few
    power, present = (np.fft.irfft(value, size)[:reach] for value in both)
    return np.where(present > 0.5, power / np.maximum(present, 1.0), 0.0)


def standardize(values, seen):
    """Return (N, T): observed values minus their vertex's mean, divided by its deviation."""
    rest = np.where(seen, values - row_means(values, seen), 0.0)
    scale = np.sqrt(np.square(rest).sum(axis=1, keepdims=True) / np.maximum(seen.sum(axis=1, keepdims=True), 1))
    return np.divide(rest, scale, out=np.zeros_like(rest), where=scale > 0)


def row_means(values, seen):
    """Return means (N, 1) of each vertex's observed values; values (N, T), 0 where missing."""
    return values.sum(axis=1, keepdims=True) / np.maximum(seen.sum(axis=1, keepdims=True), 1)


def spectrum(series, size):
    """Return (size / 2 + 1,): the power of each frequency, summed over series (N, T)."""
    waves = np.fft.rfft(series, size, axis=1)
    return np.einsum("ij,ij->j", waves.real, waves.real) + np.einsum("ij,ij->j", waves.imag, waves.imag)


def lags_of(problem):
    """Return lags of a period and of seven, if two of them are present."""
    lags = (problem.period, 7 * problem.period)
    return [lag for lag in lags if lag > 1 and 2 * lag <= problem.values.shape[1]]
