"""Benchmarks of what is learned from clicks.

epochs.py   iALS by both ways of solving
"""
