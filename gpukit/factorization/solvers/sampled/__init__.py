"""SGD on clicks with sampled negatives: CULSH-MF and CUSGD++ with the cross-entropy loss, and BPR.

training.py    an epoch, for either device        kernels.py, twins.py  one epoch
formulas.py    losses, sampling, Eq. (1) for clicks; arrays of the epoch

Papers: Li et al. 2022, section 5.4; Rendle, Freudenthaler, Gantner and Schmidt-Thieme, "BPR: Bayesian Personalized
Ranking from Implicit Feedback", UAI 2009. Cost of an epoch: 1 + n examples of 4 F multiplications per click, 6 K more
with neighbourhoods. Deterministic: with one worker; the negatives are always a function of the seed.
"""
