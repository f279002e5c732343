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

from gpukit.device.engine import engine as engine
from gpukit.device.memory import available_memory as available_memory
from gpukit.device.memory import free_memory as free_memory
from gpukit.device.memory import has_memory as has_memory
from gpukit.device.memory import is_large as is_large
from gpukit.device.memory import release as release
from gpukit.device.memory import require_host as require_host
from gpukit.device.memory import require_memory as require_memory
from gpukit.device.memory import require_room as require_room
from gpukit.device.memory import spare_memory as spare_memory
from gpukit.device.memory import translate_memory_errors as translate_memory_errors
from gpukit.device.place import Device as Device
from gpukit.device.place import capability_of as capability_of
from gpukit.device.place import cpu as cpu
from gpukit.device.place import gpu as gpu
from gpukit.device.place import gpu_count as gpu_count
from gpukit.device.place import has_quad_additions as has_quad_additions
from gpukit.device.place import processors as processors
from gpukit.device.place import resolve as resolve
from gpukit.device.place import start_driver as start_driver
from gpukit.device.place import start_warm_up as start_warm_up
