"""Identify user, item and rating columns by name or option."""

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


ROLES = {"users": USER, "items": ITEM, "values": RATING, "times": TIME, "weights": WEIGHT, "counts": COUNT}
WORDS = {"users": "user", "items": "item", "values": "rating", "times": "timestamp", "weights": "weight"}
WORDS |= {"counts": "count"}  # words of --columns
IDS, TRIPLE, NUMBERS = ("users", "items"), ("users", "items", "values"), ("values", "weights", "counts")
MOST_UNNAMED = 4  # columns: user, item, rating and time
AUTO = "auto"  # read times if present
MAYBE = "maybe"  # as AUTO, with MISSING for invalid times: they only order the ratings of repeated pairs
OPTIONAL_TIMES = (False, AUTO, MAYBE)


def find_columns(names):
    """Return {role: position} of the first column of each role in a header."""
    simple = [plain(name) for name in names]
    places = {role: next((at for at, name in enumerate(simple) if name in known), -1) for role, known in ROLES.items()}
    return {role: place for role, place in places.items() if place >= 0}


def is_role(name):
    """Return True if a name is one of a known column."""
    return any(plain(name) in known for known in ROLES.values())


def has_ids(places):
    """Return True if a user and an item column are among {role: position}."""
    return all(role in places for role in IDS)


def refuse_unclear(names, where, option="--columns"):
    """Raise DataError for a table whose user, item and rating columns are unclear.

    names: its fields; where: name of the table, and what it shows; option: the option that names columns. The example
    is exact if one role is missing and one name is unknown, or if only the rating is missing (clicks).
    """
    words = [next((WORDS[role] for role in ROLES if plain(name) in ROLES[role]), "-") for name in names]
    lacking = [WORDS[role] for role in TRIPLE if WORDS[role] not in words]
    example = "user,item" if len(names) == len(IDS) else "user,item,-,rating"
    melted = ""
    if {"item", "rating"} <= {*lacking} and len(names) > MOST_UNNAMED:
        melted = " A table with a column for each item needs a line for each rating instead (pandas: melt)."
    if len(lacking) == words.count("-") == 1:
        words[words.index("-")] = lacking.pop()
    if not lacking or lacking == ["rating"]:
        example = ",".join(words)
    raise DataError(
        f"{where}: which columns are user, item and rating is not clear. Name them in order with {option}, - for a "
        f"column to ignore (such as {example}; clicks have no rating).{melted}"
    )


def columns_of(names, request, what, is_header=False):
    """Return ({role: position}, is_header) of a table; DataError for a certain header without known names.

    names: the fields of the first line; request: formats.Request; what: names the table in messages; is_header: True if
    the names are certainly a header, as in Parquet. Without a header the columns are user, item, rating and time. Pairs
    without ratings are clicks: a weight serves as their count if there is no count.
    """
    need, known = request.need_rating, find_columns(names)
    is_known = has_ids(known) and (not need or "values" in known or _are_pairs(names))
    is_header = is_header or is_known
    if request.columns is not None:
        places = _requested(request.columns, need)
    elif is_known:
        places = known
    elif is_header:
        refuse_unclear(names, f"{what} has the columns {', '.join(map(str, names))}")
    else:
        places = dict(zip(("users", "items", "values", "times"), range(len(names) if need else 2)))
    if not request.times:
        places.pop("times", None)
    if need and "values" not in places:
        if "weights" in places:
            places.setdefault("counts", places.pop("weights"))
    elif request.columns is None:
        places.pop("weights", None)
        places.pop("counts", None)
    if request.times not in OPTIONAL_TIMES and "times" not in places:
        refuse_times(what)
    check_reach(places, len(names), what)
    if is_header:
        refuse_repeated(names, request.columns, what)
        note_unread(names, places, request.times, what)
    return places if need else {role: place for role, place in places.items() if role != "values"}, is_header


def _are_pairs(names):
    """Return True if a header names at most users, items, times, weights and counts."""
    return all(plain(name) in USER | ITEM | TIME | WEIGHT | COUNT for name in names)


def heads(words, places):
    """Return True if words name user and item at {role: position}."""
    return all(plain(words[places[role]]) in ROLES[role] for role in IDS)


def refuse_repeated(names, columns, what):
    """Raise DataError for a repeated user, item or rating name.

    Passes if the caller named the columns. names, what: as in columns_of; columns: the caller's.
    """
    simple = [plain(name) for name in names]
    for name in simple if columns is None else ():
        if name in USER | ITEM | RATING and simple.count(name) > 1:
            raise DataError(
                f"{what} has several columns named {str(names[simple.index(name)])!r:.80}. Say which one counts with "
                "--columns, - for the others (such as user,-,item,rating)."
            )


def _requested(columns, need_rating):
    """Return {role: position} of 'user,item,-,rating' or a sequence of such words.

    Raises ParameterError if unclear.
    """
    words = [str(word).strip() for word in (columns.split(",") if isinstance(columns, str) else columns)]
    users, items, ratings = (sum(plain(word) in ROLES[role] for word in words) for role in TRIPLE)
    if users != 1 or items != 1 or (need_rating and ratings > 1):
        raise ParameterError(
            f"columns must name user and item{' (and rating, if it is there)' if need_rating else ''} once each, in "
            "the file's order, with - for a column to ignore (such as user,item,-,rating); "
            f"got {','.join(words)!r}."
        )
    return find_columns(words)


def note_unread(names, places, times, what):
    """Note unread columns of times, weights and counts; times as in read_ratings."""
    read = {place for role, place in places.items() if role != "times" or times not in (False, MAYBE)}
    left = [
        str(names[place]) for role, place in find_columns(names).items() if role not in TRIPLE and place not in read
    ]
    if left:
        notes.add(what, "", left_out=left)


def refuse_times(what):
    """Raise DataError for requested times that a table does not have."""
    raise DataError(
        f"{what} has no column of times (timestamp, time, date). Name it among the columns with --columns "
        "(such as user,item,rating,timestamp), or do not ask for times."
    )


def check_same_columns(name, roles, first):
    """Return (name, roles of the columns) of the first part of a table; DataError if another part has other roles.

    name, roles: of a part; first: the result for the part before, None for the first part.
    """
    if first is None or roles == first[1]:
        return first or (name, roles)
    here, there = (", ".join(WORDS[role] for role in ROLES if role in some) for some in (roles, first[1]))
    raise DataError(
        f"{name} has the columns {here}, but {first[0]} has {there}. Give all parts the same columns, or name those to "
        "read with --columns."
    )


def check_reach(places, count, name):
    """Raise DataError if a named column is beyond the file's columns."""
    if max(places.values()) >= count:
        raise DataError(
            f"{name} has {count} column(s), but the columns asked for need {max(places.values()) + 1}. Name the "
            "file's columns in order with --columns (such as user,item,rating), or set --sep."
        )
