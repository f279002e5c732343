"""A training over the ranks of a parallel.Team: each has some users' ratings; what they share is items' rows.

    begin.py     everything before the first epoch; what is refused       block_schedule.py  who walks which block when
    parts.py     which users are whose, which items make a block          training.py an epoch, written once
    training_data.py  ratings in the form that an epoch reads, by block        session.py  judging, and the whole model
    cpu.py | gpu.py   a rank's walks; what travels                        searching.py  neighbours of all ranks' items
    rows.py      least squares: who solves for which rows                 choosing.py   settings that are left open
    damping.py   how much of all ranks' changes is added
    kernels.py, twins.py   the keys that ratings are grouped by; changes of rows; how far they go
    formulas.py  what kernels and twins share

Every rank is handed all ratings and, but for least squares, keeps its users'. Tables of parameters have all rows on
every rank, numbered as without ranks; a user's are right where the user is, an item's where its block was walked last.
Mean, deviation, levels, baselines and counts are those of all ratings.

Users walk over a copy of the items' rows on each rank; what ranks have changed in theirs is added up many times an
epoch, on a GPU while they walk. Items walk in blocks: no two ranks walk one block at a time, so no rank's step is lost.
B blocks in a ring, `parts.A_RANK` for each rank; with more than one, one is under way while another is walked. With
deterministic=True they are the strata of prepare/conflict_free_blocks.py, the same blocks and the same order as without
ranks, and so is the result to the bit (MatrixFactorization).

Sources: Gemulla et al. 2011 (blocks without conflicts); Dean et al. 2012, sec. 4.1 (copies to which all add their
changes); Li et al. 2022, sec. 4.2 (MCUSGD++, MCULSH-MF). What travels: rows of items, of MatrixFactorization Q, of
LSHMF P and w, c; fewer bytes than users' wherever there are fewer items.
"""
