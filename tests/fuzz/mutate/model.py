"""Model files and checkpoints: parameters, facts and arrays edited, packed and signed as the library would."""

import json

import numpy as np

from fuzz.mutate import archive, arrays, raw, structured

HEADER = "__gpukit__"


def decode(data):
    """(header, {name: array}) of a sound file."""
    held = archive.load(data)
    return json.loads(held.pop(HEADER).tobytes()), held


def encode(header, held):
    """A file of them; header: a dict, or any text."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return archive.npz({**held, HEADER: np.frombuffer(text, np.uint8)})


def edit_header(data, rng):
    """A parameter, a fact, the class, the format edited."""
    header, held = decode(data)
    return encode(structured.edit(header, rng), held)


def edit_parameter(data, rng):
    """A parameter of another type, unknown, or left out."""
    header, held = decode(data)
    part = ("parameters", "facts")[rng.integers(2)]
    if not isinstance(header.get(part), dict):
        return edit_header(data, rng)
    header[part] = structured.edit(header[part], rng)
    return encode(header, held)


def edit_class(data, rng):
    """Another class, another format."""
    header, held = decode(data)
    classes = ("LSHMF", "MatrixFactorization", "RankSVM", "SimLSH", "GraphImputer", "checkpoint", "Estimator", "os", None, 3, [])
    key, values = (("class", classes), ("format", (1, 3, 99, None, "2", 2.0)), ("of", classes))[rng.integers(3)]
    header[key] = values[rng.integers(len(values))]
    return encode(header, held)


def edit_header_text(data, rng):
    """The header as text that is no JSON, or no object."""
    header, held = decode(data)
    text = json.dumps(header).encode()
    texts = (b"[]", b"null", b"5", b'"x"', b"", b"\xff", text[:-1], text + text, b"[" * 3000, b"{}", text.replace(b"{", b'{"class": "RankSVM", ', 1))
    return encode(texts[rng.integers(len(texts))], held)


def edit_arrays(data, rng):
    """An array mutated."""
    header, held = decode(data)
    return encode(header, arrays.among(held, rng) if rng.random() < 0.9 else arrays.consistent(held, rng))


MODEL = (
    *(edit_arrays,) * 9,
    *(edit_header, edit_parameter, edit_parameter, edit_class, edit_header_text, archive.edit_members),
    *(archive.edit_npy_header, archive.edit_zip_fields, archive.bomb, *raw.BYTES[:6]),
)
