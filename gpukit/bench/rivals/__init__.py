"""Our defaults beside other packages, on ratings of others.

sets.py      real ratings, whole and thinned        packages.py  predictors: means, Surprise, ours
defaults.py  the table: `gpukit bench defaults`
deterministic.py  what deterministic training costs beside plain training
"""
