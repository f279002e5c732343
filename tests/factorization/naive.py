"""Oracle of CUSGD++ and CULSH-MF: Eq. (1) and (5) of Li et al. 2022.

Plain loops over ratings in the paper's notation. In float64 it is the oracle; in float32 it is the plain computation
that defines the error budget.
"""

import copy
import math

import numpy as np


class Model:
    """Model parameters in the paper's notation, all of one dtype.

    U (M, F), V (N, F); b (M,), b_hat (N,); s, s_hat: sums of squared errors; base, base_hat: fixed biases of the
    residuals; W, C (N, K); S (N, K): the neighbours S^K(j), -1 for none; r {(i, j): rating}; weight {(i, j): weight of
    a rating}, default 1.
    """

    ARRAYS = ("U", "V", "b", "b_hat", "s", "s_hat", "base", "base_hat", "W", "C")

    def __init__(self, dtype, S, r, weight=None, **arrays):
        self.dtype, self.S, self.half = dtype, S, ""
        self.weight = {pair: dtype((weight or {}).get(pair, 1)) for pair in r}
        self.r = {pair: dtype(value) for pair, value in r.items()}
        for name in self.ARRAYS:
            setattr(self, name, np.array(arrays[name], dtype))


def explicit_and_implicit(m, i, j):
    """Return (R^K(i;j), N^K(i;j)) as positions k in S^K(j).

    The neighbours that i rated, and the others.
    """
    R = [k for k, other in enumerate(m.S[j]) if other >= 0 and (i, other) in m.r]
    return R, [k for k, other in enumerate(m.S[j]) if other >= 0 and (i, other) not in m.r]


def residual(m, i, j, k):
    """Return r - b of user i for the k-th neighbour of item j."""
    other = m.S[j][k]
    return m.r[i, other] - m.base_hat[other] - m.base[i]


def predict(m, i, j):
    """Return Eq. (1) with mu = 0."""
    R, N = explicit_and_implicit(m, i, j)
    value = m.b[i] + m.b_hat[j] + (m.U[i] * m.V[j]).sum()
    if R:
        value += sum(residual(m, i, j, k) * m.W[j, k] for k in R) * scale(m, R)
    if N:
        value += sum(m.C[j, k] for k in N) * scale(m, N)
    return m.dtype(value)


def scale(m, places):
    """Return |S|^-1/2."""
    return m.dtype(1) / np.sqrt(m.dtype(len(places)))


def learn(m, i, j, rates):
    """Apply Eq. (5) for one rating."""
    step(m, i, j, m.r[i, j] - predict(m, i, j), rates)


def step(m, i, j, e, rates):
    """Apply Eq. (5) for an error e; right-hand sides use old values.

    Rates fall with a row's own squared errors. A rating of weight w has its steps and its squared error times w.
    """
    f = {name: m.dtype(value) for name, value in rates._asdict().items()}
    R, N = explicit_and_implicit(m, i, j)

    w = m.weight.get((i, j), m.dtype(1))

    def gamma(rate, gain, s):
        return w * f[rate] / np.sqrt(m.dtype(1) + f[gain] * s)

    s, s_hat = m.s[i], m.s_hat[j]
    for k in R:
        signal = scale(m, R) * e * residual(m, i, j, k)
        m.W[j, k] += gamma("influence", "factor_gain", s_hat) * (signal - f["influence_decay"] * m.W[j, k])
    for k in N:
        m.C[j, k] += gamma("influence", "factor_gain", s_hat) * (scale(m, N) * e - f["influence_decay"] * m.C[j, k])
    u, v = m.U[i].copy(), m.V[j].copy()
    m.U[i] = moved(m, "U", u, gamma("factor", "factor_gain", s) * (e * v - f["factor_decay"] * u))
    m.V[j] = moved(m, "V", v, gamma("factor", "factor_gain", s_hat) * (e * u - f["factor_decay"] * v))
    m.b[i] += gamma("bias", "bias_gain", s) * (e - f["bias_decay"] * m.b[i])
    m.b_hat[j] += gamma("bias", "bias_gain", s_hat) * (e - f["bias_decay"] * m.b_hat[j])
    m.s[i] += w * (e * e)
    m.s_hat[j] += w * (e * e)


def moved(m, name, row, change):
    """Return row + change, as float16 numbers if m.half names the array."""
    return row.astype(np.float16) + change.astype(np.float16) if name == m.half else row + change


def epoch(m, visits, rates, half=""):
    """Return the Model after Eq. (5) for each (i, j) of visits.

    m is unchanged. half: 'U' or 'V' is float16.
    """
    m = copy.deepcopy(m)
    m.half = half
    if half:
        setattr(m, half, getattr(m, half).astype(np.float16).astype(m.dtype))
    for i, j in visits:
        learn(m, i, j, rates)
    return m


