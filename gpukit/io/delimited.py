"""Parse blocks of text lines to columns with pyarrow.

pyarrow joins text behind a closing quote to the field, ends a line at a lone carriage return, keeps blanks around a
word, and reads 007 and 0x7 as 7. A block with any of these is parsed by `lines`, the reference, or its numbers are read
as words.
"""

import contextlib
import re
from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.io import sources
from gpukit.io.arrays import from_arrow
from gpukit.io.records import BLANKS, find_byte, lines_of, words_of
from gpukit.io.words import cut_blank_end, decode

NEWLINE, RETURN, QUOTE, ZERO, MINUS = (ord(letter) for letter in '\n\r"0-')
CASE = np.uint8(32)  # the bit in which x and X differ
IS_DIGIT_OR_X = np.isin(np.arange(256), [*b"0123456789xX"])
UNUSED = b"\x1f"  # replaces a separator of two letters; texts do not contain it
SPACED = re.compile(r'"(?:[^"]|"")*"|[ \t]+')  # a quoted field, or blanks between fields
COLUMN = re.compile(r"In CSV column #(\d+)")  # in pyarrow's error messages


class Wanted(NamedTuple):
    """Columns to parse: separator, number of fields and field positions by type.

    sep: the separator, ' ' for any run of blanks; fields: number of fields per line. ids: whole numbers or words;
    numbers: decimals or words; times: whole numbers of any spelling, or words; missing: the words read as NaN in a
    column of decimals; decimal: '.' or ',', the decimal point of numbers.
    """

    sep: str
    fields: int
    ids: tuple = ()
    numbers: tuple = ()
    times: tuple = ()
    missing: tuple = ()
    decimal: str = "."


def columns_of(raw, wanted, words=()):
    """Return {position: int64 or float64 (rows,), or Words} of whole lines (bytes).

    None if an exact result is not certain. words: positions that are always read as Words. Numbers may be NaN and
    infinite.
    """
    is_bare = _is_bare(raw, wanted.sep)
    raw = raw if is_bare else bytes(raw)
    plain = (raw, wanted.sep, False) if is_bare else plain_lines(raw, wanted.sep)
    if plain is None:
        return None
    text, mark, has_breaks = plain
    is_quoted = not is_bare and b'"' in raw
    table = _table(text, mark, has_breaks, wanted, _kinds(raw, wanted, words, is_quoted))
    if table is None:
        return None
    out, has_blanks = {}, not is_bare and any(blank.encode() in text for blank in BLANKS)
    for name, column in zip(table.column_names, table.columns, strict=True):
        array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if str(array.type) != "large_binary":
            out[int(name)] = from_arrow(array)
            continue
        trimmed = _strip_blanks(array) if has_blanks else array
        if is_quoted and not trimmed.equals(array):
            return None  # blanks within quotes are kept, others are not
        if is_quoted and mark != wanted.sep and UNUSED in bytes(array.buffers()[2]):
            return None  # a separator within quotes
        out[int(name)] = Words(trimmed)
    return out


def _strip_blanks(words):
    """Strip blanks around words of large_binary."""
    import pyarrow
    from pyarrow import compute

    letters = words.view(pyarrow.large_string())  # strips bytes without decoding them
    return compute.ascii_trim(letters, characters=BLANKS).view(pyarrow.large_binary())


def _is_bare(raw, sep):
    """Return True for lines without quotes, blanks or carriage returns.

    In such lines only separators and line ends sort below a comma. numpy releases the GIL here; searches of bytes do
    not.
    """
    letters = np.frombuffer(raw, np.uint8)
    expected = count_lines(raw) + (np.count_nonzero(letters == ord(sep)) if sep < "," else 0)
    return len(sep) == 1 and sep not in BLANKS and np.count_nonzero(letters < ord(",")) == expected


def plain_lines(raw, sep):
    """Return (lines for pyarrow, separator, has_breaks) of whole lines (bytes).

    has_breaks: quoted fields contain line ends. None if quotes do not enclose whole fields or a line ends in a lone
    carriage return.
    """
    letters = np.frombuffer(raw, np.uint8)
    if b"\r" in raw and ((letters[:-1] == RETURN) & (letters[1:] != NEWLINE)).any():
        return None
    if len(sep) > 1:
        if UNUSED in raw:
            return None
        raw, sep = raw.replace(sep.encode(), UNUSED), UNUSED.decode()
    quotes = Quotes(raw, sep) if b'"' in raw else None
    if sep == " ":
        even = _collapse_blanks(raw)
        if quotes is not None and even != raw:
            return None
        raw = even
    if quotes is not None and not (quotes.are_around_fields and quotes.end == len(raw)):
        return None
    return raw, sep, quotes is not None and quotes.have_line_ends


