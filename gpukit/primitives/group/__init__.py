"""Stable radix sort of 64-bit keys by some of their bits, and the first position of each row.

    gpu.py | cpu.py      sort_by_bits, row_starts: the same signatures
    kernels.py, twins.py one pass: count_digits, scan_digits, scatter_digits; row_starts
    formulas.py          the digit of a key; the digits of a sort, one pass each

Ratings that are packed as user | item | level in one key are grouped by item, then by user, without a gather. A pass
reads the keys twice and writes them once; sorting by b bits takes b / 8 passes. Deterministic: yes, exact; keys with
equal bits keep their order.
"""
