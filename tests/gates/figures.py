"""Compare the figures of Markdown pages with the rows of docs/benchmarks.csv.

A comment directly below a paragraph, list item, table or code block covers all figures in it, in the order of the text:

    <!-- rows: 6.74 = [time to converge CUSGD++ F=32 | ml-10m | H200]
         1.9 = [slow | netflix | 1 thread | p80] / [quick | netflix | 1 thread | lowest]
         no row, 3 figures: script -->

A reference is [what | shape | device | column]: a part of the device's name is enough. The column is p20, p50 (the
default) or p80, the least or the most by seed, or a text after which the number is in the row's note. The newest row
counts, rounded as the figure is. Every figure without a row is counted, with one of KINDS. Fenced blocks of commands,
snippets and their output have no figures: tests/test_pages.py runs them and compares.
"""

import ast
import re
from decimal import Decimal
from operator import add, eq, gt, lt, mul, sub, truediv
from typing import NamedTuple

NUMBER = re.compile(
    r"(?<![\w.\-^=/])(?<!\d,)[-+]?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?(?=ms\b|s\b|x\b|[^\w^]|$)(?!\.\d)"
)
UNITS = "ms s seconds microseconds minutes million/s GB/s MB/s GB MB MiB GiB TB mph kelvin per cent percent times"
UNIT = re.compile(rf"\s*(?:%|(?:{UNITS.replace(' ', '|').replace('per|cent', 'per cent')})\b)")
COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
EXECUTED = re.compile(r"^```(?:console|python|text)\b.*?^```$", re.DOTALL | re.MULTILINE)
NOT_PROSE = re.compile(r"`[^`\n]*`|\]\([^)]*\)")
BEGINS_BLOCK = re.compile(r"\s*(?:- |\d{1,2}\. )|#+ ")
REFERENCE = re.compile(r"\[([^\[\]|]+\|[^\[\]]+)\]")
CLAIM = re.compile(r"(?P<figure>[-+]?[\d.,]+(?:e[-+]?\d+)?) (?P<relation>[=<>]) (?P<expression>.+)")
EXCEPTION = re.compile(r"no row, (?P<count>\d+) figures?: (?P<kind>\w+)")
KINDS = {
    "script": "measured without a row being kept, which the section says",
    "paper": "published by others",
    "output": "what a command printed, an example",
    "constant": "a setting, a version, a bound, arithmetic",
    "data": "a count or a property of data, tables or programs",
    "goal": "what was aimed at",
    "test": "held by a test",
}
SAYS_SO = re.compile(r"\bscripts?\b|\bno rows?\b|without rows?\b|\bone run\b|measured once|\btrial\b", re.IGNORECASE)
COLUMNS = ("p20", "p50", "p80")
EXTREMES = {"least": min, "most": max}
RELATIONS = {"=": eq, "<": lt, ">": gt}
OPERATORS = {ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.Div: truediv}


class Block(NamedTuple):
    """Text between blank lines or list items, its marks, the line it ends in and the section it is in."""

    text: str
    marks: list
    line: int
    section: str


def figures_have_rows(path, newest):
    """Return the faults of a page. newest : list of dict, the newest row of each measurement."""
    blocks = blocks_of(path.read_text(encoding="utf-8"))
    return [f"{path.name}:{block.line}: {fault}" for block in blocks for fault in faults_of(block, newest)]


def blocks_of(text):
    """Return the list of blocks of a page."""
    text = EXECUTED.sub(lambda m: "\n" * m[0].count("\n"), text)
    sections = [m.start() for m in re.finditer(r"^#+ ", text, re.MULTILINE)]
    limits = [0, *sections, len(text)]
    blocks = []
    for begin, end in zip(limits, limits[1:], strict=False):
        first = text.count("\n", 0, begin) + 1
        blocks += blocks_of_section(text[begin:end], first)
    return blocks


def blocks_of_section(section, first):
    """Return the blocks of a section whose first line has the number `first`."""
    stripped = COMMENT.sub(lambda m: m[0].replace("\n", "\r"), section)  # a comment is one line
    pieces, line = [], first
    for text in stripped.split("\n"):
        begins = not text.strip() or BEGINS_BLOCK.match(text)
        if begins or not pieces or (pieces[-1][1] and not COMMENT.search(text)):
            pieces.append(([], [], line))
        lines, marks, _ = pieces[-1]
        marks += COMMENT.findall(text)
        lines.append(COMMENT.sub("", text))
        line += 1 + text.count("\r")
    return [Block("\n".join(lines), marks, line, section) for lines, marks, line in pieces]


