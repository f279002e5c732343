"""Whether anything has to be chosen, told by how many ratings a user and an item have, never by their number alone."""

BIASES = "damped biases"  # what a model is called that is no more than them
RATINGS_A_ROW = 100  # ratings of a user (or item, if those are more) from which what is usual does as well as chosen
FEW = 200_000  # ratings up to which choosing takes a second or two, so that nobody need rely on what is usual
VERY_MANY = 5_000_000  # ratings from which a look at a sample of them takes as long as much of a training on a GPU
LEAST = 30  # ratings that can be shared out to train and to judge
OPEN = ("n_factors", "n_neighbors", "n_epochs", "regularization")  # parameters whose None means: choose


def density(n_ratings, shape):
    """Ratings for each of the M users or of the N items, whichever are more: what their rows of parameters are learned
    from, however many ratings the others have."""
    return n_ratings / max(1, *shape)


def is_sparse(n_ratings, shape):
    """Whether the usual settings may learn the ratings by heart."""
    return density(n_ratings, shape) < RATINGS_A_ROW


def is_doubtful(n_ratings, shape):
    """Whether the usual settings are not to be relied on, by numbers alone."""
    return n_ratings <= FEW or is_sparse(n_ratings, shape)


def left_open(estimator):
    """The names in OPEN that the user left at None; none of solvers and rates that come with settings of their own."""
    if estimator.rates != "adaptive" or estimator.solver not in ("auto", "sgd"):
        return set()
    return {name for name in OPEN if getattr(estimator, name, 0) is None}


def wants_factors(estimator):
    """Whether the user named an option that damped biases have no use for."""
    named = (*OPEN, "learning_rate")
    return any(getattr(estimator, name, None) is not None for name in named) or not getattr(estimator, "biases", True)
