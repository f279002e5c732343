"""A fitted model: numbers, memory layout and files.

state.py     numbers on the host                      layout.py    layout in device memory
saving.py    model files and checkpoints, and their validation
parts.py     models of several ranks in a file for each
"""
