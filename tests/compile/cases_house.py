"""Cases of the compile tier itself: kernels of known cost, which test the measurement."""

import numpy as np
from compile.usage import Case

from gpukit._cuda import cuda, kernel
from gpukit.primitives.wide import add_halves, keep_policy, read4_hinted

U32 = np.uint32


@kernel
def lean(x):
    i = cuda.grid(1)
    x[i] = x[i] * np.float32(0.5)


@kernel
def slips_into_float64(x):
    i = cuda.grid(1)
    x[i] = x[i] / (1 + x[i])


@kernel
def takes_shared_memory(x):
    buffer = cuda.shared.array(1024, np.float32)
    i = cuda.threadIdx.x
    buffer[i] = x[i]
    cuda.syncthreads()
    x[i] = buffer[1023 - i]


@kernel(max_registers=16)
def spills(x, out):
    mine = cuda.local.array(64, np.float32)
    for j in range(64):
        mine[j] = x[j * cuda.blockDim.x + cuda.threadIdx.x]
    for k in range(64):
        total = np.float32(0)
        for j in range(64):
            total += mine[j] * mine[(j * k) % 64]
        out[k * cuda.blockDim.x + cuda.threadIdx.x] = total


@kernel
def wide(x, out):
    i = U32(cuda.threadIdx.x)
    a, b, c, d = read4_hinted(x, i, U32(0), keep_policy())
    add_halves(out, i, U32(0), a, b, c, d, False)


WIDE = Case("house.wide", wide, "float32[:, ::1], float32[:, ::1]", registers=32)
LEAN = Case("house.lean", lean, "float32[::1]", registers=16)
FAULTY = {
    "float64": Case("house.slips_into_float64", slips_into_float64, "float32[::1]", registers=64),
    "shared": Case("house.takes_shared_memory", takes_shared_memory, "float32[::1]", registers=64, shared=4095),
    "dynamic": Case(
        "house.takes_shared_memory", takes_shared_memory, "float32[::1]", registers=64, dynamic=(223 << 10) + 1
    ),
    "spills": Case("house.spills", spills, "float32[::1], float32[::1]", registers=64),
    "registers": Case("house.lean", lean, "float32[::1]", registers=2),
}
CASES = []
