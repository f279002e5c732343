"""Identify user, item and rating columns by name or option."""

from typing import NamedTuple

from gpukit.errors import DataError, ParameterError
from gpukit.io import notes
from gpukit.io.arrays import plain

USER = set(
    """
    user userid users uid customer customerid custid reviewer reviewerid visitorid rater memberid accountid clientid
    viewerid readerid playerid
    """.split()
)
ITEM = set(
    """
    item itemid items iid movie movieid film filmid product productid asin parentasin sku stockcode article
    articleid newsid video videoid photoid recipe recipeid game gameid appid courseid beerid restaurantid venueid
    book bookid isbn song songid track trackid artist artistid business businessid joke anime animeid
    """.split()
)
RATING = {"rating", "ratings", "score", "scores", "star", "stars", "overall", "bookrating", "userrating", "movierating"}

TIME = {"timestamp", "timestamps", "time", "date", "datetime", "unixreviewtime", "ratingtimestamp", "ratingdate", "ts"}
WEIGHT = {"weight", "weights"}
COUNT = set(
    """
    count counts plays playcount listens listencount clicks views visits purchases quantity qty frequency playtime
    watchtime duration hours minutes seconds
    """.split()
)


ROLES = {"user": USER, "item": ITEM, "rating": RATING}
MOST_UNNAMED = 4  # columns: user, item, rating and time
FEW = 8  # columns that a message lists in full
AUTO = "auto"  # read times if present
MAYBE = "maybe"  # as AUTO, with MISSING for invalid times: they only order the ratings of repeated pairs


class Triple(NamedTuple):
    """Positions of the user, item and rating columns; rating -1: none."""

    user: int
    item: int
    rating: int


class Extras(NamedTuple):
    """Positions of the optional columns, -1 if missing or not requested."""

    time: int = -1
    weight: int = -1
    count: int = -1


def by_name(names, need_rating=True):
    """Return the Triple of header names, or None if incomplete.

    rating is -1 if missing and not needed.
    """
    places = Triple(*(_place(names, known) for known in (USER, ITEM, RATING)))
    if min(places.user, places.item) < 0 or (need_rating and places.rating < 0):
        return None
    return places


def pairs_by_name(names):
    """Return the Triple of a header of pairs, else None.

    Such a header names a user, an item and at most times, weights and counts.
    """
    places = by_name(names, need_rating=False)
    allowed = USER | ITEM | TIME | WEIGHT | COUNT
    return places if places is not None and all(plain(name) in allowed for name in names) else None


def unknown(names):
    """Return which roles a header lacks, in words."""
    lacking = [role for role, known in ROLES.items() if _place(names, known) < 0]
    if len(lacking) == len(ROLES):
        return "user, item, rating and the like"
    return f"there is no {' and no '.join(lacking)} among them"


def columns_like(names):
    """Return an example of --columns for an unknown header.

    The example is exact if one role is missing and one name is unknown, or if only the rating is missing (clicks).
    """
    known = {**ROLES, "timestamp": TIME, "weight": WEIGHT, "count": COUNT}
    words = [next((role for role in known if plain(name) in known[role]), "-") for name in names]
    lacking = [role for role in ROLES if role not in words]
    if len(lacking) == words.count("-") == 1:
        return ",".join(lacking[0] if word == "-" else word for word in words)
    return ",".join(words) if lacking == ["rating"] else "user,item,-,rating"


def columns_of(names, request, what, named=False):
    """Return (Triple or None, Extras, is_header); None where columns are unclear.

    names: the fields of the first line; request: formats.Request; what: names the table in messages; named: True if the
    names are certainly a header, as in Parquet.
    """
    need = request.need_rating
    header = by_name(names, need) or (pairs_by_name(names) if need else None)
    is_header = named or header is not None
    places = header if named else header or Triple(0, 1, 2 if need and len(names) > 2 else -1)
    if request.columns is not None:
        places = by_request(request.columns, need)
    if places is None:
        return None, Extras(), True
    if need and places.rating < 0:
        extras = extras_of_pairs(names if is_header else (), request.columns, request.times, what)
    else:
        extras = extras_of(names, is_header, request.columns, request.times, what)
    check_reach((*places, *extras), len(names), what)
    if is_header:
        refuse_repeated(names, request.columns, what)
        note_unread(names, places, extras, request.times, what)
    return places if need else places._replace(rating=-1), extras, is_header


def heads(words, places):
    """Return True if words name user and item at a Triple."""
    return plain(words[places.user]) in USER and plain(words[places.item]) in ITEM


