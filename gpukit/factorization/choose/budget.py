"""How much work choosing may be: counted in ratings walked, not by the clock, so that the choice stays the same.

A rating walked once with 32 factors and 32 neighbours is the unit. In a script on one thread it takes about 0.11
microseconds, 32 factors alone a third of that, and both times grow with factors and neighbours as `weight` does.
"""

from gpukit.model_selection.budget import Budget

EPOCHS = 20  # of a training, the most that are chosen
TRAININGS, OF_MANY = 8, 4  # on all ratings, EPOCHS each: that choosing may come to, and of candidates.MANY ratings
LITTLE = 10_000_000  # units that are a second or two, and may be spent in any case


def budget_of(n_ratings, many):
    """The Budget for so many ratings; many: whether they are candidates.MANY."""
    return Budget(max(LITTLE, n_ratings * EPOCHS * (OF_MANY if many else TRAININGS)))


def weight(n_factors, n_neighbors):
    """Units of work that a rating is: a neighbour costs about twice what a factor does."""
    return (n_factors + 2 * n_neighbors + 8) / 104
