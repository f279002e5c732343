"""Epochs that give one result whoever does the work, in batches: first the rows of the major side learn, each by one
worker and with the other side as it stands; then those of the minor side do, of the same ratings.

A minor row learns of each rating from the major row as the rating found it: what the major row learned of that rating
is not yet in it. Without that both sides would fit the same ratings twice, and the test error of MovieLens 1M be 0.008
higher; with it training is as good as plain. Nothing is added by two workers, so nothing hangs on who comes first.

    deal.py              which ratings make a batch, which rows learn of many at once
    training.py          an epoch, written once
    cpu.py | gpu.py      its steps -> twins/ | kernels/: keys, team (what a row learns of a rating), major, minor

Cost: both sides' rows are read once a rating and the row that was found is written and read. Memory: 4 bytes a rating,
and the rows that the ratings of one batch found (deal.SEEN_BYTES at most, about). Deterministic: yes, for one device.
"""
