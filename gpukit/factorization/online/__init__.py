"""Online updates: a fitted model learns new ratings, users and items.

Paper: Li et al. 2022, section 4.3, Algorithm 4. Hash values are updated, neighbours of new items are searched, and new
rows are trained while old rows stay fixed (rows='frozen'). With rows='move' all rows may change, which is closer to
retraining. Factors shrink before an epoch over the whole history, because a warm start generalizes worse than a fresh
one (Ash and Adams, "On Warm-Starting Neural Network Training", NeurIPS 2020).

    updating.py      partial_fit, live: a mixin of the estimators
    session.py       Live: a model that stays on its device between updates
    run.py           one update of a DeviceState, for both: training of rows without earlier ratings, with the others
                     fixed, and of all rows; when a model is retrained: growth and drift
    inputs.py        new ratings, validated, and their rows; new ids are appended; options, replayed history and
                     learning rates, entries of updates_
    device_state.py  ratings, parameters and additive sums of simLSH of a model on its device; new ratings sorted,
                     compared with the stored ones and merged into them
    cpu.py | gpu.py -> twins.py | kernels.py

`partial_fit` uploads the model, updates it and downloads it; `Live` keeps it on the device, with the sums of Eq. (3).
New ratings are sorted by themselves and copied into the history in one pass. With frozen rows the history is not sorted
or trained on again, and is hashed again only without kept sums.

Cost: O(history) bytes copied, 10 per rating; O(new ratings) for the rest; with moving rows, or to hash the history, a
sort of it. Deterministic: exact, except training.
"""
