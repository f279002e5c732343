"""Where the work runs, and its memory.

| file      | what it does                                                           |
|-----------|------------------------------------------------------------------------|
| place.py  | `resolve`: 'auto', 'cpu', 'cuda', 'cuda:N' to a `Device`, once, aloud  |
| memory.py | what is free, what is needed, and the message when it is not enough    |
| upload.py | large host arrays to a GPU through page-locked buffers                 |
| engine.py | a room's gpu.py or cpu.py, by device                                     |
"""

from gpukit.device.memory import free_memory, reported, require_memory
from gpukit.device.place import Device, cpu, gpu, gpu_count, resolve

__all__ = ["Device", "cpu", "free_memory", "gpu", "gpu_count", "reported", "require_memory", "resolve"]
