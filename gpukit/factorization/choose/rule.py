"""Whether anything has to be chosen, told by how many ratings a user and an item have, never by their number alone."""

BIASES = "damped biases"  # what a model is called that is no more than them
RATINGS_A_ROW = 64  # ratings a row (a user or an item) from which the usual settings are as good as chosen ones
LEAST = 30  # ratings that can be shared out to train and to judge
OPEN = ("n_factors", "n_neighbors", "n_epochs", "regularization")  # parameters whose None means: choose


def density(n_ratings, shape):
    """Ratings for each of the M users and N items: about what there is to learn a row of parameters from."""
    return n_ratings / max(1, sum(shape))


def is_sparse(n_ratings, shape):
    """Whether the usual settings may learn the ratings by heart."""
    return density(n_ratings, shape) < RATINGS_A_ROW


def left_open(estimator):
    """The names in OPEN that the user left at None; none of solvers and rates that come with settings of their own."""
    if estimator.rates != "adaptive" or estimator.solver not in ("auto", "sgd"):
        return set()
    return {name for name in OPEN if getattr(estimator, name, 0) is None}


def wants_factors(estimator):
    """Whether the user named an option that damped biases have no use for."""
    named = (*OPEN, "learning_rate")
    return any(getattr(estimator, name, None) is not None for name in named) or not getattr(estimator, "biases", True)
