"""1 / sqrt(x), which is one instruction on a GPU and two operations elsewhere."""

import math

from gpukit._jit import overload


def inverse_root(x):
    """1 / sqrt(x), of x's type; infinity for 0. On a GPU it is approximate, by 2 units in the last place."""
    return type(x)(1) / type(x)(math.sqrt(x))


@overload(inverse_root, jit_options={"error_model": "numpy"}, target="cpu")
def _on_a_cpu(x):
    one = x(1)
    return lambda x: one / math.sqrt(x)
