"""The method 'kriging'."""

import numpy as np

from gpukit.imputation.auto.judging import simple
from gpukit.imputation.baselines.means import level
from gpukit.imputation.kriging import covariance as cov
from gpukit.imputation.kriging.plan import MOST
from gpukit.imputation.problem import Method

WORK = 1 << 36  # additions, for columns with different masks
SAMPLE = 64  # columns of a band for leave-one-out errors
FEWEST = 3  # observed vertices


def suits(problem):
    """Return True for graphs that are not too large and have observed vertices."""
    alive = problem.seen.any(axis=1)
    if not FEWEST <= alive.sum() or len(alive) > MOST:
        return False
    return bool((problem.ordered and not alive.all()) or patterns(problem) * alive.sum() ** 3 < WORK)


def patterns(problem):
    """Return the number of distinct columns of the mask."""
    return len(np.unique(np.packbits(problem.seen, axis=0), axis=1).T)


def settings(problem):
    """Return the setting with the least leave-one-out errors: [{"bands": [[first, rho, nu, tau]]}]."""
    alive = np.flatnonzero(problem.seen.any(axis=1))
    whole, edges = complete_values(problem), bands(problem)
    rng = np.random.default_rng(problem.options.seed)
    parts = [slice(*pair) for pair in zip(edges, edges[1:])]
    samples = [whole[alive, part] for part in parts]
    samples = [part[:, np.sort(rng.permutation(part.shape[1])[:SAMPLE])] for part in samples]
    metric = "squared" if problem.ordered else problem.options.metric
    laws = cov.best(problem.place.basis.laplacian, alive, samples, metric)
    return [{"bands": [[int(edge), *parameters] for edge, parameters in zip(edges, laws)]}]


def complete_values(problem):
    """Return (N, T): the values filled in by a simple method; for series in time their cosine transform."""
    filled = np.where(problem.seen, problem.values, simple(problem))
    if not problem.ordered:
        return filled
    from scipy import fft

    return fft.dct(filled, axis=1, norm="ortho")


def bands(problem):
    """Return the first column of each band and the end; one band for columns without order."""
    count = problem.values.shape[1]
    if not problem.ordered:
        return [0, count]
    inner = 2.0 ** np.arange(3, np.log2(count), 1.5)
    return [0, 1, *(int(edge) for edge in inner if edge < 0.7 * count), count] if count > 1 else [0, 1]


def fill(problem, setting):
    """Return (N, T): for series in time predictions of unobserved vertices, else of each column's missing values."""
    return in_time(problem, setting) if problem.ordered else by_column(problem, setting)


def in_time(problem, setting):
    """Predict each band of frequencies."""
    from scipy import fft

    alive, whole = np.flatnonzero(problem.seen.any(axis=1)), complete_values(problem)
    out, count = np.zeros(whole.shape), whole.shape[1]
    edges = [part[0] for part in setting["bands"]] + [count]
    bands = sorted(zip(setting["bands"], edges, edges[1:]), key=lambda band: band[0][1:])
    laplacian, law = problem.place.basis.laplacian, None
    for (_, rho, nu, tau), first, end in bands:  # bands are sorted by covariance
        if law != (rho, nu):
            K, law = cov.covariance(laplacian, rho, nu), (rho, nu)
        out[:, first:end] = cov.predict(K, cov.solved(K, alive, tau), alive, whole[alive, first:end])
    out = fft.idct(out, axis=1, norm="ortho")
    out[alive] = np.nan
    return out


def by_column(problem, setting):
    """Predict columns with equal masks together."""
    _, rho, nu, tau = setting["bands"][0]
    K, out = cov.covariance(problem.place.basis.laplacian, rho, nu), np.full(problem.values.shape, np.nan)
    _, group = np.unique(np.packbits(problem.seen, axis=0), axis=1, return_inverse=True)
    base = level(problem, "both")
    for number in range(group.max() + 1):
        columns = np.flatnonzero(group == number)
        seen = np.flatnonzero(problem.seen[:, columns[0]])
        if len(seen) >= FEWEST:
            rest = (problem.values - base)[np.ix_(seen, columns)]
            out[:, columns] = base[:, columns] + cov.predict(K, cov.solved(K, seen, tau), seen, rest)
    return out


METHOD = Method("kriging", suits, settings, fill, host=True)
