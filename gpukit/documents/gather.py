"""Collect parsed blocks, group queries, report errors with line numbers."""

import re

import numpy as np

from gpukit.base.arrays import EXACT, check_distinct
from gpukit.documents import parse
from gpukit.documents.adopt import MANY
from gpukit.documents.parse import Rule
from gpukit.errors import DataError
from gpukit.io.delimited import count_lines
from gpukit.io.words import SHOWN, as_ids, check_width, decode, number_fault, quote, text_array
from gpukit.runtime.thread_count import get_num_threads

LINE = rb"[\r\n]"
LINE_END = re.compile(rb"\n")
RANGE = 1 << 16  # bytes; minimum size of a range
CUT = " The file ends in that line, without a newline: it seems to be cut short, fetch it again."
SPARSE_WIDTH = 256  # features; above it X is CSR if less than
SPARSE_DENSITY = 0.25  # of its entries are stored


class DocumentsBuilder:
    """Documents of the blocks read so far.

    features: [parse.Features]; labels, comments: arrays by block; has_comments: False if all are empty; stored,
    largest, nulls: number of features, their largest index, number of NULL tokens; line, last: number of lines read,
    and of the last one with a document.
    """

    def __init__(self, stream, has_qids, null, dtype):
        """stream: the Stream of the blocks; dtype: of the features or None.

        None is float64, or float32 if X has many numbers.
        """
        self.undecided, self.dtype = dtype is None, np.dtype(dtype or np.float64)
        self.stream, self.name = stream, stream.name
        self.rule = Rule(int(has_qids), null)
        self.features, self.labels, self.comments = [], [], []
        self.has_comments = False
        self.rows = self.stored = self.largest = self.nulls = self.line = self.last = 0
        self.ids, self.first_rows, self.first_lines = [], [], {}
        self.whole = {}  # row: the label of many digits that is a whole number

    def add(self, block):
        """Parse and append a block (uint8, whole lines)."""
        lines, report, n_lines = _parse_block(block, self.rule, self.dtype)
        self._settle(block, lines, report)
        if self.rule.has_qids:
            self._take_queries(block, lines)
        self._take_comments(block, lines.spans)
        if len(lines.labels):
            self.features.append(parse.features_of(lines))
            self.last = self.line + int(lines.numbers[-1]) + 1
        self.labels.append(lines.labels)
        self.rows += len(lines.labels)
        self.stored += int(lines.counts.sum())
        self.largest = max(self.largest, int(report[:, parse.LARGEST].max()))
        self.nulls += int(report[:, parse.NULLS].sum())
        bad = np.flatnonzero(report[:, parse.PROBLEM])
        if len(bad):
            problem, position = report[bad[0], [parse.PROBLEM, parse.POSITION]].tolist()
            raise self._fault(block, position, _explain(problem, block, position))
        self.line += n_lines
        if self.undecided and self.stored > MANY:
            self._narrow()

    def _narrow(self):
        """Continue in float32 and convert earlier blocks.

        Rounding to float64 and then to float32 gives the same values.
        """
        self.undecided, self.dtype = False, np.dtype(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # gaps between rows are uninitialized
            self.features = [features._replace(values=features.values.astype(np.float32)) for features in self.features]

    def finish(self):
        """Check the end of the file after all blocks.

        Raises DataError if there are no documents or the last line is truncated.
        """
        if not self.rows:
            raise DataError(
                f"{self.name} holds no documents, only blank lines and comments. Give a file with a line "
                "`relevance qid:ID 1:value ...` for each document."
            )
        counts = self.features[-1].counts
        full = self.stored == (self.rows - 1) * self.largest + counts[-1]  # every line but the last has all features
        ends = self._is_cut() and self.last == self.line
        if ends and self.rows > 1 and full and counts[-1] < self.largest:
            raise DataError(
                f"{self.name}, line {self.line:,} stops at feature {counts[-1]:,} where all others have "
                f"{self.largest:,}.{CUT}"
            )

    def queries(self):
        """Return (offsets (m+1,) int64, qids (m,)).

        qids are int64 if all ids are integers, else str.
        """
        offsets = np.array([*self.first_rows, self.rows], dtype=np.int64)
        words = decode(b"\n".join(self.ids)).split("\n")  # one encoding for all keeps them distinct
        return offsets, as_ids(words, f"{self.name}: query")

    def joined_labels(self):
        """Return labels (l,) float64, or int64 for large whole labels.

        int64 if all labels are whole numbers of int64 and one exceeds 2^53.
        """
        y, whole = np.concatenate(self.labels), self.whole.values()
        rest = y.copy()
        rest[list(self.whole)] = 0
        are_whole = all(-(2**63) <= label < 2**63 for label in whole) and (rest == np.floor(rest)).all()
        if not any(abs(label) > EXACT for label in whole) or not are_whole or (np.abs(rest) >= 2.0**63).any():
            check_distinct(self.name, [*map(int, rest[np.abs(rest) >= EXACT]), *whole])
            return y
        exact = rest.astype(np.int64)
        exact[list(self.whole)] = list(whole)
        return exact

    def joined_comments(self):
        """Return comments (l,) str, or None if no line has one."""
        if not self.has_comments:
            return None
        widest = max(comments.dtype.itemsize // 4 for comments in self.comments)
        check_width(self.rows, widest, f"{self.name}: the longest comment")
        return np.concatenate(self.comments)

    def _take_queries(self, block, lines):
        raw, rows = block.data, np.flatnonzero(parse.query_starts(block, lines.spans))
        starts, stops, numbers = lines.spans[rows, 0], lines.spans[rows, 1], self.line + lines.numbers[rows] + 1
        for row, start, stop, number in zip(*(each.tolist() for each in (rows, starts, stops, numbers)), strict=True):
            word = bytes(raw[start:stop])
            if self.ids and word == self.ids[-1]:
                continue  # the block continues the last query of the previous one
            if self.first_lines.setdefault(word, number) != number:
                raise DataError(
                    f"{self.name}, line {number:,}: query {word.decode('utf-8', 'replace')} comes back; it "
                    f"began in line {self.first_lines[word]:,} and others came between. Sort the lines so "
                    "that each query's documents are together."
                )
            self.ids.append(word)
            self.first_rows.append(self.rows + row)

    def _take_comments(self, block, spans):
        words = _decode_all(block, spans[:, 2].tolist(), spans[:, 3].tolist()) if (spans[:, 2] >= 0).any() else []
        what = f"{self.name}, after line {self.line:,}: a comment"
        self.comments.append(text_array(words, what) if words else np.zeros(len(spans), dtype="U1"))
        self.has_comments |= any(words)

    def _settle(self, block, lines, report):
        """Replace NaN, the fast parser's mark of undecided numbers, by exact values."""
        if not report[:, parse.OPEN].any():
            return
        for row, place in parse.undecided_numbers(lines):
            skip = 1 if place < 0 else place + 1 + self.rule.has_qids
            start, stop = parse.token_span(block, lines.starts[row], 0 if place < 0 else skip)
            word = block[start:stop].tobytes().decode("utf-8", "replace")
            number = word if place < 0 else word.partition(":")[2]
            wrong = number_fault(number, "float64" if place < 0 else "float32")
            if wrong:
                what = "relevance" if place < 0 else f"value of feature {word.partition(':')[0][:SHOWN]},"
                raise self._fault(block, start, f"the {what} {quote(number)} is {wrong}. Correct or remove the line.")
            if place < 0:
                lines.labels[row] = float(number)
                if number.removeprefix("-").isdecimal():
                    self.whole[self.rows + row] = int(number)
            else:
                lines.values[lines.begins[row] + place] = float(number)

    def _fault(self, block, position, message):
        """Return the DataError for a fault at a position of the block."""
        number = self.line + count_lines(block[:position]) + 1
        return DataError(f"{self.name}, line {number:,}: {message}{CUT if self._is_cut() else ''}")

    def _is_cut(self):
        """Return True in the unended last line of a plain text.

        That line is a block of its own.
        """
        return self.stream.plain and self.stream.unended


def _parse_block(block, rule, dtype):
    """Return (Lines up to the first problem, report, line count of the block)."""
    n_ranges = max(1, min(4 * get_num_threads(), len(block) // RANGE))
    bounds = _split(block, n_ranges)
    counts = np.empty((n_ranges, 2), np.int64)
    parse.count(block, bounds, counts)
    n_lines, colons = counts.T  # colons: an upper bound of the features
    first_row = np.cumsum(n_lines) - n_lines
    lines = parse.empty_lines(int(n_lines.sum()), int(colons.sum()), dtype)
    report = np.empty((n_ranges, 6), dtype=np.int64)
    parse.parse(block, bounds, first_row, np.cumsum(colons) - colons, rule, lines, report)
    bad = np.flatnonzero(report[:, parse.PROBLEM])
    if len(bad):
        report[bad[0] + 1 :] = 0
    counts = report[:, parse.ROWS]
    if counts.sum() < n_lines.sum():
        used = np.concatenate([np.arange(row, row + count) for row, count in zip(first_row, counts, strict=True)])
        by_row = {name: getattr(lines, name)[used] for name in parse.BY_ROW}
        lines = lines._replace(**by_row)
    return lines, report, int(n_lines.sum())


def _split(block, count):
    """Return bounds (count+1,) int64 of parts of a block that begin after a line end."""
    bounds = [0]
    for part in range(1, count):
        bounds.append(LINE_END.search(block.data, max(bounds[-1], part * len(block) // count) - 1).end())
    return np.array([*bounds, len(block)])


def _explain(problem, block, position):
    """Return the message of a parser's problem at a position."""
    word = quote(_text(block, position, rb"[ \t\r\n#]"))
    if problem == parse.NO_QID:
        line = _text(block, position, LINE).strip()
        where = " as the second field" if "qid:" in line else ""
        return (
            f"no query id{where}: {quote(line)}. A line is `relevance qid:ID 1:value ...`; files without ids need a "
            "file FILE.query or FILE.group with the number of documents of each query, a line each, and tables (csv) a "
            "header that names label and qid."
        )
    return {
        parse.NO_INDEX: f"a feature is not index:value: {word}. Correct or remove the line.",
        parse.INDEX_LARGE: f"a feature's index is larger than the limit, {parse.LARGEST_INDEX:,}: {word}. Number the "
        "features anew.",
        parse.INDEX_ZERO: f"a feature has index 0: {word}, but features are counted from 1. Add 1 to every "
        "index; scikit-learn counts so with dump_svmlight_file(..., zero_based=False).",
        parse.NOT_ASCENDING: f"the features' indices do not ascend: {word}. Sort each line by index, each index once.",
        parse.NULL_TOKEN: f"a value is NULL: {word}. Choose what it stands for: --null min (the feature's smallest "
        "value in the query) or --null zero; --null error, the default, refuses it.",
    }[problem]


def _text(block, position, ends):
    """Return the text up to a byte of class `ends`, shortened."""
    return decode(re.split(ends, block[position : position + 4 * SHOWN].tobytes(), maxsplit=1)[0])


def _decode_all(block, starts, stops):
    """Return [str] of spans of a block; ASCII is decoded at once."""
    try:
        letters = str(block.data, "ascii")
    except UnicodeDecodeError:
        return [decode(bytes(block.data[start:stop])) for start, stop in zip(starts, stops, strict=True)]
    return [letters[start:stop] for start, stop in zip(starts, stops, strict=True)]


def assemble_features(builder, n):
    """Return X (l, n) of a builder's features, dense or CSR; frees them."""
    if n > SPARSE_WIDTH and builder.stored < SPARSE_DENSITY * n * builder.rows:
        return _sparse(builder, n)
    dtype = np.float32 if builder.undecided and builder.rows * n > MANY else builder.dtype
    X, end = np.empty((builder.rows, n), dtype), builder.rows
    while builder.features:
        features = builder.features.pop()
        start = end - len(features.counts)
        parse.spread(features, X[start:end])
        end = start
    return X


def _sparse(builder, n):
    from scipy.sparse import csr_matrix

    kind = np.int32 if builder.stored < 2**31 else np.int64
    indptr = np.zeros(builder.rows + 1, dtype=kind)
    np.cumsum(np.concatenate([features.counts for features in builder.features]), out=indptr[1:])
    columns, end = np.empty(builder.stored, dtype=kind), builder.rows
    data = np.empty(builder.stored, dtype=builder.dtype)
    while builder.features:
        features = builder.features.pop()
        start = end - len(features.counts)
        parse.gather(features, indptr[start:end], columns, data)
        end = start
    return csr_matrix((data, columns, indptr), shape=(builder.rows, n))
