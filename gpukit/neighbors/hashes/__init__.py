"""Hashes: codes of items from their ratings. Each is a folder with the files of a package and a name in HASHES.

A code is settings.n_bits bits (p * q * G: q fine hashings of p * G bits, one after the other) in n_words 32-bit words,
lowest bit first, unused high bits zero. Similar items agree in many bits. cpu.py and gpu.py have

    hash_codes(columns, settings) -> codes (N, n_words) uint32, all zero or undefined for an item without ratings

work.py is for hashes that add columns: weights of ratings, and long columns divided into units.
"""

import importlib
from typing import Literal, get_args

Hash = Literal["simlsh", "minhash", "projection"]
HASHES = get_args(Hash)


def steps(name, device):
    """Return the host steps of a hash: its cpu.py or gpu.py (device "cpu" or "gpu")."""
    return importlib.import_module(f"{__name__}.{name}.{device}")
