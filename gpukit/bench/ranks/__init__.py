"""Two, four and eight ranks compared with one: GPUs of a host, or two processes that share the CPU.

| file          | contents                                                          |
|---------------|-------------------------------------------------------------------|
| launcher.py   | start the ranks, and make rows of their results                   |
| worker.py     | a rank: measures first by itself, then with the others            |

    gpukit bench ranks --device cuda       on a host with two GPUs
"""
