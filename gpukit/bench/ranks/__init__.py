"""Two ranks beside one of them: two GPUs, or two processes that share the CPU; on a host with more GPUs four, eight.

launcher.py     starts the ranks and makes rows of what they tell
worker.py       what a rank of launcher.py does: first by itself, then with the others
imputation.py   a step of the paper's imputation on one rank, then on all

    gpukit bench ranks --device cuda       on a host with two GPUs
"""
