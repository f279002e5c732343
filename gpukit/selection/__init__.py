"""Row-wise top-k: the k smallest of many rows of uint32 keys at once.

    neighbors: distances or missing collisions -> keys          recommend: scores -> `formulas.descending_key` -> keys
    GPU: `kernels.smallest` -> kernels.select_smallest          CPU: `twins.smallest` -> twins.select_smallest

Exact and deterministic: ascending keys, equal keys by the lower index. GPU: radix selection over (key, index), a block
a row, O(n) reads for each 12-bit digit that is needed, or a sample and one pass over a long row; CPU: one pass over the
row with a sorted list of the best k.
`select_listed` has a list of (key, index) a row, of any length and in any order, instead of a key for every index.
"""
