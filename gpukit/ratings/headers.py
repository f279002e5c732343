"""Which column is the user, the item, the rating: by the names that data sets use, or as the caller names them."""

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
FEW = 8  # columns that are all spelled out in a message
AUTO = "auto"  # times that are read where they are there
MAYBE = "maybe"  # as AUTO; what is no time is MISSING: such times only order the ratings of repeated pairs


class Triple(NamedTuple):
    """The places of user, item and rating among a table's columns; rating -1: not needed, or pairs without."""

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


def pairs_by_name(names):
    """The Triple of a header without a rating, of pairs: a user, an item and at most times, weights and counts beside
    them; None of any other."""
    places = by_name(names, need_rating=False)
    beside = USER | ITEM | TIME | WEIGHT | COUNT
    return places if places is not None and all(plain(name) in beside for name in names) else None


def unknown(names):
    """What a header that is not understood lacks, in words."""
    lacking = [role for role, known in ROLES.items() if _place(names, known) < 0]
    if len(lacking) == len(ROLES):
        return "user, item, rating and the like"
    return f"there is no {' and no '.join(lacking)} among them"


def columns_like(names):
    """What --columns could say of a header that is not understood: an example, to the point where one of user, item and
    rating is lacking and one name is not known, or rating alone (then the pairs are clicks)."""
    known = {**ROLES, "timestamp": TIME, "weight": WEIGHT, "count": COUNT}
    words = [next((role for role in known if plain(name) in known[role]), "-") for name in names]
    lacking = [role for role in ROLES if role not in words]
    if len(lacking) == words.count("-") == 1:
        return ",".join(lacking[0] if word == "-" else word for word in words)
    return ",".join(words) if lacking == ["rating"] else "user,item,-,rating"


def columns_of(names, request, what, named=False):
    """Return (Triple, Extras, whether the first line is a header); Triple is None where columns are unclear.

    names: the fields of the first line; request: formats.Request; what: names the table in messages; named: whether
    the names certainly are a header, which tables of Parquet have.
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
    """Whether a line's words name a user and an item at these places, a Triple: a header, whatever else it names."""
    return plain(words[places.user]) in USER and plain(words[places.item]) in ITEM


def time_by_name(names):
    """The place of the column of times among header names, -1 without one."""
    return _place(names, TIME)


def refuse_repeated(names, columns, what):
    """DataError for a header that names a user, an item or a rating twice with one word, unless the caller named the
    columns; names, columns and what as for `extras_of`."""
    simple = [plain(name) for name in names]
    for name in simple if columns is None else ():
        if name in USER | ITEM | RATING and simple.count(name) > 1:
            raise DataError(
                f"{what} has several columns named {str(names[simple.index(name)])!r:.80}. Say which one counts with "
                "--columns, - for the others (such as user,-,item,rating)."
            )


def refuse_many(count, what, shows, option):
    """DataError for a table of more columns than user, item, rating and time that does not say which they are; what:
    names it, shows: a line of it, option: what says which they are."""
    if count > MOST_UNNAMED:
        told = ",".join([*ROLES, *["-"] * (count - len(ROLES))]) if count <= FEW else "user,item,-,rating"
        raise DataError(
            f"{what} has {count:,} columns, and no names that say which are the user, the item and the rating{shows}. "
            f"Name them in order with {option} (such as {told}; clicks have no rating). A line with all items of a "
            "user, or a column for each item, needs a line for each of them instead."
        )


def _place(names, known):
    """The first place whose name is among those known, -1 without one."""
    return next((at for at, name in enumerate(names) if plain(name) in known), -1)


def by_request(columns, need_rating=True):
    """The Triple of 'user,item,-,rating' or a sequence of such words; ParameterError if unclear."""
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
    if times in (AUTO, MAYBE):
        return extras
    if not times:
        return extras._replace(time=-1)
    return extras if extras.time >= 0 else _no_times(what)


def note_unread(names, places, extras, times, what):
    """Note the columns of times, weights and counts in a header that are not read; times: as read_ratings has them."""
    read = {*places, *(extras if times not in (False, MAYBE) else extras[1:])}
    left = [str(names[place]) for place in extras_by_request(names) if place >= 0 and place not in read]
    if left:
        notes.add(what, "", left_out=left)


def extras_at(place, count, times, what):
    """The Extras of a table of so many columns whose times, when asked for, stand at a place of its own."""
    if not times:
        return Extras()
    if 0 <= place < count:
        return Extras(place)
    return Extras() if times in (AUTO, MAYBE) else _no_times(what)


def extras_of_pairs(names, columns, times, what):
    """The Extras of a table of pairs whose header says so, or whose columns the caller named: times where they are
    there, and how often each pair counts, which a weight tells where there is no count."""
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
    """Raise DataError when a named column lies beyond the count of columns that a file has."""
    if max(places) >= count:
        raise DataError(
            f"{name} has {count} column(s), but the columns asked for need {max(places) + 1}. Name the "
            "file's columns in order with --columns (such as user,item,rating), or set --sep."
        )
