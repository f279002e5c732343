"""A model that stays on its device while ratings keep coming: Algorithm 4 (Li et al. 2022, section 4.3) at the cost of
the new ratings, not of all.

    session.py      Live: add, predict, recommend, model
    device_state.py arrays of the model on its device
    upload.py       copy a fitted model to the device
    tables.py       growing tables of rows
    ingest.py       new ratings in the rows of the model
    id_lookup.py    rows of known ids
    merge.py        new ratings sorted and merged into the history
    hashing.py      additive sums of simLSH
    learning.py     training of rows without earlier ratings
    pieces.py       rows cut into chunks on the device
    cpu.py | gpu.py -> twins.py | kernels.py

What is kept: parameter rows, neighbour lists, w and c; the history by user; of the items how many ratings each has and
the sums inside Eq. (3). A part is sorted by itself; the history takes it in by one pass of copies; nothing of it is
sorted, hashed or walked again. `partial_fit(rows="frozen")` gives the same model.

Cost: O(history) bytes copied, 10 a rating; O(part) for all else. Deterministic: as training is; the rest exactly.
"""
