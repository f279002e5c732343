"""The threaded parser: numbers as Python reads them, whatever the block and the range that a line falls into."""

import io
from fractions import Fraction

import numpy as np
import pandas
import pytest

from gpukit.io import fields
from gpukit.ratings import read_ratings
from ratings import naive


def parsed(words, parse=fields.decimal):
    """fields.decimal (or double) of each word."""
    return [parse(np.frombuffer(word.encode() + b"\n", dtype=np.uint8), 0, len(word)) for word in words]


def spelled(rng, count):
    """Random decimals in many spellings."""
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


def test_decimals_round_as_python_does():
    words = [
        "3",
        "4.5",
        "3.75",
        "-1",
        "1e-3",
        "0",
        "-0",
        ".5",
        "5.",
        "+2",
        "1E2",
        "0.1",
        "16777217",
        "1e22",
        "999999999999999",
        "1e-5",
        *spelled(np.random.default_rng(0), 3000),
    ]
    fast = 0
    for word, value in zip(words, parsed(words), strict=True):
        if not np.isnan(value):  # NaN: left to the caller
            fast += 1
            assert value == np.float32(float(word)) and np.signbit(value) == np.signbit(np.float32(float(word))), word
    assert fast > 2900


def long_decimals(rng, count):
    """Decimals of 16 digits and more, as programs print float64; many beside or on the middle of two float32."""
    for _ in range(count):
        low = np.float32(rng.normal() * 10.0 ** rng.integers(-40, 36))
        middle = (float(low) + float(np.nextafter(low, np.float32(np.inf)))) / 2
        beside = float(np.nextafter(middle, rng.choice([-np.inf, np.inf])))
        value = rng.choice([rng.normal() * 10.0 ** rng.integers(-44, 38), middle, beside])
        yield rng.choice([repr(float(value)), f"{value:.17g}", f"{value:.40e}", f"{value:.30f}"])


def test_long_decimals_round_as_python_does():
    words = [
        "1234567890123456",
        "0.1000000000000000055511151231257827",
        "1e-05",
        "1E+05",
        "0" * 40 + "7",
        "1e-50",
        "100000000000000000000000000000",
        ".00000000000000000000000000000000001",
        "-0.00000000000000000",
        *long_decimals(np.random.default_rng(4), 4000),
    ]
    settled = 0
    for word, value in zip(words, parsed(words), strict=True):
        if not np.isnan(value):
            settled += 1
            assert value == np.float32(float(word)) and np.signbit(value) == np.signbit(np.float32(float(word))), word
    assert settled > 1300 and not np.isnan(parsed(words[:9])).any()


def beside_the_middle(rng, count):
    """Decimals of 16 to 18 digits on and beside the middle of two float64."""
    for _ in range(count):
        mantissa, power = int(rng.integers(10**15, 10**18)), int(rng.integers(-22, 23))
        low = Fraction(float(mantissa * Fraction(10) ** power))
        middle = (low + Fraction(np.nextafter(float(low), np.inf))) / 2 / Fraction(10) ** power
        yield f"{rng.choice(['', '-'])}{round(middle) + int(rng.integers(-1, 2))}e{power}"


def test_float64_is_what_python_reads():
    rng = np.random.default_rng(6)
    words = [
        "1234567890123456",
        "0.12345678901234567",
        "1e-05",
        "-0.00000000000000000",
        "999999999999999999",
        "0.30000000000000004",
        "123456789012345678e17",
        "123456789012345678e-22",
        "9007199254740993",
        "-9007199254740995e0",
        *spelled(rng, 3000),
        *long_decimals(rng, 2000),
        *beside_the_middle(rng, 4000),
    ]
    found = parsed(words, fields.double)
    for word, value in zip(words, found, strict=True):
        assert np.isnan(value) or (value == float(word) and np.signbit(value) == np.signbit(float(word))), word
    assert not np.isnan(found[:8]).any() and np.isnan(found).mean() < 0.3
    as_printed = [repr(float(value)) for value in rng.random(5000)]
    assert np.isnan(parsed(as_printed, fields.double)).mean() < 0.01


