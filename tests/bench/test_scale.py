"""The cost model of large sizes reproduces the rows of one and two GPUs, and the page has its tables."""

import csv
import re
from pathlib import Path

import pytest
from support import load_script

from gpukit.bench.imputation import SHAPES as TENSORS
from gpukit.documents import synth as documents
from gpukit.factorization.plan import packing_of
from gpukit.ratings import synth as ratings

plan = load_script("docs/scale.py")
DOCS = Path(__file__).parents[2] / "docs"
CLOSE = 0.15
LEVELS = {"netflix": 5, "mslr-web30k": 5, "mslr-web10k": 5, "mq2007": 3, "mq2007-list": 1_268}
FAR = {  # rows that the model does not reach; the page has their figures
    ("one epoch CUSGD++ F=32", "ml-10m", "H200"),
    ("one epoch CUSGD++ F=128", "ml-10m", "H200"),
    ("one epoch CULSH-MF F=128 K=32", "ml-10m", "H200"),
    ("one epoch CULSH-MF F=128 K=32", "netflix", "H200"),
    ("one epoch CULSH-MF F=128 K=32", "netflix", "H100"),
    ("an iteration, gpukit", "ego-facebook 50x50", "H200"),
}


@pytest.fixture(scope="module")
def rows():
    """Return {(what, shape, card): newest row}."""
    with open(DOCS / "benchmarks.csv", newline="", encoding="utf-8") as file:
        cards = re.compile(r"H[12]00")
        return {(r["what"], r["shape"], c[0]): r for r in csv.DictReader(file) if (c := cards.search(r["device"]))}


def milliseconds(row):
    """Return the median of a row."""
    return float(row["p50"]) * {"ms": 1.0, "s": 1e3}[row["unit"]]


def number_after(row, text):
    """Return the number after a text in the note of a row."""
    return float(re.search(re.escape(text) + r" ([\d.]+)", row["note"])[1])


def sizes_of(shape):
    """Return the RatingSizes of the training ratings of a named shape."""
    sizes = ratings.SHAPES[shape]
    return plan.RatingSizes(sizes.ratings - sizes.test, sizes.users, sizes.items)


def epoch_figures(rows):
    """Yield (key, measured, modelled milliseconds) of epochs on one GPU and on two."""
    for (what, shape, card), row in rows.items():
        model = re.fullmatch(
            r"(one epoch|time to converge) (?:CUSGD\+\+|CULSH-MF) F=(\d+)(?: K=(\d+))?(, 2 ranks)?", what
        )
        if not model or shape not in ratings.SHAPES:
            continue
        job = sizes_of(shape), int(model[2]), int(model[3] or 0)
        if model[1] == "one epoch":
            cost = plan.factorization(*job, 2 if model[4] else 1)
            yield (what, shape, card), milliseconds(row), 1e3 * cost.seconds
            if model[4]:
                single = plan.factorization(*job, 1)
                yield (f"{what}: one rank", shape, card), number_after(row, "one rank"), 1e3 * single.seconds
        elif model[4]:
            first = plan.factorization(*job, 2).first
            yield (f"{what}: first epoch", shape, card), number_after(row, "the first epoch"), 1e3 * first


def streamed_figures(rows):
    """Yield (key, measured, modelled milliseconds) of epochs whose ratings stream."""
    for (what, shape, card), row in rows.items():
        model = re.fullmatch(r"one epoch \S+ F=(\d+)(?: K=(\d+))?, a \w+ of the memory", what)
        if not model or shape not in LEVELS:
            continue
        sizes, neighbors = sizes_of(shape), int(model[2] or 0)
        minor = sizes.users if neighbors else sizes.items
        packing = packing_of(minor, LEVELS[shape], True, neighbors, False)
        kept, blocks = map(int, re.search(r"(\d+) of (\d+) blocks", row["note"]).groups())
        sent = sizes.ratings * packing.packed * (1 - kept / blocks)
        assert packing.packed == number_after(row, "GB/s;")
        assert sent / 1e9 == pytest.approx(number_after(row, "enough memory;"), abs=0.01)
        resident = plan.factorization(sizes, int(model[1]), neighbors, 1).seconds
        seconds = plan.streamed_epoch(resident, sizes.ratings, packing, blocks, sent)
        yield (what, shape, card), milliseconds(row), 1e3 * seconds


