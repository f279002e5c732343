"""Read ratings from Parquet, a batch of rows at a time."""

import numpy as np

from gpukit.errors import DataError
from gpukit.io import parquet
from gpukit.io.delimited import Words
from gpukit.io.times import as_seconds
from gpukit.ratings import headers
from gpukit.ratings.chunk_reader import RatingsBuilder
from gpukit.ratings.text import TYPES


def read_parquet(source, request):
    """Return the Ratings of Parquet in an open Source, repeated pairs included.

    request: see read_ratings. Ids are integers or text. Raises DataError with the row for missing values and for
    invalid numbers or times.
    """
    source = parquet.Reader(source)
    places, _ = headers.columns_of(source.names, request, source.name, is_header=True)
    names, builder = {role: source.names[place] for role, place in places.items()}, RatingsBuilder()
    for start, batch in source.batches(dict.fromkeys(names.values())):
        columns = {role: batch[name] for role, name in names.items()}
        for role in headers.IDS:
            columns[role] = _ids(source, columns[role], start, headers.WORDS[role])
            getattr(builder, role).are_words |= isinstance(columns[role], Words)
        if "times" in columns:
            columns["times"] = _times(source, columns["times"], start, request.times == headers.MAYBE)
        for role in headers.NUMBERS:
            if role in columns:
                numbers = source.numbers(columns[role], start, headers.WORDS[role])
                columns[role] = numbers.astype(TYPES.get(role, np.float64))
        builder.add(columns, request.need_rating)
    return builder.ratings(source.name)


def _ids(source, ids, start, what):
    """Return a batch's ids: integers, or Words of text."""
    pyarrow, _ = parquet.library()
    ids = source.ids(ids, start, f"{what} id")
    kind = ids.type.value_type if pyarrow.types.is_dictionary(ids.type) else ids.type
    if pyarrow.types.is_integer(kind):
        plain = ids.dictionary_decode() if kind != ids.type else ids
        if plain.type != pyarrow.uint64():
            return plain.cast(pyarrow.int64()).to_numpy()
        ids = plain
    if kind == pyarrow.float16():  # older pyarrow cannot encode halves
        ids = ids.cast(pyarrow.float32())
    encoded = ids if pyarrow.types.is_dictionary(ids.type) else ids.dictionary_encode()
    used, index = np.unique(encoded.indices.to_numpy(), return_inverse=True)  # a dictionary may hold unused words
    words = [str(word) for word in encoded.dictionary.take(pyarrow.array(used)).to_pylist()]
    for at, word in enumerate(words):
        if not word or "\0" in word:
            row, lacks = start + int(np.argmax(index == at)) + 1, "a byte of 0 in its" if word else "no"
            raise DataError(f"{source.name}, row {row:,} has {lacks} {what} id. Correct or remove such rows first.")
    distinct = pyarrow.array([word.encode() for word in words], pyarrow.large_binary())
    return Words(pyarrow.DictionaryArray.from_arrays(index.astype(np.int32), distinct))


def _times(source, times, start, lenient):
    """Return a batch's times as seconds (n,) int64; lenient: invalid ones are MISSING."""
    if not lenient:
        source.refuse_missing(times, start, "time")
    times = times.to_numpy(zero_copy_only=False)
    return as_seconds(times, f"{source.name}, from row {start + 1:,} on", lenient)
