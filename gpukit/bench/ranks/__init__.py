"""What several ranks gain: each benchmark starts its own, on GPUs of this machine or its CPU.

imputation.py   a step of the paper's imputation on one rank, then on all
"""