def _collapse_blanks(raw):
    """Replace runs of spaces and tabs by one space and strip lines."""
    raw = raw.replace(b"\t", b" ")
    while b"  " in raw:
        raw = raw.replace(b"  ", b" ")
    return raw.replace(b" \r\n", b"\n").replace(b" \n", b"\n").replace(b"\n ", b"\n").lstrip(b" ")


class Quotes:
    """Positions of quotes in whole lines (bytes).

    are_around_fields : bool; quotes enclose whole fields.
    have_line_ends : bool; a quoted field contains a line end.
    end : int; offset behind the last line end outside quotes, where the next row begins.
    """

    def __init__(self, raw, sep):
        letters = np.frombuffer(raw, np.uint8)
        places = np.flatnonzero(letters == QUOTE)
        new = np.flatnonzero(np.diff(places, prepend=-2) > 1)
        starts, sizes = places[new], np.diff(new, append=len(places))
        # A run of an odd number of quotes opens or closes a field; within a field, two quotes are one.
        is_odd = sizes % 2 == 1
        is_within = (np.cumsum(is_odd) - is_odd) % 2 == 1
        before = np.where(starts > 0, letters[starts - 1], NEWLINE)
        after = letters[np.minimum(starts + sizes, len(letters) - 1)]
        begins = (before == ord(sep)) | (before == NEWLINE)
        ends = (after == ord(sep)) | (after == NEWLINE) | (after == RETURN)
        right = np.where(is_within, ends | ~is_odd, begins & (ends | is_odd))
        toggles = starts[is_odd]
        breaks = np.flatnonzero(letters == NEWLINE)
        hidden = np.searchsorted(toggles, breaks) % 2 == 1
        self.are_around_fields, self.have_line_ends = bool(right.all()), bool(hidden.any())
        self.end = int(breaks[~hidden][-1]) + 1 if not hidden.all() else 0


def _kinds(raw, wanted, words, is_quoted):
    """Return {position: pyarrow type} of the parsed columns."""
    import pyarrow

    integer, number, word = pyarrow.int64(), pyarrow.float64(), pyarrow.large_binary()
    may_be_integers = not set(wanted.ids) <= set(words)
    ids = integer if may_be_integers and _are_as_printed(raw, wanted.sep, is_quoted) else word
    times = word if wanted.times and (np.frombuffer(raw, np.uint8) | CASE == ord("x")).any() else integer
    kinds = {**dict.fromkeys(wanted.ids, ids), **dict.fromkeys(wanted.numbers, number)}
    return {**kinds, **dict.fromkeys(wanted.times, times), **dict.fromkeys(words, word)}


def _are_as_printed(raw, sep, is_quoted):
    """Return True if whole numbers are spelled as Python prints them.

    007, 0x7, -0 and " 7" are not.
    """
    if is_quoted and any(pair in raw for pair in (b'" ', b' "', b'"\t', b'\t"')):
        return False
    letters = np.frombuffer(raw, np.uint8)
    # Most zeros are inside numbers. Only zeros behind a separator or a character below the digits are checked further.
    is_candidate = letters[1:] == ZERO
    is_candidate &= (letters[:-1] < ZERO) | (letters[:-1] == ord(sep[0])) if sep > "0" else letters[:-1] < ZERO
    places = np.flatnonzero(is_candidate) + 1
    if len(letters) and letters[0] == ZERO:
        places = np.append(places, 0)
    is_edge = np.isin(np.arange(256), [*b'\n\r\t "', ord(sep[0])])
    before, after = letters[places - 1], letters[np.minimum(places + 1, len(letters) - 1)]  # lines end in a newline
    is_negative = before == MINUS
    begins = is_edge[np.where(is_negative, letters[places - 2], before)]
    return not (begins & (IS_DIGIT_OR_X[after] | is_negative & is_edge[after])).any()


def count_lines(raw):
    """Return the number of line ends in bytes; releases the GIL."""
    return int(np.count_nonzero(np.frombuffer(raw, np.uint8) == NEWLINE))


def _table(text, mark, has_breaks, wanted, kinds):
    """Return a pyarrow Table of the columns, with binary for non-numeric words.

    None if lines have different numbers of fields.
    """
    import pyarrow
    from pyarrow import csv

    names = [str(place) for place in range(wanted.fields)]
    kinds = dict(sorted(kinds.items()))
    while True:
        try:
            table = csv.read_csv(
                pyarrow.BufferReader(text),
                csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names),
                csv.ParseOptions(delimiter=mark, newlines_in_values=has_breaks),
                csv.ConvertOptions(
                    column_types={str(place): kind for place, kind in kinds.items()},
                    include_columns=[str(place) for place in kinds],
                    null_values=wanted.missing,
                    decimal_point=wanted.decimal,
                    check_utf8=False,
                ),
            )
        except pyarrow.ArrowInvalid as error:
            match = COLUMN.match(str(error))
            if match is None or kinds[int(match[1])] == pyarrow.large_binary():
                return None
            kinds[int(match[1])] = pyarrow.large_binary()
            continue
        columns = zip(kinds, table.columns, strict=True)
        lacking = [place for place, column in columns if column.null_count and column.type == pyarrow.int64()]
        if not lacking:
            return table
        kinds.update(dict.fromkeys(lacking, pyarrow.large_binary()))


