"""A model that stays on its device while ratings keep coming: Algorithm 4 (Li et al. 2022, section 4.3) at the cost of
the new ratings, not of all.

    session.py   Live: add, predict, recommend, model          held.py      what lies on the device
    opening.py   a fitted model put there                      tables.py    rows with room for more
    entering.py  new ratings sorted, merged into the history   hashing.py   sums of simLSH that are added to
    learning.py  rows without ratings so far learn theirs      finding.py   ids among those that are known
    arriving.py  ratings as they come, in the model's rows      pieces.py    rows cut into chunks where they lie
    cpu.py | gpu.py -> twins.py | kernels.py

What is kept: parameter rows, neighbour lists, w and c; the history by user; of the items how many ratings each has and
the sums inside Eq. (3). A part is sorted by itself; the history takes it in by one pass of copies; nothing of it is
sorted, hashed or walked again. `partial_fit(rows="frozen")` gives the same model.

Cost: O(history) bytes copied, 10 a rating; O(part) for all else. Deterministic: as training is; the rest exactly.
"""