def faults_of(block, newest):
    """Return the faults of a block."""
    numbers, marks = numbers_of(block.text), statements(block)
    claims = [m for m in map(CLAIM.fullmatch, marks) if m]
    exceptions = [m for m in map(EXCEPTION.fullmatch, marks) if m]
    faults = [f"not understood: {s}" for s in marks if not CLAIM.fullmatch(s) and not EXCEPTION.fullmatch(s)]
    faults += [fault for claim in claims for fault in fault_of_claim(claim, newest)]
    places = places_of([plain(claim["figure"]) for claim in claims], [number for number, _ in numbers])
    faults += [
        f"{claim['figure']} is not in the text, or not in this order"
        for claim, place in zip(claims, places, strict=True)
        if place is None
    ]
    left = [number for i, (number, is_figure) in enumerate(numbers) if is_figure and i not in places]
    return faults + faults_of_exceptions(left, exceptions, block.section)


def places_of(figures, numbers):
    """Return the place of each figure in `numbers`, each after the previous one; None for a missing one."""
    places, begin = [], 0
    for figure in figures:
        place = next((i for i in range(begin, len(numbers)) if numbers[i] == figure), None)
        begin = begin if place is None else place + 1
        places.append(place)
    return places


def faults_of_exceptions(left, exceptions, section):
    """Return the faults of figures without a row."""
    faults = [f"{m['kind']} is not one of {', '.join(KINDS)}" for m in exceptions if m["kind"] not in KINDS]
    if len(left) != sum(int(m["count"]) for m in exceptions):
        faults.append(f"{len(left)} figures have no row and are not marked so rightly: {' '.join(left)}")
    if any(m["kind"] == "script" for m in exceptions) and not SAYS_SO.search(COMMENT.sub("", section)):
        faults.append("the section does not say that its figures have no rows")
    return faults


def fault_of_claim(claim, newest):
    """Return [] or the one fault of a figure that names its rows."""
    try:
        value = Decimal(repr(evaluate(claim["expression"], newest)))
    except (LookupError, ValueError, SyntaxError, TypeError, ArithmeticError) as error:
        return [f"{claim['figure']}: {error}"]
    figure = Decimal(plain(claim["figure"]))
    half = Decimal(1).scaleb(figure.as_tuple().exponent) / 2
    fits = abs(value - figure) <= half if claim["relation"] == "=" else RELATIONS[claim["relation"]](figure, value)
    said = f"{claim['figure']} {claim['relation']} {float(value):.7g}"
    return [] if fits else [f"{said} does not hold: {claim['expression']}"]


def statements(block):
    """Return the statements of a block's marks."""
    lines = "\n".join(mark.strip().removeprefix("rows:") for mark in block.marks).replace("\r", "\n")
    return [line.strip() for line in lines.split("\n") if line.strip()]


def plain(figure):
    """Return the figure without a plus sign and commas."""
    return figure.lstrip("+").replace(",", "")


def numbers_of(text):
    """Return [(number, True for a figure)] in order: a figure has a decimal point, an exponent or a unit."""
    prose = NOT_PROSE.sub(lambda m: " " * len(m[0]), text)
    return [
        (plain(m[0]), "." in m[0] or "e" in m[0] or bool(UNIT.match(prose, m.end()))) for m in NUMBER.finditer(prose)
    ]


def evaluate(expression, newest):
    """Return the value of an expression of references and numbers."""
    return arithmetic(ast.parse(REFERENCE.sub(lambda m: repr(value_of(m[1], newest)), expression), mode="eval").body)


def arithmetic(node):
    """Return the value of a tree of numbers and + - * /."""
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](arithmetic(node.left), arithmetic(node.right))
    if isinstance(node, ast.UnaryOp):
        return -arithmetic(node.operand)
    return float(ast.literal_eval(node))


def value_of(reference, newest):
    """Return the number that a reference names."""
    what, shape, device, column = ([part.strip() for part in reference.split("|")] + ["p50"])[:4]
    rows = [row for row in newest if (row["what"], row["shape"]) == (what, shape) and device in row["device"]]
    if len(rows) != 1:
        raise LookupError(f"{len(rows)} measurements are [{reference}]")
    if column in COLUMNS:
        return float(rows[0][column])
    if column in EXTREMES:
        return EXTREMES[column](
            float(seed) for seed in rows[0]["note"].partition("by seed ")[2].partition(";")[0].split()
        )
    found = re.search(re.escape(column) + r"\W*?(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)", rows[0]["note"])
    if not found:
        raise LookupError(f"the note of [{reference}] has no such number")
    return float(found[1])
