"""Judge of a completed table: observed text unchanged, missing values filled."""

import re

import numpy as np

BETWEEN = re.compile(r"[,;\s\"]+")


def completed(answer, files):
    """Judge an answer.

    before (N, T) and seen, as read; filled (N, T) float32; after and whole, as read from the written file; text, its
    bytes (b'' for Parquet); ids and times, and those read again.
    """
    before, seen, after = answer["before"], answer["seen"], answer["after"]
    if after.shape != before.shape or not answer["whole"].all():
        return f"{before.shape} values were read, and {after.shape} again, {int((~answer['whole']).sum())} missing"
    if not np.array_equal(after[seen], before[seen]):
        return "what was observed has changed"
    if not np.array_equal(after[~seen].astype(np.float32), answer["filled"][~seen]):
        return "what was filled in is not what is read again"
    for name in ("ids", "times"):
        if answer[name] != answer[f"{name}_again"]:
            return f"{name} were {str(answer[name])[:80]}, are {str(answer[name + '_again'])[:80]}"
    return spelled(answer, files) if answer["text"] and "v.csv" in files else None


def spelled(answer, files):
    """Check that each word is from the input or an imputed number."""
    raw = files["v.csv"]
    known = {
        word for code in ("utf-8", "latin-1", "cp1252") for word in BETWEEN.split(bare(raw.decode(code, "replace")))
    }
    numbers = [np.format_float_positional(number, trim="-") for number in answer["filled"][~answer["seen"]]]
    known |= {*numbers, *(part for number in numbers for part in number.split("."))}  # for decimal commas
    strange = [word for word in BETWEEN.split(bare(answer["text"].decode())) if word and word not in known]
    return f"{strange[0]!r} is not in the file" if strange else None


def bare(text):
    """Return a text without byte order marks."""
    return text.replace("\ufeff", "")
