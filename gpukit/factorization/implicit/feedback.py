"""Detect whether ratings are ratings or clicks."""

import warnings

from gpukit.errors import DataError
from gpukit.factorization.objective import goal_of
from gpukit.ratings.clicks import are_clicks, are_pairs, clicks_after, clicks_of, look_like_counts


def resolved(estimator, ratings, kind=None):
    """Return ('explicit' or 'implicit', the Ratings to learn).

    The estimator's parameters decide, otherwise the Ratings: if all values are equal they are clicks, which get values
    of 1. kind: the kind of feedback, if known.

    Raises ParameterError for inconsistent parameters, and for ratings with parameters for clicks unless feedback is
    'implicit'. Raises DataError if no click is left.
    """
    named, positive_from = estimator.feedback, estimator.positive_from
    alike = kind is None and are_clicks(ratings)
    named = kind or named
    kind = named if named != "auto" else "implicit" if alike or positive_from is not None else "explicit"
    goal_of(estimator, kind)
    if kind == "explicit":
        return kind, ratings
    from gpukit.ratings.repeats import checked

    return kind, clicks_of(checked(ratings), positive_from)


def warn_of_counts(estimator, ratings):
    """Warn (UserWarning) if feedback is 'auto' and ratings look like counts."""
    if estimator.feedback == "auto" and look_like_counts(ratings):
        warnings.warn(
            "the ratings are whole numbers with a heavy tail, which look like counts and are learned as ratings. If "
            "they count how often, use feedback='implicit', or read them with columns='user,item,count'.",
            UserWarning,
            stacklevel=4,
        )


def check_test(kind, test):
    """Raise DataError for pairs that should judge a model of ratings.

    Pairs have values of 1, which would count as low ratings.
    """
    if kind == "explicit" and are_pairs(test):
        raise DataError(
            f"What is to be tested on holds {len(test):,} pairs without ratings, and ratings are learned. Name "
            "the column of ratings, or give another file."
        )


def judges_of(estimator, ratings, kind):
    """Return the Ratings that judge an estimator that learns `kind`.

    For clicks these are the ones that count as clicks. Raises DataError as check_test.
    """
    check_test(kind, ratings)
    if kind == "explicit":
        return ratings
    from gpukit.ratings.repeats import checked

    return clicks_after(checked(ratings), estimator.positive_from)
