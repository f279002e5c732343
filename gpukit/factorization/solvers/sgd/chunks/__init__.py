"""Rows cut into chunks and dealt out to the workers of an epoch without locks; schedule.py beside says how long.

table.py          what is done, written once
cpu.py | gpu.py   its steps -> twins.py | kernels.py
"""
