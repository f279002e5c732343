"""Recommendation lists: ranking, filters and diversity.

    recommending.py recommend, for known users; Filters: items to show, additions to scores, diversity
    files.py        items and categories, from files
    head.py         ranking head of a model of ratings            learning.py      training and settings of the head

Source of the diversity: Carbonell and Goldstein, "The Use of MMR, Diversity-Based Reranking for Reordering Documents
and Producing Summaries", SIGIR 1998.
"""

from gpukit.factorization.lists.recommending import Filters

__all__ = ["Filters"]
