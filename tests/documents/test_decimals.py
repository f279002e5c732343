"""Decimals of svmlight text: compiled code gives Python's number, or none."""

from fractions import Fraction

import numpy as np
import pytest
from odd_words import spelled

from gpukit.documents import parse


def parsed(words):
    """decimals.double of each word."""
    return [parse.double(np.frombuffer(word.encode() + b"\n", dtype=np.uint8), 0, len(word)) for word in words]


def long_decimals(rng, count):
    """Decimals of 16 digits and more, as programs print float64; many near the middle of two float32."""
    for _ in range(count):
        low = np.float32(rng.normal() * 10.0 ** rng.integers(-40, 36))
        middle = (float(low) + float(np.nextafter(low, np.float32(np.inf)))) / 2
        neighbor = float(np.nextafter(middle, rng.choice([-np.inf, np.inf])))
        value = rng.choice([rng.normal() * 10.0 ** rng.integers(-44, 38), middle, neighbor])
        yield rng.choice([repr(float(value)), f"{value:.17g}", f"{value:.40e}", f"{value:.30f}"])


def beside_the_middle(rng, count):
    """Decimals of 16 to 18 digits at and near the middle of two float64."""
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
        *("3", "4.5", "-1", "1e-3", "0", "-0", ".5", "5.", "+2", "1E2", "0.1", "16777217", "1e22", "1E+05"),
        "9007199254740993",
        "-9007199254740995e0",
        *spelled(rng, 3000),
        *long_decimals(rng, 2000),
        *beside_the_middle(rng, 4000),
    ]
    found = parsed(words)
    for word, value in zip(words, found, strict=True):
        assert np.isnan(value) or (value == float(word) and np.signbit(value) == np.signbit(float(word))), word
    assert not np.isnan(found[:22]).any() and np.isnan(found).mean() < 0.3
    as_printed = [repr(float(value)) for value in rng.random(5000)]
    assert np.isnan(parsed(as_printed)).mean() < 0.01


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
    assert np.isnan(parsed([word])[0])
