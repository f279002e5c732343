"""Distribution of the paper's imputation over the ranks of a parallel.Team.

    completion.py  a rank and its part in a fit; rank 0's tensor and its requests
    share.py       a rank's share on any device             gpu.py         device operations of a share

Transforms are partitioned by columns, thresholding by slices. Each rank has some columns of the estimate (of the m n
entries, all incomplete vertices) and some whole spectral slices. A step transforms the rank's columns, exchanges
slices, thresholds the rank's slices, exchanges columns and transforms back. That takes two all-to-alls of K m n numbers
over all ranks, where the paper's GPU 0 distributes and collects all data. Data are sent in chunks, overlapped with
products.

Rank 0 alone runs the path and decides. It broadcasts requests and numbers; sums and ranks of slices are returned.
Parts are equal (the paper partitions by data sheets).

Source: Zhou and Zhang 2021, section 5.
"""
