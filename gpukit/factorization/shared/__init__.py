"""Training over the ranks of a parallel.Team. Each rank has the ratings of some users; ranks exchange rows of items.

    partition.py       partition of users and items; blocks of each rank at each step; weights of the ranks' changes to
                       copied rows; means of all ratings, chunk tables; least squares over ranks
    training.py        checks, preparation, an epoch, for either device; validation, the whole model; training on the
                       partitions of a Dask DataFrame
    cpu.py | gpu.py    an epoch's part of a rank, transfers
    kernels.py, twins.py   changes of rows

Every rank receives all ratings and keeps those of its users. Of ratings in parts it receives only these and returns
the model of its users. Least squares keeps all. A rank has the parameter rows, biases and history of its users, whose
rows are numbered by ascending number among all users, and those of all items. An item's row is current on the rank
that processed its block last. First factors and shuffles depend on the numbers among all users, so results do not
depend on the ranks. Mean, deviation, levels, baselines and counts are those of all ratings.

With walk='users', every rank has a copy of the items' rows. Their changes on all ranks are added many times per epoch,
on a GPU during training. With walk='items', items are in blocks, and no two ranks process a block at the same time, so
that no step is lost. There is a block per rank in a ring. With deterministic=True the blocks are the strata of
prepare/training_data.py, in the same order as without ranks, and the result is bit-identical
(MatrixFactorization).

Sources: Gemulla et al. 2011 (blocks without conflicts); Dean et al. 2012, sec. 4.1 (copies that receive all changes);
Li et al. 2022, sec. 4.2 (MCUSGD++, MCULSH-MF). Ranks transfer rows of items: Q of MatrixFactorization; P, w and c of
LSHMF. These are fewer bytes than the users' rows if there are fewer items.
"""
