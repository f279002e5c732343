"""Read ratings from Parquet, a batch of rows at a time."""

import numpy as np

from gpukit.errors import DataError
from gpukit.io import parquet
from gpukit.io.delimited import Words
from gpukit.io.times import as_seconds
from gpukit.ratings import headers
from gpukit.ratings.clicks import values_of_pairs
from gpukit.ratings.gather import RatingsBuilder


def read_parquet(source, request):
    """Return the Ratings of Parquet in an open Source, repeated pairs included.

    request: see read_ratings. Ids are integers or text. Raises DataError with the row for missing values and for
    invalid numbers or times.
    """
    source = parquet.Reader(source)
    places, extras = _places(source, request)
    wanted = {place: source.names[place] for place in (*places, *extras) if place >= 0}
    builder = RatingsBuilder()
    for start, columns in source.batches(dict.fromkeys(wanted.values())):
        found = {place: columns[name] for place, name in wanted.items()}
        _add_ids(builder.users, source, found[places.user], start, "user")
        _add_ids(builder.items, source, found[places.item], start, "item")
        numbers = _numbers(source, found, places, extras, start, request.times == headers.MAYBE)
        if places.rating < 0 and request.need_rating:
            counts = numbers.get("counts", ())
            numbers["values"], numbers["counts"] = values_of_pairs(len(numbers["values"]), counts)
        builder.add_columns(**numbers)
    return builder.ratings(source.name)


def _places(source, request):
    """Return (Triple, Extras) of the columns by name or by the caller's list."""
    places, extras, _ = headers.columns_of(source.names, request, source.name, named=True)
    if places is None:
        raise DataError(
            f"{source.name} has the columns {', '.join(source.names)}: which are user, item and rating is not clear. "
            "Name the columns in order with --columns (such as user,item,-,rating)."
        )
    return places, extras


def _add_ids(column, source, ids, start, what):
    """Append a batch's ids, integers or text, to a Column."""
    pyarrow, _ = parquet.library()
    ids = source.ids(ids, start, f"{what} id")
    kind = ids.type.value_type if pyarrow.types.is_dictionary(ids.type) else ids.type
    if pyarrow.types.is_integer(kind):
        plain = ids.dictionary_decode() if kind != ids.type else ids
        if plain.type != pyarrow.uint64():
            column.chunks.append(plain.cast(pyarrow.int64()).to_numpy())
            return
        ids = plain
    if kind == pyarrow.float16():  # older pyarrow cannot encode halves
        ids = ids.cast(pyarrow.float32())
    encoded = ids if pyarrow.types.is_dictionary(ids.type) else ids.dictionary_encode()
    used, which = np.unique(encoded.indices.to_numpy(), return_inverse=True)  # a dictionary may hold unused words
    words = [str(word) for word in encoded.dictionary.take(pyarrow.array(used)).to_pylist()]
    for at, word in enumerate(words):
        if not word or "\0" in word:
            row, lacks = start + int(np.argmax(which == at)) + 1, "a byte of 0 in its" if word else "no"
            raise DataError(f"{source.name}, row {row:,} has {lacks} {what} id. Correct or remove such rows first.")
    distinct = pyarrow.array([word.encode() for word in words], pyarrow.large_binary())
    column.chunks.append(Words(pyarrow.DictionaryArray.from_arrays(which.astype(np.int32), distinct)))
    column.are_words = True


def _numbers(source, found, places, extras, start, lenient=False):
    """Return {name: array} of a batch's ratings and optional columns.

    lenient: invalid times are MISSING.
    """
    rows = len(found[places.user])
    out = {"values": np.empty(rows, dtype=np.float32)}
    if places.rating >= 0:
        out["values"] = source.numbers(found[places.rating], start, "rating").astype(np.float32)
    if extras.time >= 0:
        if not lenient:
            source.refuse_missing(found[extras.time], start, "time")
        times = found[extras.time].to_numpy(zero_copy_only=False)
        out["times"] = as_seconds(times, f"{source.name}, from row {start + 1:,} on", lenient)
    if extras.weight >= 0:
        out["weights"] = source.numbers(found[extras.weight], start, "weight").astype(np.float32)
    if extras.count >= 0:
        out["counts"] = source.numbers(found[extras.count], start, "count").astype(np.float64)
    return out
