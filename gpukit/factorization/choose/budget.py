"""Budget of model selection, counted in processed ratings, not by the clock.

So the choice does not depend on the speed of the machine. The unit is one rating in one epoch with 32 factors and 32
neighbours. In a script on one thread it takes about 0.11 microseconds, 32 factors alone a third of that; both times
grow with factors and neighbours as `weight` does.
"""

from gpukit.model_selection.budget import Budget

EPOCHS = 20  # of a training, the maximum that can be chosen
TRAININGS, OF_MANY = 8, 4  # limit of the budget, in trainings of EPOCHS on all ratings; for candidates.MANY ratings
LITTLE = 10_000_000  # units that take a second or two and are always available


def budget_of(n_ratings, many):
    """Return the Budget for n_ratings.

    many: whether they are candidates.MANY.
    """
    return Budget(max(LITTLE, n_ratings * EPOCHS * (OF_MANY if many else TRAININGS)))


def weight(n_factors, n_neighbors):
    """Return the units of work of one rating.

    A neighbour costs about twice the units of a factor.
    """
    return (n_factors + 2 * n_neighbors + 8) / 104
