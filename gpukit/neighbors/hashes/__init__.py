"""Hashes: what makes an item's code of its ratings. A folder each, with the files of a room; the name of a further one
is added to HASHES.

A code is settings.n_bits bits (p * q * G: q fine hashings of p * G bits, one behind the other) in n_words 32-bit words,
lowest bit first, unused high bits zero; items that are alike agree in many of them. cpu.py and gpu.py have

    hash_codes(columns, settings) -> codes (N, n_words) uint32, all zero or anything else for an item without ratings

work.py has what those share that add up columns: weights of ratings, and long columns cut into units.
"""

import importlib

HASHES = ("simlsh", "minhash", "projection")


def steps(name, device):
    """The host steps of a hash: its cpu.py or gpu.py (device "cpu" or "gpu")."""
    return importlib.import_module(f"{__name__}.{name}.{device}")
