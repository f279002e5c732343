"""Scalar formulas of the thresholding; float32 stays float32, float64 float64.

Source: Golub and Van Loan, Matrix Computations, 4th ed., 5.1 (reflections), 5.4.8 (bidiagonalization), 8.6.2 (implicit
QR on a bidiagonal matrix); Demmel and Kahan, SIAM J. Sci. Stat. Comput. 11 (1990), 873-912 (shift 0 on zeros).
"""

import math

import numpy as np

from gpukit._jit import njit, overload

U32, I32, U64 = np.uint32, np.int32, np.uint64
NEXT = U64(1)
F32 = np.float32
ZERO, HALF, ONE, TWO = F32(0.0), F32(0.5), F32(1.0), F32(2.0)  # promoted to float64 with a float64 operand
NOTHING = F32(1e-35)  # squares and numbers below it are negligible in a slice of numbers near 1


def inverse_root(x):
    """1 / sqrt(x), of x's type; infinity for 0. On a GPU it is approximate, by 2 units in the last place."""
    return type(x)(1) / type(x)(math.sqrt(x))


@overload(inverse_root, jit_options={"error_model": "numpy"}, target="cpu")
def _on_a_cpu(x):
    value = x(1)
    return lambda x: value / math.sqrt(x)


@njit
def binary_scale(largest):
    """Return the power of two that scales a number into [0.5, 1).

    The number is positive and finite; 1 for 0. The result is limited by the range of the number's type.
    """
    scale = (largest - largest) + ONE  # of the type of largest
    while largest * scale >= ONE:
        scale *= HALF
    while largest * scale < HALF and largest > 0 and scale + scale < math.inf:
        scale += scale
    return scale


@njit
def reflection(first, square):
    """Return (alpha, factor) of the reflection of x to alpha e1.

    The reflection is I - factor u u', u = x - alpha e1. first = x[0], square = x'x. factor is 0 (no reflection) for
    negligible x.
    """
    norm = math.sqrt(square)
    norm += HALF * (square - norm * norm) / norm if square > NOTHING else ZERO  # a GPU's root is approximate
    alpha = -norm if first >= 0 else norm
    return (alpha, ONE / (norm * (norm + abs(first)))) if square > NOTHING else (first, ZERO)


@njit(fastmath={"contract", "nsz"})  # the remainder of 1 must not be summed in another order
def givens(f, g):
    """Return (c, s, r) of a Givens rotation of f and g.

    c f + s g = r and c g - s f = 0; (1, 0, f) if both are negligible. The square root of a subnormal number is 0 on a
    GPU. A GPU's root of 1 / x is approximate with a systematic error: a step of Newton's method for c^2 + s^2 = 1
    prevents its accumulation over a thousand rotations.
    """
    square = f * f + g * g
    inverse = inverse_root(square)
    c, s = f * inverse, g * inverse
    short = HALF * ((ONE - c * c) - s * s)
    c, s = c + c * short, s + s * short
    c = c if square > NOTHING else ONE
    s = s if square > NOTHING else ZERO
    return c, s, c * f + s * g


@njit
def smallest_of_two(f, g, h):
    """Return the smaller singular value of [[f, g], [0, h]], without overflow; 0 if it is negligible."""
    f, g, h = abs(f), abs(g), abs(h)
    low, high = min(f, h), max(f, h)
    if not low > NOTHING:
        return ZERO
    if g <= high:
        total, difference, across = ONE + low / high, (high - low) / high, (g / high) * (g / high)
        return low * (TWO / (math.sqrt(total * total + across) + math.sqrt(difference * difference + across)))
    ratio = high / g
    total, difference = (ONE + low / high) * ratio, ((high - low) / high) * ratio
    return low * (ratio * (TWO / (math.sqrt(ONE + total * total) + math.sqrt(ONE + difference * difference))))


@njit
def shift_of(d, e, lo, hi, tolerance, known):
    """Return the shift of a sweep over columns lo to hi; 0 if it or an entry of d is negligible.

    Negligible entries of d become 0. known: no entry of d is negligible, so they are not checked.
    """
    k, flat = lo, False
    while k <= hi and not known:
        if not abs(d[k]) > tolerance:
            d[k], flat = ZERO, True
        k = U32(k + U32(1))
    shift = smallest_of_two(d[U32(hi - U32(1))], e[hi], d[hi])
    return ZERO if flat or not shift > tolerance else shift


