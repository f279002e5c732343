"""Scalar maths of one-sided Jacobi and of the threshold; float32 stays float32, float64 float64.

Source: Golub and Van Loan, Matrix Computations, 4th ed., 8.5.2 and 8.6.3 (t, c, s; one-sided Jacobi); Drmac and
Veselic, SIAM J. Matrix Anal. Appl. 29 (2008), 1322-1362 (pivoted QR first, Jacobi on the rows of R).
"""

import math

import numpy as np

from gpukit._jit import njit

U32 = np.uint32
F32 = np.float32
HALF, ONE, TWO = F32(0.5), F32(1.0), F32(2.0)
STEEP = F32(1e8)  # a cotangent from which on its square is all that counts under the root
MARGIN = F32(0.5)  # of lambda^2: how far below it vectors that are left alone must stay
GAP = F32(0.01)  # of the shortest squared length that counts: what those left alone may add up to; near it they hold up
PATIENCE = 8  # sweeps after which no vector is left alone


@njit
def rotation(a, b, g):
    """(t, s, h) = (tan, sin, tan of half) of the angle at which c x - s y and s x + c y are orthogonal, see `turned`.

    a = x'x, b = y'y, g = x'y, not 0. t is the smaller root of t^2 + 2 tau t - 1 with tau = (b - a) / 2g, so |t| <= 1;
    no square overflows.
    """
    tau = (b - a) / (TWO * g)
    size = abs(tau)
    t = HALF / size if size > STEEP else ONE / (size + math.sqrt(ONE + size * size))
    t = -t if tau < 0 else t
    root, one = math.sqrt(ONE + t * t), (a - a) + ONE
    return t, t / root, t / (one + root)


@njit
def turned(x, y, s, h):
    """(c x - s y, s x + c y) with c = 1 - s h (Rutishauser): lengths stay, where a rounded c would change them."""
    return x - s * (y + h * x), y + s * (x - h * y)


@njit
def squared_cosine(a, b, g, tolerance):
    """cos^2 of the angle between two vectors, g = x'y, a = x'x, b = y'y; 0 when a b is at most tolerance^3.

    Below that it is not a normal number, or nearly not, and one of the two is far below the rounding error.
    """
    return g * g / (a * b) if a * b > tolerance * tolerance * tolerance else g - g


@njit
def weight(square, lam):
    """(1 - lambda / sigma)+ / sigma^2 for sigma^2 = square: A diag(weight) A' thresholds, when A = V diag(sigma)."""
    sigma = math.sqrt(square)
    return (ONE - lam / sigma) / square if sigma > lam else sigma - sigma


@njit
def settled(cosine, tangent, leak, goal):
    """Is a sweep the last one? The largest squared cosine, the largest |t|, and the largest `leak`.

    What a rotation by t spoils of a pair set right before it is t times a cosine: both small is what is asked for, not
    the cosines alone, because equal singular values turn by any angle.
    """
    return cosine * (tangent * tangent) <= goal * goal and leak <= goal


@njit
def leak(a, b, t):
    """|t| b / a: how far a vector that counts still leans to those that do not, which were not made orthogonal.

    A rotation by t against one of these spoils the cosine to another by up to |t| sqrt(b / a), and that leans by
    sqrt(b / a) times as much.
    """
    return abs(t) * (b / a)


@njit
def partner(pair, step, count):
    """(i, j), i < j, of a pair in step `step` of a round-robin tournament of an even number of players.

    pair < count / 2, step < count - 1: every two players meet once in count - 1 steps.
    """
    last = U32(count - U32(1))
    if pair == U32(0):
        return U32(step), last
    i, j = U32(step + pair), U32(U32(step + last) - pair)
    i = U32(i - last) if i >= last else i
    j = U32(j - last) if j >= last else j
    return (i, j) if i < j else (j, i)


@njit
def binary_scale(largest):
    """The power of two that brings a positive finite number into [0.5, 1), as near as its own type can."""
    scale = (largest - largest) + ONE
    while largest * scale >= ONE:
        scale *= HALF
    while largest * scale < HALF and scale + scale < math.inf:
        scale += scale
    return scale


@njit
def least_square(lam, sweeps, whole):
    """Vectors whose squared lengths add up to less are left alone in the next sweep."""
    return lam - lam if whole or sweeps >= PATIENCE else MARGIN * lam * lam


@njit
def tolerances(bytes_of_number):
    """(cos^2 up to which two vectors count as orthogonal, what `settled` asks for, share of the sum of squares that is
    rounding error) in float32 or float64."""
    return (1e-12, 1e-6, 1e-14) if bytes_of_number == 4 else (1e-28, 1e-13, 1e-31)
