"""Tables and figures of the papers by name: the benchmark of each, and the printed values next to ours."""

import re
from typing import NamedTuple

import numpy as np

from gpukit.bench import find
from gpukit.bench.measurement import find_printed


def items_of(module, names):
    """Return {item: module.function} of items that are functions of one module."""
    return {name: f"{module}.{name}" for name in names.split()}


PAPERS = {  # paper: {item: module.function of gpukit.bench}
    "lsh-mf": items_of("solvers", "table4 table6 table7 table8 table9 fig6 fig7 fig8 fig9 fig10")
    | {"table10": "clicks.clicks"},
    "imputation": items_of("imputation", "table2 table3 fig6 fig7 fig8 fig9 fig10"),
    "ranksvm": items_of("ranking", "table1 table2 table3 fig1"),
}
SHAPES = {  # of generated data that a paper's items can be restricted to
    "lsh-mf": ("ml-10m", "netflix", "yahoo"),
    "imputation": (),
    "ranksvm": ("mq2008", "mq2007", "mslr-web30k", "mslr-web10k", "mq2008-list", "mq2007-list"),
}
POINT = re.compile(r"(\d[\d.e+-]*) s (-?\d[\d.e+-]*)(?=;|$)")
THOUSAND = {("s", "ms"): 1000.0}  # (unit of the paper, of the row): factor
COLUMNS = ("item", "what", "shape", "data", "paper", "ours", "unit", "ours/paper", "note")

PREFIXES = {"lsh-mf": "", "imputation": "Imputation, ", "ranksvm": "RankSVM, "}  # of rows in the benchmark table


class Reproduction(NamedTuple):
    """A row of a table or figure: item of PAPERS, record.Row, value of the paper in the row's unit or None, ours."""

    item: str
    row: object
    paper: float | None
    ours: float

    @property
    def ratio(self):
        """Ours over the paper's value; None without one."""
        return self.ours / self.paper if self.paper else None

    def cells(self):
        """Return the cells of COLUMNS."""
        row = self.row
        return self.item, row.what, row.shape, row.data, self.paper, self.ours, row.unit, self.ratio, row.note


def reproduce(paper, items, conditions):
    """Yield the Reproductions of items of a paper (all without names)."""
    for item in items or PAPERS[paper]:
        for row in find(PAPERS[paper][item])(conditions):
            yield Reproduction(item, row, printed_value(row), float(np.median(row.samples)))


def benchmark_row(paper, row):
    """Return a row as the benchmark table has it: its name says whose table or figure it is of."""
    return row._replace(what=f"{PREFIXES[paper]}{row.what}")


def printed_value(row):
    """Return the paper's value for a row, in the row's unit; None without one."""
    line = find_printed(row)
    return line and float(line["value"]) * THOUSAND.get((line["unit"], row.unit), 1.0)


def curve_of(row):
    """Return the [(second, value)] in the note of a row; [] if it is not a curve."""
    return [(float(second), float(value)) for second, value in POINT.findall(row.note)] if "; " in row.note else []
