"""CPU twins of kernels.py: the same names, the same arguments in the same order, the same integers."""

import numpy as np

from gpukit.neighbors.search.buckets.formulas import first_mate, table_code, table_hash
from gpukit.scheduler import by_block

U32 = np.uint32


@by_block(lambda array: array.size)
def fill(start, stop, array, value):
    """Twin of kernels.fill."""
    for k in range(stop - start):
        t = start + k
        array[t] = value


@by_block(lambda hashes: hashes.shape[0], heavy=True)
def table_hashes(start, stop, codes, rated, width, hashes):
    """Twin of kernels.table_hashes."""
    for table in range(start, stop):
        for item in range(codes.shape[0]):
            code = table_code(codes, item, table, width)
            hashes[table, item] = table_hash(code) if rated[item] else np.float32(np.inf)


@by_block(lambda keys: keys.shape[0], heavy=True)
def bucket_matches(start, stop, codes, rated, width, hashes, mates, first, keys):
    """Twin of kernels.bucket_matches."""
    for row in range(start, stop):
        query = first + row
        for table in range(hashes.shape[0] if rated[query] else 0):
            code, key = table_code(codes, query, table, width), hashes[table, query]
            t = first_mate(hashes, mates, table, key)
            while t < mates.shape[1] and hashes[table, mates[table, t]] == key:
                mate = mates[table, t]
                if mate != query and table_code(codes, mate, table, width) == code:
                    keys[row, mate] -= U32(1)
                t += 1
