"""Ids in every spelling: of users and items from training to answers, of sensors, and of the vertices of graphs."""

import functools
import shlex

import pytest

from golden.command import Case

SPELLINGS = {
    "leading zeros": ("007", "7", "0", "00"),
    "numbers like floats": ("1e5", "100000", "1.0", "1"),
    "words for nothing": ("nan", "NA", "null", "None"),
    "signs": ("+1", "1", "-1"),
    "underscores": ("1_000", "1000", "1 000"),
    "blanks": (" lead", "lead", "trail ", "two words"),
    "quotes": ('"q"', "'q'", "q", 'a "b"'),
    "separators": ("a,b", "a;b", "a\tb", "a"),
    "line feeds": ("a\nb", "a", "a\r\nb"),
    "beyond 2^63": ("9223372036854775807", "9223372036854775808", "18446744073709551616"),
    "Turkish letters": ("I", "i", "\u0131", "\u0130"),
    "composed and not": ("\u00e9", "e\u0301", "e"),
    "other scripts": ("\u0661", "1", "\u4e00", "\U0001f600"),
    "dates": ("2020-01-01", "2020-01-02", "2020-1-1"),
    "signs of comments": ("#1", "1", "%1"),
    "formulas": ("=1+1", "@a", "1"),
}
TRAIN = "train-lshmf ratings.csv --model m.gpukit --factors 2 --neighbors 0 --epochs 1 --test-fraction 0 --quiet"


def field(word):
    """A word as csv has it."""
    is_plain = word == word.strip() and not set(word) & set(',;\t"\r\n#')
    return word if is_plain else '"' + word.replace('"', '""') + '"'


def rated(name, ids):
    """A case: users and items with these ids are learned, predicted, listed and shown with titles."""
    words = [field(word) for word in ids]
    rows = [(u, i) for u in range(len(ids)) for i in range(len(ids)) if i != u]
    ratings = "user,item,rating\n" + "".join(f"{words[u]},{words[i]},{1 + (u + 2 * i) % 5}\n" for u, i in rows)
    titles = "item,title\n" + "".join(f"{word},Title {at}\n" for at, word in enumerate(words))
    pairs = "user,item\n" + "".join(f"{word},{word}\n" for word in words) + "unknown,unknown\n"
    who = [f"--user={shlex.quote(word)}" for word in ids]
    commands = (
        TRAIN,
        "predict m.gpukit pairs.csv --output out.csv",
        *(f"recommend m.gpukit {one} --by rating --titles titles.csv" for one in who),
        "recommend m.gpukit --all --by rating --output lists.csv",
    )
    files = {"ratings.csv": ratings, "titles.csv": titles, "pairs.csv": pairs}
    return Case(f"ratings: {name}", commands, files, outputs=("out.csv", "lists.csv"))


def wide(ids):
    """A table with a column for each sensor, and one value missing."""
    header = ",".join(["time", *map(field, ids)])
    return f"{header}\n2024-01-01,{'1.5,' * (len(ids) - 1)}\n2024-01-02,,{'2,' * (len(ids) - 2)}3\n"


def long(ids):
    """A table with a line for each reading, some missing."""
    rows = [(f"2024-01-0{day}", field(word)) for day in (1, 2) for at, word in enumerate(ids) if day == 1 or at]
    return "time,sensor,value\n" + "".join(f"{day},{word},{len(word)}.5\n" for day, word in rows)


def sensors(name, ids, layout, content):
    """A case: a table of sensors with these names is filled in and comes back."""
    command = "impute table.csv --method interpolation --output out.csv"
    return Case(f"{layout}: {name}", command, {"table.csv": content}, outputs=("out.csv",))


def graph(role):
    """The labels and the weights of the graph that a file makes for the sensors of a table."""
    import gpukit

    data = gpukit.read_graph("table.csv", **{role: f"{role}.csv"})
    return {"vertices": data.vertices, "adjacency": data.adjacency.toarray()}


def graphs(name, ids, role):
    """A case: edges or places of sensors with these names."""
    words = [field(word) for word in ids]
    if role == "edges":
        content = "".join(f"{one},{other},1.5\n" for one, other in zip(words, words[1:]))
    else:
        content = "sensor,latitude,longitude\n" + "".join(f"{w},48.{at},2.{at}\n" for at, w in enumerate(words))
    files = {"table.csv": wide(ids), f"{role}.csv": content}
    return Case(f"{role}: {name}", functools.partial(graph, role), files)


CASES = (
    *(rated(name, ids) for name, ids in SPELLINGS.items()),
    *(sensors(name, ids, "a column a sensor", wide(ids)) for name, ids in SPELLINGS.items()),
    *(sensors(name, ids, "a line a reading", long(ids)) for name, ids in SPELLINGS.items()),
    *(graphs(name, ids, "edges") for name, ids in SPELLINGS.items()),
    *(graphs(name, ids, "coordinates") for name, ids in SPELLINGS.items()),
    sensors("an empty name", (), "a column a sensor", "time,a,\n2024-01-01,1.5,2\n2024-01-02,,3\n"),
    sensors(
        "an empty name", (), "a line a reading", "time,sensor,value\n2024-01-01,a,1\n2024-01-01,,2\n2024-01-02,a,\n"
    ),
    Case(
        "edges: an empty name",
        functools.partial(graph, "edges"),
        {"table.csv": wide(("a", "b")), "edges.csv": "a,b\na,\n"},
    ),
    Case(
        "ratings: two byte order marks before the first id",
        ("convert ratings.csv out.csv",),
        {"ratings.csv": "\ufeff\ufeffa,10,5\nb,11,3\na,12,4\n"},
        outputs=("out.csv",),
    ),
    Case(
        "titles: an empty item",
        (TRAIN, "recommend m.gpukit --user=1 --titles titles.csv"),
        {"ratings.csv": "1,10,5\n2,11,3\n1,12,4\n2,10,4\n", "titles.csv": "item,title\n10,Ten\n,None\n"},
    ),
    Case(
        "titles: integers with zeros before them",
        (TRAIN, "recommend m.gpukit --user=1 --by rating --titles titles.csv"),
        {"ratings.csv": "1,10,5\n2,11,3\n1,12,4\n2,10,4\n", "titles.csv": "item,title\n0011,Eleven\n10,Ten\n"},
    ),
    Case(
        "titles: an item twice",
        (TRAIN, "recommend m.gpukit --user=1 --by rating --titles titles.csv"),
        {"ratings.csv": "1,10,5\n2,11,3\n1,12,4\n2,10,4\n", "titles.csv": "item,title\n11,Eleven\n11,Again\n"},
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_ids(check, case):
    check(case)
