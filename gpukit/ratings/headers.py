"""Which column is the user, the item, the rating: by the names that data sets use, or as the caller names them."""

from typing import NamedTuple

from gpukit.errors import DataError, ParameterError
from gpukit.io.arrays import plain

USER = {
    "user",
    "userid",
    "users",
    "uid",
    "customer",
    "customerid",
    "custid",
    "reviewer",
    "reviewerid",
    "visitorid",
    "rater",
}
ITEM = {
    "item",
    "itemid",
    "items",
    "iid",
    "movie",
    "movieid",
    "film",
    "filmid",
    "product",
    "productid",
    "asin",
    "book",
    "bookid",
    "isbn",
    "song",
    "songid",
    "track",
    "trackid",
    "artist",
    "artistid",
    "business",
    "businessid",
    "joke",
    "anime",
    "animeid",
}
RATING = {"rating", "ratings", "score", "scores", "star", "stars", "overall", "bookrating", "userrating", "movierating"}

TIME = {"timestamp", "timestamps", "time", "date", "datetime", "unixreviewtime", "ratingtimestamp", "ratingdate", "ts"}
WEIGHT = {"weight", "weights"}
COUNT = {"count", "counts"}


class Triple(NamedTuple):
    """The places of user, item and rating among a table's columns; rating -1: not needed."""

    user: int
    item: int
    rating: int


class Extras(NamedTuple):
    """The places of the optional columns, -1 for one that is not there or not asked for."""

    time: int = -1
    weight: int = -1
    count: int = -1


def by_name(names, need_rating=True):
    """The Triple of header names, None when they are not all there (rating -1: not needed)."""
    places = Triple(*(_place(names, known) for known in (USER, ITEM, RATING)))
    if min(places.user, places.item) < 0 or (need_rating and places.rating < 0):
        return None
    return places


def time_by_name(names):
    """The place of the column of times among header names, -1 without one."""
    return _place(names, TIME)


def _place(names, known):
    """The first place whose name is among those known, -1 without one."""
    return next((at for at, name in enumerate(names) if plain(name) in known), -1)


def by_request(columns, need_rating=True):
    """The Triple of 'user,item,-,rating' or a sequence of such words; ParameterError if unclear."""
    words = _words(columns)
    simple = [plain(word) for word in words]
    wanted = (USER, ITEM, RATING) if need_rating else (USER, ITEM)
    if any(sum(word in known for word in simple) != 1 for known in wanted):
        raise ParameterError(
            f"columns must name {'user, item and rating' if need_rating else 'user and item'} once "
            "each, in the file's order, with - for a column to ignore (such as user,item,-,rating); "
            f"got {','.join(words)!r}."
        )
    return by_name(words, need_rating)


def extras_by_request(columns):
    """The Extras of 'user,item,-,rating,timestamp,weight' or a sequence of such words."""
    return Extras(*(_place(_words(columns), known) for known in (TIME, WEIGHT, COUNT)))


def extras_of(names, header, columns, times, what):
    """The Extras of a table: those that the caller named, else times by the header, else the fourth column.

    names: the fields of the first line; header: whether they are names; columns, times: what the caller said; what:
    names the table in the DataError for times that are asked for and not there.
    """
    if columns is None:
        place = time_by_name(names) if header else 3
        return extras_at(place, len(names), times, what)
    extras = extras_by_request(columns)
    if not times:
        return extras._replace(time=-1)
    return extras if extras.time >= 0 else _no_times(what)


def extras_at(place, count, times, what):
    """The Extras of a table of so many columns whose times, when asked for, stand at a place of its own."""
    if not times:
        return Extras()
    return Extras(place) if 0 <= place < count else _no_times(what)


def _no_times(what):
    raise DataError(
        f"{what} has no column of times (timestamp, time, date). Name it among the columns with --columns "
        "(such as user,item,rating,timestamp), or do not ask for times."
    )


def _words(columns):
    return [str(word).strip() for word in (columns.split(",") if isinstance(columns, str) else columns)]


def check_reach(places, count, name):
    """Raise DataError when a named column lies beyond the count of columns that a file has."""
    if max(places) >= count:
        raise DataError(
            f"{name} has {count} column(s), but the columns asked for need {max(places) + 1}. Name the "
            "file's columns in order with --columns (such as user,item,rating), or set --sep."
        )