class Words:
    """Words (n,) of a column: distinct words as bytes, and the index of each row's word."""

    def __init__(self, words):
        """words: [bytes], or a pyarrow array of large_binary or of a dictionary of it, none missing."""
        import pyarrow

        array = pyarrow.array(words, pyarrow.large_binary()) if isinstance(words, list) else words
        self.encoded = array.dictionary_encode()

    def __len__(self):
        return len(self.encoded)

    @property
    def index(self):
        """Index (n,) int32 of each row's word in `texts`."""
        return from_arrow(self.encoded.indices)

    def texts(self):
        """Return the distinct words as [str], decoded as by words.decode."""
        import pyarrow

        with contextlib.suppress(pyarrow.ArrowInvalid):
            return self.encoded.dictionary.cast(pyarrow.large_string()).to_pylist()
        return [decode(word) for word in self.encoded.dictionary.to_pylist()]


def concatenate_words(parts):
    """Return (index (n,) int32, distinct words [str]) of the rows of several Words."""
    import pyarrow

    whole = Words(pyarrow.chunked_array([part.encoded for part in parts]).unify_dictionaries().combine_chunks())
    return whole.index, whole.texts()


def lines(raw, sep):
    """Yield (number from 1, line as str, fields as [bytes]) of whole lines.

    Fields are None where a quote stays open or text follows a closing quote. This is the reference for columns_of and
    locates faults. Lines without a word are left out.
    """
    raw, mark = bytes(raw), sep
    if len(sep) > 1 and UNUSED not in raw:
        raw, mark = raw.replace(sep.encode(), UNUSED), UNUSED.decode()
    for number, line in lines_of(str(raw, "latin-1"), mark):
        words = words_in(line, mark)
        if words != [""]:
            raw_words = None if words is None else [word.replace(mark, sep).encode("latin-1") for word in words]
            yield number, decode(line.replace(mark, sep).encode("latin-1")), raw_words


def words_in(line, sep):
    """Return a line's fields as [str]; None for wrong quotes."""
    if sep == " ":
        line = SPACED.sub(lambda match: match[0] if match[0][0] == '"' else " ", line).strip(BLANKS)
    return words_of(line.rstrip("\r"), sep) if '"' in line else split_line(line, sep)


def split_line(line, sep, count=0):
    """Return the fields of a line without quoted fields; count: maximum number of fields, 0 for any."""
    return [word.strip(BLANKS) for word in line.split(sep, count - 1)]


def short_rows(path, needed, separators):
    """Return (name, separator, [(line number, line, fields)]) of a small text, without blank lines.

    The separator is the first one of `separators` in the first line. needed: alternative to an empty file. Raises
    DataError for a text without rows and for a line with wrong quotes.
    """
    name, raw = sources.read_whole(path, needed)
    first = decode(raw).lstrip().partition("\n")[0]
    sep = next((sep for sep in separators if sep in first), ",")
    text = decode(cut_blank_end(raw, sep, name))
    rows = [(number, line.rstrip(BLANKS)) for number, line in lines_of(text, sep) if line.strip()]
    if not rows:
        raise DataError(f"{name} is empty. Give {needed}.")
    rows = [(number, line, words_in(line, sep) if len(sep) == 1 else split_line(line, sep)) for number, line in rows]
    for number, line, words in rows:
        if words is None:
            raise DataError(f"{name}, line {number:,} opens a quote that it does not close: {line[:80]!r}.")
    return name, sep, rows


def whole_rows(blocks, sep):
    """Yield blocks (bytes or uint8) that end outside quoted fields.

    blocks: uint8 arrays of whole lines.
    """
    longest_field = 1 << 24  # bytes of a quoted field with line ends
    rest = b""
    for block in blocks:
        if not rest and find_byte(block, QUOTE) is None:
            yield block
            continue
        raw = rest + block.tobytes()
        end = rows_end(raw, sep) if b'"' in raw else len(raw)
        end = len(raw) if len(raw) - end > longest_field else end
        rest = raw[end:]
        if end:
            yield raw[:end]
    if rest:
        yield rest


def rows_end(raw, sep):
    """Return the offset behind the last complete row of whole lines (bytes).

    A row whose quoted field stays open is not complete.
    """
    mark = sep
    if len(sep) > 1:  # the same number of letters keeps offsets
        raw, mark = raw.replace(sep.encode(), UNUSED * len(sep)), UNUSED.decode()
    quotes = Quotes(raw, mark)
    if quotes.are_around_fields:
        return quotes.end
    start = 0
    for _, line in lines_of(raw.decode("latin-1"), mark):
        if words_in(line, mark) is None:
            return start
        start += len(line) + 1
    return len(raw)
