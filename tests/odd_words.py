"""Ids that text readers and writers may split, strip, merge, misread, or not represent."""

import functools
import unicodedata

import numpy as np

WORDS = [
    *(" a", "a ", " a ", "a  b", "\ta", "a\t", "a\tb", "\xa0a", "a\u3000", "\u2003", " ", "  ", "\t"),
    *(
        "a\nb",
        "\na",
        "a\n",
        "\n",
        "a\rb",
        "\ra",
        "a\r",
        "\r",
        "a\r\nb",
        "\r\n",
        "a\n\n\nb",
        "a\x0bb",
        "a\x0cb",
        "a\x85b",
    ),
    *("a\x1cb", "a\x1db", "a\x1eb", "a\u2028b", "a\u2029b", "a\x1bb", "a\x7fb", "a\x07", "\x1a", "\ufeffa", "a\ufeff"),
    *("a,b", ",", "a;b", "a|b", "a::b", "::", "a:b", ":", "a b", '"', '""', '"a"', 'a"b', '"a', 'a"', '"a,b"', '"\n"'),
    *(
        'a""b',
        "'a'",
        "a\\b",
        "\\n",
        "\\",
        "#a",
        "#",
        "a #b",
        "a#b",
        "%a",
        "%%MatrixMarket",
        "sep=;",
        "=1+1",
        "@a",
        "{",
        '{"',
    ),
    *("nan", "NaN", "NA", "N/A", "null", "NULL", "None", "inf", "-inf", "true", "-", "--", "?", "#N/A", "<NA>"),
    *("007", "+1", "-0", "1e5", "1.0", "1,5", "1_000", " 1", "1 ", "\u0661", "\u00b2", "0x10", "9" * 25, "7:"),
    *(
        "e\u0301",
        "\u00e9",
        "a\u202eb",
        "\u200b",
        "\U0001f600",
        "\U0001f468\u200d\U0001f469",
        "\u65e5\u672c",
        "qid:1",
        "1:0.5",
    ),
]
HEADERS = ["user", "item", "rating", "timestamp", "user,item,rating", "qid", "label", "title", "MovieID:", "1:", "time"]
LOST = ["", "a\0b", "\0a", "\ud800", "a\udcffb", "\udfff\ud800"]
LETTERS = [*",;|\t \r\n\"#%:'\\-+.019ea"]


@functools.cache
def letters_by_category():
    """Return {category: its letters in the first two planes of Unicode}, where every category has some."""
    letters = {}
    for code in range(1, 0x20000):
        letters.setdefault(unicodedata.category(chr(code)), []).append(chr(code))
    return letters


def drawn_words(seed, count):
    """Return different words of letters of every Unicode category except surrogates, and of special characters of
    formats."""
    random = np.random.default_rng(seed)
    by_category = letters_by_category()
    kinds = sorted(set(by_category) - {"Cs"})
    words = set()
    while len(words) < count:
        word = ""
        for _ in range(random.integers(1, 6)):
            letters = LETTERS if random.random() < 0.5 else by_category[kinds[random.integers(len(kinds))]]
            word += letters[random.integers(len(letters))]
        words.add(word)
    return sorted(words)


def spelled(rng, count):
    """Return random decimals in many spellings."""
    for _ in range(count):
        value = float(rng.normal() * 10.0 ** rng.integers(-9, 10))
        yield rng.choice(
            [
                f"{value:.{rng.integers(0, 12)}f}",
                f"{value:.{rng.integers(1, 9)}e}",
                f"{value:g}",
                str(round(value)),
                repr(value),
            ]
        )