def time_by_name(names):
    """Return the position of the time column among header names, or -1."""
    return _place(names, TIME)


def refuse_repeated(names, columns, what):
    """Raise DataError for a repeated user, item or rating name.

    Passes if the caller named the columns. Arguments as in `extras_of`.
    """
    simple = [plain(name) for name in names]
    for name in simple if columns is None else ():
        if name in USER | ITEM | RATING and simple.count(name) > 1:
            raise DataError(
                f"{what} has several columns named {str(names[simple.index(name)])!r:.80}. Say which one counts with "
                "--columns, - for the others (such as user,-,item,rating)."
            )


def refuse_many(count, what, shows, option):
    """Raise DataError for an unnamed table of more than MOST_UNNAMED columns.

    what: name of the table; shows: one of its lines; option: the option that names columns.
    """
    if count > MOST_UNNAMED:
        example = ",".join([*ROLES, *["-"] * (count - len(ROLES))]) if count <= FEW else "user,item,-,rating"
        raise DataError(
            f"{what} has {count:,} columns, and no names that say which are the user, the item and the rating{shows}. "
            f"Name them in order with {option} (such as {example}; clicks have no rating). A line with all items of a "
            "user, or a column for each item, needs a line for each of them instead."
        )


def _place(names, known):
    """Return the position of the first known name, or -1."""
    return next((at for at, name in enumerate(names) if plain(name) in known), -1)


def by_request(columns, need_rating=True):
    """Return the Triple of 'user,item,-,rating' or a sequence of such words.

    Raises ParameterError if unclear.
    """
    words = _words(columns)
    simple = [plain(word) for word in words]
    found = [sum(word in known for word in simple) for known in (USER, ITEM, RATING)]
    if found[:2] != [1, 1] or (need_rating and found[2] > 1):
        raise ParameterError(
            f"columns must name user and item{' (and rating, if it is there)' if need_rating else ''} once each, in "
            "the file's order, with - for a column to ignore (such as user,item,-,rating); "
            f"got {','.join(words)!r}."
        )
    return by_name(words, need_rating=False)


def extras_by_request(columns):
    """Return the Extras of 'user,item,-,rating,timestamp,weight' or such a sequence."""
    return Extras(*(_place(_words(columns), known) for known in (TIME, WEIGHT, COUNT)))


def extras_of(names, header, columns, times, what):
    """Return the Extras of a table.

    They are named by the caller, else by the header; else times are the fourth column.

    names: the fields of the first line; header: True if they are names; columns, times: the caller's options; what:
    names the table in the DataError for requested but missing times.
    """
    if columns is None:
        place = time_by_name(names) if header else 3
        return extras_at(place, len(names), times, what)
    extras = extras_by_request(columns)
    if times in (AUTO, MAYBE):
        return extras
    if not times:
        return extras._replace(time=-1)
    return extras if extras.time >= 0 else _no_times(what)


def note_unread(names, places, extras, times, what):
    """Note unread columns of times, weights and counts; times as in read_ratings."""
    read = {*places, *(extras if times not in (False, MAYBE) else extras[1:])}
    left = [str(names[place]) for place in extras_by_request(names) if place >= 0 and place not in read]
    if left:
        notes.add(what, "", left_out=left)


def extras_at(place, count, times, what):
    """Return the Extras of a table with times at `place`."""
    if not times:
        return Extras()
    if 0 <= place < count:
        return Extras(place)
    return Extras() if times in (AUTO, MAYBE) else _no_times(what)


def extras_of_pairs(names, columns, times, what):
    """Return the Extras of a table of pairs with known column names.

    Times are read if present. A weight serves as the count of a pair if there is no count.
    """
    named = names if columns is None else _words(columns)
    found = Extras(*(_place(named, known) for known in (TIME, WEIGHT, COUNT)))
    if times not in (AUTO, MAYBE, False) and found.time < 0:
        return _no_times(what)
    return found._replace(weight=-1, count=found.count if found.count >= 0 else found.weight)


def _no_times(what):
    raise DataError(
        f"{what} has no column of times (timestamp, time, date). Name it among the columns with --columns "
        "(such as user,item,rating,timestamp), or do not ask for times."
    )


def _words(columns):
    return [str(word).strip() for word in (columns.split(",") if isinstance(columns, str) else columns)]


def check_reach(places, count, name):
    """Raise DataError if a named column is beyond the file's columns."""
    if max(places) >= count:
        raise DataError(
            f"{name} has {count} column(s), but the columns asked for need {max(places) + 1}. Name the "
            "file's columns in order with --columns (such as user,item,rating), or set --sep."
        )
