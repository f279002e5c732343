"""Where the work runs, and its memory.

| file         | what it does                                                           |
|--------------|------------------------------------------------------------------------|
| place.py     | `resolve`: 'auto', 'cpu', 'cuda', 'cuda:N' to a `Device`, once, aloud  |
| warm_up.py   | `wake`, `begin`: driver and GPU made ready meanwhile                   |
| memory.py    | what is free, what is needed, and the message when it is not enough    |
| workspace.py | device memory that one run owns, and gives back when it ends           |
| upload.py    | large host arrays to a GPU through page-locked buffers                 |
| cuda_graph.py | a question to the GPU and its answer as one: a CUDA graph              |
| smoke_test.py | a kernel of one line, compiled and run: do driver and compiler fit?    |
| engine.py    | a room's steps, gpu.py or cpu.py, for a device                         |
| gpu_arrays.py, cpu_arrays.py | arrays, and kernels or twins, where a step runs: the same names |
"""

from gpukit.device.engine import engine
from gpukit.device.memory import available_memory, free_memory, release, reported, require_host, require_memory
from gpukit.device.place import Device, cpu, gpu, gpu_count, processors, resolve
from gpukit.device.warm_up import begin, wake

__all__ = [
    "Device",
    "available_memory",
    "begin",
    "cpu",
    "engine",
    "free_memory",
    "gpu",
    "gpu_count",
    "processors",
    "release",
    "reported",
    "require_host",
    "require_memory",
    "resolve",
    "wake",
]
