"""Records in order of a few of their bits: a stable sort of 64-bit keys, digit by digit, and where each row begins.

    gpu.py | cpu.py      sort_by_bits, row_starts: the same signatures
    kernels.py, twins.py one pass: count_digits, scan_digits, scatter_digits; row_starts
    formulas.py          a key's digit; the digits of a sort, one pass each

A rating packed as user | item | level in one key is grouped by item, then by user, without ever being looked up again:
what moves is what is wanted. A pass reads the keys twice and writes them once. Cost of sorting by b bits: b / 8 passes.
Deterministic: yes, exact; records of equal bits keep their order.
"""
