"""Stochastic gradient descent on clicks with sampled negatives: CULSH-MF and CUSGD++ with the cross-entropy, and BPR.

training.py    an epoch, written once             formulas.py           losses, draws, what Eq. (1) is for clicks
cpu.py, gpu.py workers, launches                  kernels.py, twins.py  one epoch
plan.py        workers and chunks                 rates.py              rates, negatives and epochs by default
arrays.py      what they hand around

Papers: Li et al. 2022, section 5.4; Rendle, Freudenthaler, Gantner and Schmidt-Thieme, "BPR: Bayesian Personalized
Ranking from Implicit Feedback", UAI 2009. Cost of an epoch: for a click 1 + n examples of 4 F multiplications, with
neighbourhoods 6 K more. Deterministic: with one worker; the negatives are a function of the seed in any case.
"""
