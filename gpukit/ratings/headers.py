"""Which column is the user, the item, the rating: by the names that data sets use, or as the caller names them."""

from gpukit.errors import DataError, ParameterError

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


def plain(name):
    """A column name without case, spaces, quotes and punctuation: 'User_ID' -> 'userid'."""
    return "".join(letter for letter in str(name).lower() if letter.isalnum())


def by_name(names, need_rating=True):
    """(user, item, rating) places among header names, None when they are not all there (rating -1: not needed)."""
    simple = [plain(name) for name in names]
    places = [next((at for at, name in enumerate(simple) if name in known), -1) for known in (USER, ITEM, RATING)]
    if min(places[:2]) < 0 or (need_rating and places[2] < 0):
        return None
    return tuple(places)


def by_request(columns, need_rating=True):
    """(user, item, rating) places from 'user,item,-,rating' or a sequence of such words; ParameterError if unclear."""
    words = [str(word).strip() for word in (columns.split(",") if isinstance(columns, str) else columns)]
    simple = [plain(word) for word in words]
    wanted = (USER, ITEM, RATING) if need_rating else (USER, ITEM)
    if any(sum(word in known for word in simple) != 1 for known in wanted):
        raise ParameterError(
            f"columns must name {'user, item and rating' if need_rating else 'user and item'} once "
            "each, in the file's order, with - for a column to ignore (such as user,item,-,rating); "
            f"got {','.join(words)!r}."
        )
    return by_name(words, need_rating)


def check_reach(places, count, name):
    """Raise DataError when a named column lies beyond the count of columns that a file has."""
    if max(places) >= count:
        raise DataError(
            f"{name} has {count} column(s), but the columns asked for need {max(places) + 1}. Name the "
            "file's columns in order with --columns (such as user,item,rating), or set --sep."
        )
