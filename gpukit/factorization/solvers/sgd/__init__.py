"""Stochastic gradient descent: CUSGD++ and CULSH-MF.

formulas.py   Eq. (5)          kernels.py, twins.py  one epoch
schedule.py   who walks what   rates.py              learning rates by epoch
training.py   an epoch after the other, for either device
chunks/       the table of an epoch without locks    batches/  epochs that give one result, on a GPU
places/       where on a GPU rows lie
"""