def ranking_figures(rows):
    """Yield (key, measured, modelled milliseconds) of products with the Hessian in float32."""
    for (what, shape, card), row in rows.items():
        model = re.fullmatch(r"one product with the Hessian in float32(, answer on the host, 2 ranks)?", what)
        if not model or shape not in LEVELS:
            continue
        size = documents.SHAPES[shape]
        job, options = (size.documents, size.features, LEVELS[shape]), {"memory_rate": plan.CARD[card]}
        if model[1]:
            yield (what, shape, card), milliseconds(row), 1e3 * plan.ranking(*job, 2, **options).seconds
            single = plan.ranking(*job, 1, **options).seconds
            yield (f"{what}: one rank", shape, card), number_after(row, "one rank"), 1e3 * single
        else:
            yield (what, shape, card), milliseconds(row), 1e3 * plan.ranking(*job, 1, on_host=False).seconds


def imputation_figures(rows):
    """Yield (key, measured, modelled milliseconds) of steps, of 20 steps with the upload, and of thresholdings."""
    for (what, shape, card), row in rows.items():
        if what == "a step of the imputation, 2 ranks":
            yield (what, shape, card), milliseconds(row), 1e3 * plan.imputation(slices_of(shape), 2, True).seconds
            single = plan.imputation(slices_of(shape), 1, True).seconds
            yield (f"{what}: one rank", shape, card), number_after(row, "one rank"), 1e3 * single
        elif what == "an iteration, gpukit":
            yield (what, shape, card), milliseconds(row), 1e3 * plan.imputation(slices_of(shape), 1).seconds
        elif what == "20 iterations, basis cached" and shape.startswith("512"):
            slices = slices_of(shape)
            upload = 4 * slices.numbers * slices.vertices / plan.RATE["host"]
            steps = 20 * plan.imputation(slices, 1, True).seconds
            yield (what, shape, card), milliseconds(row), 1e3 * (upload + steps)
        elif what == "singular-value thresholding, nearly low-rank":
            m, n, count = map(int, shape.split(" x "))
            alone = plan.Slices(0, count, m, n, 0.0)
            yield (what, shape, card), milliseconds(row), 1e3 * plan.imputation(alone, 1).seconds


def slices_of(shape):
    """Return the Slices of a tensor of the benchmarks, with a fifth of the vertices missing."""
    vertices, side, *_ = TENSORS[shape.removesuffix(" 50x50")]
    return plan.Slices(vertices, vertices, side, side, 0.2)


def all_figures(rows):
    """Return [(key, measured, modelled milliseconds)]."""
    return [f for part in (epoch_figures, streamed_figures, ranking_figures, imputation_figures) for f in part(rows)]


def test_the_model_reproduces_rows(rows):
    figures = all_figures(rows)
    far = {key for key, measured, modelled in figures if abs(modelled / measured - 1) > CLOSE}
    assert far == FAR
    assert len(figures) - len(far) > 2 * len(plan.PARAMETERS)
    assert {card for (_, _, card), *_ in figures} == {"H100", "H200"}


def test_the_page_has_the_tables_of_the_model():
    page = (DOCS / "scale.md").read_text(encoding="utf-8")
    for lines in plan.tables():
        assert "\n".join(lines) in page


def test_the_page_has_each_row_that_the_model_does_not_reach(rows):
    page = (DOCS / "scale.md").read_text(encoding="utf-8")
    for (what, shape, card), measured, modelled in all_figures(rows):
        if (what, shape, card) in FAR:
            assert f"| {what}, {shape}, {card} | {measured:.3g} | {modelled:.3g} |" in page