@njit
def sweep_unshifted(d, e, lo, hi, tolerance, turns, position):
    """Run `sweep` with shift 0; a 0 on the diagonal, which stops a shifted sweep, ends with e[hi] = 0.

    Source: Demmel and Kahan (1990), the implicit zero-shift QR.
    """
    k, last, place, split = U64(lo), U64(hi), U64(position), U64(lo)
    c, old_c, old_s = ONE, ONE, ZERO
    while k < last:
        after = d[U64(k + NEXT)]
        c, s, r = givens(d[k] * c, e[U64(k + NEXT)])
        turns[place, 0], turns[place, 1] = c, s
        place = U64(place + NEXT)
        e[k] = old_s * r
        split = k if abs(e[k]) <= tolerance else split
        old_c, old_s, d[k] = givens(old_c * r, after * s)
        k = U64(k + NEXT)
    rest = d[last] * c
    e[U64(lo)], e[last], d[last] = ZERO, rest * old_s, rest * old_c
    return U32(split)


@njit
def sweep(d, e, lo, hi, tolerance, shift, turns, position):
    """Run one implicit QR sweep over columns lo to hi.

    Returns the last k in lo + 1 .. hi - 1 with negligible e[k] (lo without one), and whether no entry of d is
    negligible. turns[position + k - lo] = (c, s) rotates the right singular vectors k and k + 1: c x + s y, c y - s x.
    """
    k, last, place = U64(lo), U64(hi), U64(position)  # 64 bits, so that neighbours' addresses differ by constants
    diagonal, upper, split, least = d[k], e[U64(k + NEXT)], k, tolerance + tolerance
    f, g = (abs(diagonal) - shift) * ((ONE if diagonal > 0 else -ONE) + shift / diagonal), upper
    while k < last:
        after, further = d[U64(k + NEXT)], e[U64(U64(k + NEXT) + NEXT)]
        c, s, r = givens(f, g)
        turns[place, 0], turns[place, 1] = c, s
        place = U64(place + NEXT)
        e[k] = r
        split = k if abs(r) <= tolerance else split
        f, upper, g, after = c * diagonal + s * upper, c * upper - s * diagonal, s * after, c * after
        c, s, r = givens(f, g)
        d[k] = r
        least = min(least, abs(r))
        f, diagonal, g, upper = c * upper + s * after, c * after - s * upper, s * further, c * further
        k = U64(k + NEXT)
    e[U64(lo)], e[last], d[last] = ZERO, f, diagonal
    return U32(split), min(least, abs(diagonal)) > tolerance


@njit
def start_of(e, hi, tolerance):
    """Return the first column of the block that ends at hi.

    No e inside is negligible.
    """
    lo = hi
    while lo > U32(0) and abs(e[lo]) > tolerance:
        lo = U32(lo - U32(1))
    return lo


@njit
def chase(d, e, tolerance, state, spans, turns):
    """Run QR sweeps until e is negligible, or a buffer is full.

    The buffers are turns (most, 2) and spans (most,).

    d (p,) is the diagonal; e (p + 1,): e[k] is above d[k], e[0] and e[p] are 0. state = (lo, hi, sweeps): the remaining
    block, columns lo to hi, hi = 0 if none remains, and the number of sweeps of this call; spans[i] = lo + (hi << 16)
    of sweep i.
    """
    lo, hi, done, position, known = U32(state[0]), U32(state[1]), U32(0), U32(0), False
    while hi > U32(0):
        if hi <= lo:
            lo, known = start_of(e, hi, tolerance), False
        if hi == lo or abs(e[hi]) <= tolerance:
            hi = U32(hi - U32(1))
            continue
        if done == U32(spans.size) or U32(position + U32(hi - lo)) > U32(turns.shape[0]):
            break
        spans[done] = I32(U32(lo + U32(hi << U32(16))))
        shift = shift_of(d, e, lo, hi, tolerance, known)
        if shift > 0:
            split, known = sweep(d, e, lo, hi, tolerance, shift, turns, position)
        else:
            split, known = sweep_unshifted(d, e, lo, hi, tolerance, turns, position), False
        position, done, lo = U32(position + U32(hi - lo)), U32(done + U32(1)), split
    state[0], state[1], state[2] = I32(lo), I32(hi), I32(done)


@njit
def weight(sigma, lam):
    """Return (1 - lambda / sigma)+: Y = X V diag(weight) V' thresholds X = U diag(sigma) V'."""
    return ONE - lam / sigma if sigma > lam else ZERO


@njit
def tolerances(bytes_of_number):
    """Return the negligible size relative to the largest: (of a bidiagonal's entries, of singular values)."""
    return (3e-7, 1e-6) if bytes_of_number == 4 else (6e-16, 1e-14)
