"""Ratings: text of every format, compressed text, folders, .npz, .gkr, Parquet."""

import bz2
import gzip
import lzma
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from fuzz.judges import tables
from fuzz.mutate import archive, container, parquet, raw
from fuzz.mutate.text import TEXT
from fuzz.registry import Kind, Sample, single

NAMED = "users", "items", "values", "user_ids", "item_ids", "times", "weights", "counts"


def triples(n=40, seed=0):
    """(n,) users 1..12, items 1..9, ratings 0.5..5, times, each pair once."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(12 * 9)[:n]
    stars, times = rng.integers(1, 11, n) / 2, 1_100_000_000 + rng.integers(0, 10**8, n)
    return pairs // 9 + 1, pairs % 9 + 1, stars, times


def lines(sep, header="", names="{}", extras=True):
    """Text of the triples."""
    rows = [
        sep.join((names.format(user), str(item), f"{stars:g}", *([str(when)] if extras else [])))
        for user, item, stars, when in zip(*triples())
    ]
    return ("\n".join(([header] if header else []) + rows) + "\n").encode()


def netflix():
    """Lines `MovieID:`, then lines CustomerID,Rating,date."""
    users, items, stars, _ = triples()
    text = ""
    for movie in sorted(set(items.tolist())):
        text += f"{movie}:\n"
        text += "".join(
            f"{u},{int(s + 0.5)},2005-0{1 + u % 9}-11\n" for u, i, s in zip(users, items, stars) if i == movie
        )
    return text.encode()


def matrix_market():
    """A netflix-mm file: lines of %, sizes, 1-based triples."""
    users, items, stars, _ = triples()
    rows = "".join(f"{u} {i} {s:g}\n" for u, i, s in zip(users, items, stars))
    return f"%%MatrixMarket matrix coordinate real general\n% c\n12 9 {len(users)}\n{rows}".encode()


def texts():
    """{name: bytes} of text in all formats."""
    counted = "\n".join(f"{u},{i},{s:g},{t},{s / 4:g},{i}" for u, i, s, t in zip(*triples()))
    return {
        "plain.csv": lines(","),
        "header.csv": lines(",", "userId,movieId,rating,timestamp"),
        "typed.inter": lines("\t", "user_id:token\titem_id:token\trating:float\ttimestamp:float"),
        "words.csv": lines(",", "user,item,rating", "user {}", extras=False),
        "quoted.csv": lines(",", "user,item,rating", '"u, {}"', extras=False),
        "semi.csv": lines(";", "User-ID;ISBN;Book-Rating", extras=False),
        "comma.csv": lines(";", "user;item;rating", extras=False).replace(b".", b","),
        "bar.txt": lines("|"),
        "blank.txt": lines(" ", extras=False),
        "u.data": lines("\t"),
        "ratings.dat": lines("::"),
        "many.csv": b"user,item,rating,timestamp,weight,count\n" + counted.encode() + b"\n",
        "combined_data_1.txt": netflix(),
    }


def pair_texts():
    """{name: bytes} of pairs without ratings, some repeated, and with counts."""
    users, items, stars, times = triples()
    rows = list(zip(users, items, (2 * stars).astype(int), times))
    rows += rows[:5]
    return {
        "pairs.csv": "".join(f"{u},{i}\n" for u, i, _, _ in rows).encode(),
        "plays.csv": ("user,item,plays\n" + "".join(f"u{u},{i},{n}\n" for u, i, n, _ in rows)).encode(),
        "seen.tsv": ("user\titem\ttimestamp\n" + "".join(f"{u}\t{i}\t{t}\n" for u, i, _, t in rows)).encode(),
    }


def text_samples():
    """Samples of text."""
    return [single(name, text) for name, text in texts().items()]


def packed_samples():
    """Samples of compressed text."""
    text, other = texts()["header.csv"], netflix()
    one = archive.zipped([("ratings.csv", text)], zipfile.ZIP_DEFLATED)
    many = archive.zipped([(f"mv_{k}.txt", other) for k in (1, 2)] + [("README", b"x")], zipfile.ZIP_DEFLATED)
    return [
        single("ratings.csv.gz", gzip.compress(text, mtime=0)),
        single("ratings.csv.xz", lzma.compress(text)),
        single("ratings.zip", one),
        single("netflix.zip", many),
    ]


def stream_samples():
    """Samples of text in two consecutive compressed streams."""
    text = texts()["header.csv"]
    half = text.index(b"\n", len(text) // 2) + 1
    packs = {"gz": lambda part: gzip.compress(part, mtime=0), "bz2": bz2.compress, "xz": lzma.compress}
    return [single(f"ratings.csv.{kind}", pack(text[:half]) + pack(text[half:])) for kind, pack in packs.items()]


def folder_samples():
    """Folders of files."""
    movies = {
        f"mv_{k:07}.txt": f"{k}:\n{10 + k},3,2005-01-02\n{20 + k},4,2005-01-03\n7,5,2004-01-01\n".encode()
        for k in (1, 2, 3)
    }
    combined = {"combined_data_1.txt": netflix(), "combined_data_2.txt": netflix().replace(b":\n", b"0:\n")}
    lens = {"ratings.dat": lines("::"), "movies.dat": b"1::A (1990)::x\n"}
    return [Sample(files, ".", tuple(files)) for files in (movies, combined, lens)]


def made():
    """Ratings with all optional columns."""
    from gpukit.ratings import Ratings

    users, items, stars, times = triples()
    ids, rows = np.unique(users, return_inverse=True)
    names, columns = np.unique([f"i{item}" for item in items], return_inverse=True)
    return Ratings(
        rows.astype(np.int32),
        columns.astype(np.int32),
        stars.astype(np.float32),
        ids.astype(np.int64),
        names,
        times=times.astype(np.int64),
        weights=(stars / 4).astype(np.float32),
        counts=items.astype(np.int32),
    )


def written(ratings, suffix):
    """Return the bytes that write_ratings writes."""
    from gpukit.ratings import write_ratings

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"r{suffix}"
        write_ratings(ratings, path)
        return path.read_bytes()


def variants():
    """Ratings with and without the optional columns."""
    whole = made()
    columns = {name: whole.columns()[name] for name in ("users", "items", "values")}
    pairs = {**columns, "values": np.ones_like(columns["values"]), "counts": whole.counts}
    return [whole, whole.with_columns(**columns), whole.with_columns(**pairs)]


def copies(suffix):
    """A function that makes samples of binary copies."""
    return lambda: [single(f"ratings{suffix}", written(ratings, suffix)) for ratings in variants()]


def npz_samples():
    """Samples of .npz: gpukit's, csr and coo."""
    from scipy import sparse

    users, items, stars, _ = triples()
    matrix = sparse.coo_matrix((stars, (users - 1, items - 1)), shape=(12, 9))
    return copies(".npz")() + [single("matrix.npz", saved(form)) for form in (matrix, matrix.tocsr(), matrix.tocsc())]