@pytest.mark.parametrize(
    "word",
    [
        "",
        "-",
        ".",
        "e5",
        "1e",
        "1e+",
        "nan",
        "inf",
        "1 2",
        "1.2.3",
        "0x10",
        "1e39",
        "1e99",
        "12345678901234567e22x",
        "99999999999999999e22",
        "1e-5x",
        "1e5.",
        "1e1e1",
        "1e00001",
        "12345678901234567x",
        "e",
        "--1",
        "-.e1",
    ],
)
def test_what_is_no_plain_decimal_is_left_open(word):
    assert np.isnan(parsed([word])[0]) and np.isnan(parsed([word], fields.double)[0])


def test_ratings_in_any_spelling(tmp_path):
    words = [word for word in spelled(np.random.default_rng(1), 2000)]
    (tmp_path / "a.csv").write_text("".join(f"{at},1,{word}\n" for at, word in enumerate(words)))
    expected = np.array([np.float32(float(word)) for word in words])
    assert np.array_equal(read_ratings(tmp_path / "a.csv").values, expected)


@pytest.mark.parametrize(
    "text, good",
    [
        ("0", True),
        ("-5", True),
        (str(2**63 - 1), True),
        (str(2**63), False),
        ("00", False),
        ("-0", False),
        ("+1", False),
        ("", False),
        ("-", False),
        ("1a", False),
        ("12345678901234567890", False),
    ],
)
def test_integers_only_as_python_prints_them(text, good):
    value, found = fields.integer(np.frombuffer(text.encode() + b"\n", dtype=np.uint8), 0, len(text))
    assert found == good and (not good or value == int(text))


@pytest.mark.parametrize("block, smallest", [(40, 1), (64, 7), (1000, 16), (1 << 20, 100), (1 << 20, 1 << 20)])
@pytest.mark.parametrize("text_ids", [False, True])
def test_any_block_and_range(tmp_path, monkeypatch, block, smallest, text_ids):
    monkeypatch.setattr("gpukit.io.sources.BLOCK", block)
    monkeypatch.setattr("gpukit.ratings.gather.RANGE", smallest)
    rng = np.random.default_rng(2)
    prefix = "u" if text_ids else ""
    lines = [
        f"{prefix}{rng.integers(1, 10 ** rng.integers(1, 9))},{at},{rng.integers(0, 100) / 8:g}" for at in range(700)
    ]
    text = "user,item,rating\n" + "\n".join(lines) + rng.choice(["", "\n", "\r\n\n\n"])
    (tmp_path / "a.csv").write_text(text, newline="")
    ratings = read_ratings(tmp_path / "a.csv")
    users = ratings.user_ids[ratings.users].astype(str).tolist()
    found = list(zip(users, ratings.item_ids[ratings.items].astype(str).tolist(), ratings.values.tolist(), strict=True))
    assert found == naive.triples(text, header=True)
    frame = pandas.read_csv(io.StringIO(text))
    assert np.array_equal(ratings.values, frame.rating.to_numpy(np.float32))
    assert users == frame.user.astype(str).tolist()


@pytest.mark.parametrize("block, smallest", [(30, 1), (200, 20), (1 << 20, 64)])
def test_netflix_movies_carry_over_blocks(tmp_path, monkeypatch, block, smallest):
    monkeypatch.setattr("gpukit.io.sources.BLOCK", block)
    monkeypatch.setattr("gpukit.ratings.gather.RANGE", smallest)
    rng = np.random.default_rng(3)
    text = "".join(
        f"{movie}:\n" + "".join(f"{user},{rng.integers(1, 6)},2005-01-01\n" for user in range(rng.integers(0, 30)))
        for movie in range(1, 60)
    )
    (tmp_path / "combined_data_1.txt").write_text(text)
    ratings = read_ratings(tmp_path)
    users, items = ratings.user_ids[ratings.users].astype(str), ratings.item_ids[ratings.items].astype(str)
    assert list(zip(users.tolist(), items.tolist(), ratings.values.tolist(), strict=True)) == naive.netflix(text)
