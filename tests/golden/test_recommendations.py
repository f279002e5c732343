"""Models of ratings and of clicks: what each command answers from them, or the line with which it refuses."""

import pytest

from golden.command import Case

USERS, ITEMS = 12, 9
RATED = [(u, i) for u in range(USERS) for i in range(ITEMS) if (3 * u + 5 * i) % 4]
RATINGS = "user,item,rating\n" + "".join(f"u{u},{i:03d},{1 + (u * i + u + i) % 5}\n" for u, i in RATED)
CLICKS = "user,item\n" + "".join(f"u{u},{i:03d}\n" for u, i in RATED)
FILES = {
    "ratings.csv": RATINGS,
    "new.csv": "user,item,rating\nu1,001,5\nnew,002,4\n",
    "pairs.csv": "user,item\nu1,001\nu2,002\n",
}


def after(name, *commands, outputs=(), stdin=None, **files):
    """A case: a model is trained, and the commands use it."""
    train = "train-lshmf ratings.csv --model m.gpukit --factors 4 --neighbors 3 --epochs 3 --lsh-q 4 --quiet"
    return Case(name, (train, *commands), {**FILES, **files}, stdin, outputs, shared=True)


CASES = (
    after("recommend to a user", "recommend m.gpukit --user u1 -n 3"),
    after("recommend to all", "recommend m.gpukit --all -n 2 --output lists.csv", outputs=("lists.csv",)),
    after("recommend to a user unknown", "recommend m.gpukit --user 1050 -n 3"),
    after("recommend more than there is", "recommend m.gpukit --user u1 -n 1000"),
    after("recommend none", "recommend m.gpukit --user u1 -n 0"),
    after(
        "recommend by titles",
        "recommend m.gpukit --user u1 -n 2 --titles t.csv",
        **{"t.csv": "item,title\n000,A\n001,B\x1b[2J\n"},
    ),
    after("predict pairs", "predict m.gpukit pairs.csv --output out.csv", outputs=("out.csv",)),
    after("predict a pipe", "predict m.gpukit - --output out.csv", stdin="u1,001\nu2,002\n", outputs=("out.csv",)),
    after(
        "predict unknown ids",
        "predict m.gpukit p.csv --output out.csv",
        outputs=("out.csv",),
        **{"p.csv": "u1,zzz\nnobody,001\n"},
    ),
    after("evaluate", "evaluate m.gpukit ratings.csv"),
    after("similar items", "similar m.gpukit --item 001 -n 3"),
    after("similar users", "similar m.gpukit --user u1 -n 3"),
    after("similar to what is unknown", "similar m.gpukit --item 1"),
    after("explain", "explain m.gpukit --user u1 --item 004"),
    after("explain a rating", "explain m.gpukit --user u1 --item 004 --by rating"),
    after("explain as JSON", "explain m.gpukit --user u1 --item 004 -n 2 --json"),
    after("similar items as JSON", "similar m.gpukit --item 001 -n 3 --by factors --json"),
    after("evaluate as JSON", "evaluate m.gpukit new.csv --json"),
    after("export", "export m.gpukit out.csv", outputs=("out.csv",)),
    after("update", "update m.gpukit new.csv --model m2.gpukit", "recommend m2.gpukit --user new -n 2"),
    after(
        "update beyond the scale",
        "update m.gpukit bad.csv --model m2.gpukit",
        **{"bad.csv": "user,item,rating\nu1,001,50\n"},
    ),
    after("a model for ratings", "train-lshmf m.gpukit"),
    after("a model as documents", "rank m.gpukit pairs.csv"),
    after("clicks", "recommend m.gpukit --user u1 -n 3", "similar m.gpukit --item 001 -n 2", **{"ratings.csv": CLICKS}),
    Case("factors below 1", "train-lshmf ratings.csv --factors 0", FILES),
    Case("a test share of 1", "train-lshmf ratings.csv --test-fraction 1", FILES),
    Case("a command misspelled", "recomend m.gpukit", FILES),
    Case("a command begun", "trai ratings.csv", FILES),
    Case("no command", "", FILES),
    Case("a model that is not there", "recommend m.gpukit --user 1", FILES),
    Case("a model cut short", "recommend m.gpukit --user 1", {"m.gpukit": b"gpukit"}),
    Case("a model of text", "recommend ratings.csv --user 1", FILES),
    Case("a device that is none", "train-lshmf ratings.csv --device tpu", FILES),
    Case("one rating", "train-lshmf r.csv", {"r.csv": "1,1,5\n"}),
    Case("all ratings alike", "train-lshmf r.csv --quiet", {"r.csv": "".join(f"{u},{i},3\n" for u, i in RATED)}),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_recommendations(check, case):
    check(case)
