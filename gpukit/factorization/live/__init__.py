"""A model on its device that learns new ratings: Algorithm 4 (Li et al. 2022, section 4.3).

    session.py      Live: add, predict, recommend, model
    device_state.py arrays of the model on its device, growing tables of rows
    upload.py       copy a fitted model to the device
    ingest.py       new ratings in the rows of the model, rows of known ids
    merge.py        new ratings sorted and merged into the history
    hashing.py      additive sums of simLSH
    learning.py     training of rows without earlier ratings
    pieces.py       rows cut into chunks on the device
    cpu.py | gpu.py -> twins.py | kernels.py

The device has the parameter rows, the neighbour lists, w and c, the history by user, the number of ratings of each item
and the sums of Eq. (3). New ratings are sorted by themselves and copied into the history in one pass; the history is
not sorted, hashed or trained on again. `partial_fit(rows="frozen")` gives the same model.

Cost: O(history) bytes copied, 10 per rating; O(new ratings) for the rest. Deterministic: exact, except training.
"""
