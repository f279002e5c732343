"""roots.inverse_root as the GPU's one instruction, in kernels of modules that import this one."""

from gpukit._cuda import SIMULATED, cuda, overload, types
from gpukit.primitives.roots import inverse_root

if not SIMULATED:

    @overload(inverse_root, target="cuda")
    def _on_a_gpu(x):
        single, double = cuda.libdevice.rsqrtf, cuda.libdevice.rsqrt
        return (lambda x: single(x)) if x == types.float32 else (lambda x: double(x))
