"""Two ranks beside one of them: two GPUs, or two processes that share the CPU.

rows.py     starts the ranks and makes rows of what they tell
work.py     what a rank does: first by itself, then with the others

    gpukit bench ranks --device cuda       on a host with two GPUs
"""
