"""Segmented sort: many key-value sequences put in order in one launch, and where each key came from.

    segmented_argsort(keys, offsets) -> order: position in its segment of the r-th smallest key of each segment
    GPU: `gpu.plan` once, `gpu.argsort` -> kernels.argsort_segments      CPU: `cpu.argsort` -> twins.argsort_segments

Algorithm 3 of the linear RankSVM paper made right: places are copied with their keys, and the pivot is not counted
among the greater ones *and* laid down again. Exact and deterministic: equal keys (-0 equals 0) by position, whatever
the seed of the pivots. Segments of any length, float32 and float64.

GPU: a group of 1 to 32 lanes a segment up to 256 keys (warp_sort.py: bitonic, in registers and by shuffles), a block up
to 1024 (quicksort.py: sorted runs merged in shared memory), a block with quicksort above, O(n log n) each. CPU:
segments in parallel; up to four rising or falling runs are merged, few keys between sorted ones are sorted apart,
others by insertion (up to 96) or byte by byte, O(n). segmented.py: what people hand in, checked, either way.
"""

from gpukit.sorting.segmented import segmented_argsort

__all__ = ["segmented_argsort"]
