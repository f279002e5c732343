"""Online updates: a fitted model learns new ratings, users and items.

Paper: Li et al. 2022, section 4.3, Algorithm 4. Hash values are updated, neighbours of new items are searched, and new
rows are trained while old rows stay fixed (rows='frozen'). With rows='move' the rows of all new ratings are then
trained on these, and a model that has grown by a twenty-fifth since its last training is retrained.

    session.py       Live: a model that stays on its device between updates
    run.py           one update of a DeviceState, for partial_fit and Live: training of rows without earlier ratings,
                     with the others fixed, and of the rows of all new ratings; retraining
    inputs.py        new ratings, validated, and their rows; new ids are appended; options, learning rates, entries of
                     updates_
    device_state.py  ratings, parameters and additive sums of simLSH of a model on its device; new ratings sorted,
                     compared with the stored ones and merged into them
    cpu.py | gpu.py -> twins.py | kernels.py

`partial_fit` uploads the model, updates it and downloads it; `Live` keeps it on the device, with the sums of Eq. (3).
New ratings are sorted by themselves and copied into the history in one pass. The history is not sorted or trained on
again, and is hashed again only for new items, without kept sums.

Cost: O(history) bytes copied, 10 per rating; O(new ratings) for the rest; to hash the history, a sort of it.
Deterministic: exact, except training.
"""
