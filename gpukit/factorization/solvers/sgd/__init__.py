"""Stochastic gradient descent: CUSGD++ and CULSH-MF.

formulas.py   Eq. (5)                  kernels.py, twins.py  one epoch
schedule.py   chunks of each worker    rates.py              learning rates by epoch
training.py   epochs, for either device
chunks/       chunk tables             batches/  deterministic epochs on a GPU
places/       position of the minor rows in GPU memory
"""
