"""Detect whether ratings are ratings or clicks."""

import warnings

from gpukit.errors import DataError, ParameterError
from gpukit.factorization.settings import goal_of
from gpukit.ratings.check import (
    are_clicks,
    are_pairs,
    clicks_after,
    clicks_of,
    code_of_missing,
    look_like_counts,
    number_lines,
)
from gpukit.ratings.parts import RatingsPart
from gpukit.ratings.repeats import validate


def resolve_feedback(estimator, ratings):
    """Return ('explicit' or 'implicit', the Ratings to learn).

    The estimator's parameters decide, otherwise the Ratings: if all values are equal they are clicks, which get values
    of 1.

    Raises ParameterError for inconsistent parameters, and for ratings with parameters for clicks unless feedback is
    'implicit'. Raises DataError if no click is left.
    """
    feedback, positive_from = estimator.feedback, estimator.positive_from
    is_implicit = positive_from is not None or are_clicks(ratings)
    kind = feedback if feedback != "auto" else "implicit" if is_implicit else "explicit"
    goal_of(estimator, kind)
    if kind == "explicit":
        return kind, ratings
    if isinstance(ratings, RatingsPart):
        raise ParameterError(
            "Ratings in parts are not learned as clicks, which equal ratings are. Read them on one rank (name a file "
            "instead of a pattern, or pass frame.compute()), or give feedback='explicit'."
        )
    return kind, clicks_of(validate(ratings), positive_from)


def warn_of_columns(estimator, ratings):
    """Warn (UserWarning) of users that look like the numbers of lines, of counts, and of a code for no rating.

    Only if feedback is 'auto'.
    """
    if estimator.feedback == "auto" and number_lines(ratings):
        warnings.warn(
            f"each of the {len(ratings):,} users has one rating, and their ids are the numbers of the lines. If the "
            "first column is no user, name the columns: columns='-,user,item,rating'.",
            UserWarning,
            stacklevel=4,
        )
    if estimator.feedback == "auto" and look_like_counts(ratings):
        warnings.warn(
            "the ratings are whole numbers with a heavy tail, which look like counts and are learned as ratings. If "
            "they count how often, use feedback='implicit', or read them with columns='user,item,count'.",
            UserWarning,
            stacklevel=4,
        )
    elif estimator.feedback == "auto" and (code := code_of_missing(ratings)):
        value, share = code
        warnings.warn(
            f"{share:.0%} of the ratings are {value:g}, unlike the others, and are learned as ratings. If {value:g} "
            "means that there is no rating, leave these lines out.",
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
    return later_clicks(estimator, validate(ratings))


def later_clicks(estimator, ratings):
    """Return the clicks in Ratings that arrive after an estimator's training on clicks.

    Raises DataError if no click is left, and for ratings that training would not have counted as clicks.
    """
    if estimator.positive_from is None and estimator.feedback == "auto" and not are_clicks(ratings):
        raise DataError(
            f"There are {len(ratings):,} ratings from {ratings.values.min():g} to {ratings.values.max():g}, and the "
            "model is of clicks without ratings. If they are counts, say so (--columns user,item,count, in Python "
            "set feedback='implicit'); if each is a click, leave them out (--columns user,item); otherwise remove what "
            "is not a click, or train with positive_from."
        )
    return clicks_after(ratings, estimator.positive_from)