def batch(m, major_steps, minor_steps, sides, rates):
    """Return the Model after a batch.

    Steps are lists of pairs (i, j) of one row; the changes of a step are computed independently and added. First the
    major rows learn with the old minor rows. Then the minor rows learn, for each rating from the major row before that
    rating's step. sides: names of the arrays of the two sides.
    """
    found, frozen = {}, copy.deepcopy(m)
    m = copy.deepcopy(m)
    for names, steps in zip(sides, (major_steps, minor_steps)):
        for step in steps:
            others = {pair: frozen if names is sides[0] else found[pair] for pair in step}
            before = {pair: mixed(m, others[pair], names) for pair in step}
            for pair in step:
                after = copy.deepcopy(before[pair])
                learn(after, *pair, rates)
                for name in names:
                    getattr(m, name)[...] += getattr(after, name) - getattr(before[pair], name)
                found.setdefault(pair, before[pair])
    return m


def mixed(m, other, names):
    """Return a Model with the named arrays of m, and the others of `other`."""
    m = copy.deepcopy(m)
    for name in set(Model.ARRAYS) - set(names):
        setattr(m, name, getattr(other, name).copy())
    return m


def walk(chunks, shifts, pair_at):
    """Return [(i, j)] of chunks (row, first, length), each rotated by its shift.

    pair_at[t] is the pair of rating t.
    """
    return [
        pair_at[first + (step + shift) % length]
        for (_, first, length), shift in zip(chunks, shifts)
        for step in range(length)
    ]


def biases(users, items, values, n_users, n_items, damping, sweeps):
    """Return (b, b_hat): alternating damped means of the remainders, items first."""
    b, b_hat = np.zeros(n_users), np.zeros(n_items)
    triples = list(zip(users, items, values))
    for _ in range(sweeps):
        for j in range(n_items):
            mine = [r - b[i] for i, other, r in triples if other == j]
            b_hat[j] = sum(mine) / (len(mine) + damping)
        for i in range(n_users):
            mine = [r - b_hat[j] for other, j, r in triples if other == i]
            b[i] = sum(mine) / (len(mine) + damping)
    return b, b_hat


def biases_to_a_line(ratings, shape, damping, shares, sweeps):
    """Return (level, b, b_hat) damped to c + s log(1 + n / 5).

    n: the weight of a row's ratings; c and s by weighted least squares; ratings [(user, item, rating, weight)]; shape,
    damping and shares are pairs for users and items.
    """
    found, levels = [np.zeros(rows) for rows in shape], [0.0, 0.0]
    for _ in range(sweeps):
        for own, other in ((1, 0), (0, 1)):
            weights, sums = np.zeros(shape[own]), np.zeros(shape[own])
            for pair in ratings:
                weights[pair[own]] += pair[3]
                sums[pair[own]] += pair[3] * (pair[2] - found[other][pair[other]] - levels[other])
            rated, d = weights > 0, damping[own]
            x = np.log(1 + weights / 5)
            trust = np.sqrt(1 / (1 / d + 1 / weights[rated]))
            table = np.stack([np.ones(rated.sum()), x[rated]], 1)
            means = sums[rated] / weights[rated]
            slope = shares[own] * np.linalg.lstsq(table * trust[:, None], means * trust, rcond=None)[0][1]
            levels[own] = np.average(means - slope * x[rated], weights=trust**2)
            found[own] = (sums + d * (levels[own] + slope * x)) / (weights + d) - levels[own]
    return sum(levels), *found


def ranking(scores, seen, n):
    """Return [(item, score)]: the n best of {item: score} without seen items.

    Larger scores are first, then lower items.
    """
    left = [(item, score) for item, score in scores.items() if item not in seen]
    return sorted(left, key=lambda entry: (-entry[1], entry[0]))[:n]


def cosine(x, y):
    """Return the cosine of two vectors, 0 if one is zero."""
    lengths = math.sqrt((x * x).sum() * (y * y).sum())
    return float((x * y).sum() / lengths) if lengths else 0.0


def packed_number(row, level, level_bits, width):
    """The `width` little-endian bytes of row * 2^level_bits + level."""
    return list((row * 2**level_bits + level).to_bytes(width, "little"))


def code_planes(line, bits):
    """The words of a rating's codes: for each 32 neighbours, bit k of word p is bit p of the code of neighbour k.

    255, no neighbour, is stored as the largest number of `bits` bits.
    """
    words = []
    for first in range(0, len(line), 32):
        codes = [2**bits - 1 if code == 255 else int(code) for code in line[first : first + 32]]
        words += [sum(code // 2**plane % 2 * 2**k for k, code in enumerate(codes)) for plane in range(bits)]
    return words
