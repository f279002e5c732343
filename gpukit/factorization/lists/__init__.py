"""Lists that people would take: what a ranking leaves out, adds to scores and mixes.

    filters.py      Filters: what a list may show               recommending.py  recommend, for users that are known
    diversity.py    unlike items first among the best           files.py         items and categories, from files
    head.py         what ranks lists of a model of ratings: who rates what at all, and how; learning.py learns it,
                    choosing.py how strongly it is held where ratings are few

Source of the diversity: Carbonell and Goldstein, "The Use of MMR, Diversity-Based Reranking for Reordering Documents
and Producing Summaries", SIGIR 1998.
"""

from gpukit.factorization.lists.filters import Filters

__all__ = ["Filters"]
