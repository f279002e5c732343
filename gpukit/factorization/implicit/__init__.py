"""Clicks (implicit feedback): what `fit` does with who chose what, where nobody has said how good it was.

    feedback.py  ratings or clicks? told from the data or by name   hold_out.py  samples, held-out clicks
    weights.py   how much a click weighs                            evaluator.py a candidate's scores on them
    begin.py     everything before the first epoch                  choosing.py  the choice of settings
    prepared.py  clicks on a device, trainings over them            blend.py     a neighbourhood beside the factors
    start.py     the State that training begins with
    fold.py      a user who is not known, by a list of clicks       mix.py       two models as one
    update.py    new clicks learned by a fitted model

A model of clicks is a State as any other: mean 0, deviation 1, no bounds, baseline biases 0, each user's clicks as
History. So all that serves, explains and keeps models works on it; a prediction is a score, which ranks items for a
user.

Papers: Hu, Koren, Volinsky, ICDM 2008 (alternating least squares over all pairs); Li et al. 2022, section 5.4
(cross-entropy with sampled negatives); Rendle et al., UAI 2009 (BPR).
"""
