"""Cases of device/."""

from compile.usage import Case

from gpukit.device.kernels import number_threads

CASES = [Case("device.number_threads", number_threads, "int32[::1]", registers=16)]