def saved(matrix):
    """Return the bytes of scipy.sparse.save_npz."""
    import io

    from scipy import sparse

    file = io.BytesIO()
    sparse.save_npz(file, matrix, compressed=False)
    return file.getvalue()


def plain(rng):
    """Return the data unchanged."""
    return {}


def answer(path, use):
    """Read, and compress by rows and by columns."""
    from gpukit.ratings import read_ratings

    ratings = read_ratings(path, times=use.get("times", False))
    found = {name: getattr(ratings, name) for name in NAMED}
    for way in ("csr", "csc"):
        found |= {f"{way}_{part}": a for part, a in zip(("indptr", "indices", "values"), getattr(ratings, way)())}
    return found


def text_judge(found, files):
    """Valid, and all content is from the text."""
    return judge(found, files) or tables.spelled(found, files)


def matrix_judge(found, files):
    """Valid, and of a file with the banner of a real, general coordinate matrix."""
    banner = next(iter(files.values())).split(b"\n")[0].lower().split()
    if banner[:1] == [b"%%matrixmarket"] and set(banner) & archive.OTHER_MATRICES:
        return f"numbers were read of a matrix that is {banner}"
    return judge(found, files)


def streams_judge(found, files):
    """Valid, with all ratings of all streams, which are undamaged."""
    try:
        text = archive.all_streams(next(iter(files.values())))
    except (OSError, EOFError, ValueError, lzma.LZMAError) as error:
        return f"there is an answer to streams that are damaged: {error!r}"
    wanted = text.count(b"\n") - 1
    wrong = None if len(found["values"]) == wanted else f"{len(found['values'])} ratings of {wanted}"
    return wrong or judge(found, files)


def judge(found, files):
    """Valid, each pair once."""
    return tables.ratings(found, files) or tables.distinct(found, files)


KINDS = [
    Kind("ratings-text", text_samples, TEXT, answer, text_judge, plain, pipes=True, share=3),
    Kind(
        "ratings-times",
        lambda: text_samples()[:2] + text_samples()[-4:],
        TEXT,
        answer,
        text_judge,
        lambda rng: {"times": True},
    ),
    Kind(
        "ratings-pairs",
        lambda: [single(name, text) for name, text in pair_texts().items()],
        TEXT,
        answer,
        text_judge,
        plain,
        pipes=True,
    ),
    Kind(
        "ratings-mtx",
        lambda: [single("netflix_mm", matrix_market())],
        (*TEXT, *(archive.edit_banner,) * 2),
        answer,
        matrix_judge,
        plain,
        pipes=True,
    ),
    Kind(
        "ratings-streams",
        stream_samples,
        (*raw.BYTES[:6], archive.edit_gzip),
        answer,
        streams_judge,
        plain,
        share=0.5,
    ),
    Kind("ratings-packed", packed_samples, archive.packed(TEXT), answer, judge, plain, pipes=True, share=2),
    Kind("ratings-folder", folder_samples, TEXT, answer, text_judge, plain, share=0.5),
    Kind("ratings-npz", npz_samples, archive.NPZ, answer, judge, plain, share=2),
    Kind("ratings-gkr", copies(".gkr"), container.COPY, answer, tables.ratings, plain, same=True, share=2),
    Kind("ratings-parquet", copies(".parquet"), parquet.PARQUET, answer, judge, plain),
]
