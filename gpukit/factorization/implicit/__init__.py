"""Clicks (implicit feedback): training, model selection and updates.

    feedback.py  detection of ratings or clicks
    choosing.py  model selection; preparation before the first epoch
    prepared.py  weights of clicks, clicks on a device, trainings, held-out clicks, measures of a candidate on them
    update.py    online updates of a fitted model

A model of clicks is a State like any other: mean 0, deviation 1, no bounds, baseline biases 0, each user's clicks as
History. So serving, explanations and files work on it. A prediction is a score that ranks items for a user.

Papers: Hu, Koren, Volinsky, ICDM 2008 (alternating least squares over all pairs); Li et al. 2022, section 5.4
(cross-entropy with sampled negatives); Rendle et al., UAI 2009 (BPR).
"""
