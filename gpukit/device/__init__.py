"""Device selection and device memory.

| file         | contents                                                                        |
|--------------|---------------------------------------------------------------------------------|
| place.py     | `resolve`: convert 'auto', 'cpu', 'cuda' or 'cuda:N' to a `Device`; start of a GPU in a thread |
| memory.py    | free and required memory, and the errors if it is too small                       |
| workspace.py | device memory that one run owns and releases at its end                           |
| upload.py    | large host arrays to a GPU through page-locked buffers                            |
| cuda_graph.py | copy, kernels and copy in a CUDA graph that one call launches                    |
| kernels.py    | compile and run a one-line kernel: do driver and compiler match?                 |
| engine.py    | a package's gpu.py or cpu.py, chosen by device                                    |
| gpu_arrays.py, cpu_arrays.py | arrays and kernels or twins of a step, under the same names       |
"""

from gpukit.device.engine import engine
from gpukit.device.memory import (
    available_memory,
    free_memory,
    has_memory,
    is_large,
    release,
    require_host,
    require_memory,
    require_room,
    spare_memory,
    translate_memory_errors,
)
from gpukit.device.place import (
    Device,
    capability_of,
    cpu,
    gpu,
    gpu_count,
    has_quad_additions,
    processors,
    resolve,
    start_driver,
    start_warm_up,
)

__all__ = [
    "Device",
    "available_memory",
    "capability_of",
    "cpu",
    "engine",
    "free_memory",
    "gpu",
    "gpu_count",
    "has_memory",
    "has_quad_additions",
    "is_large",
    "processors",
    "release",
    "translate_memory_errors",
    "require_host",
    "require_memory",
    "require_room",
    "resolve",
    "spare_memory",
    "start_driver",
    "start_warm_up",
]
