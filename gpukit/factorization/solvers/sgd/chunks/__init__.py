"""Rows cut into chunks and distributed over the workers of an epoch without locks; lengths: see sgd/schedule.py.

table.py          the computation, for either device
cpu.py | gpu.py   its steps -> twins.py | kernels.py
"""
