"""The paper's imputation over the ranks of a parallel.Team: columns for the transforms, slices for the thresholding.

    session.py   rank 0's Session: it asks, all answer          parts.py    who has which columns and slices
    handing.py   a tensor handed out; shares of it begin        moving.py   shares moved to other parts
    share.py     a rank's share, whichever device               crew.py     a rank: team, device, lines
    cpu.py | gpu.py   what a share needs of a device            helping.py  a fit, seen from each rank

Each rank has some columns of the estimate (of the m n entries, all vertices that miss something) and some spectral
slices, whole. A step: transform the own columns, hand each rank its slices of them, threshold the own slices, hand each
rank its columns of those, transform back: two all-to-alls of K m n numbers over all ranks, where the paper's GPU 0
sends everything out and collects it. What travels goes in chunks, while products go on.

Rank 0 alone walks the path and decides; a question and its numbers go out, sums and ranks of slices come back. Parts
are even at first; after six steps they become what each rank does a second, if that saves enough (the paper's
partition by performance, which goes by data sheets).

Source: Zhou and Zhang 2021, section 5.
"""
