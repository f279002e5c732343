"""Documents out: the binary copy (.gkl, see container.py), read at disk speed, or svmlight text (.txt)."""

import numpy as np

from gpukit.documents.table import Documents
from gpukit.errors import DataError
from gpukit.io import container
from gpukit.persist import atomic_write

MAGIC = b"GPUKITL1"
SUFFIXES = (".gkl", ".txt")


def write_letor(documents, path):
    """Write Documents to path; its suffix says how: .gkl (binary copy) or .txt (svmlight with query ids).

    Text spells each value as shortly as gives the same number back; of a CSR X it has the stored features alone. The
    file appears whole or not at all. Raises ParameterError for another suffix, DataError when path cannot be written.
    """
    from gpukit.documents.write import write_text

    suffix = check_output(path)
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        if suffix == ".gkl":
            _write_gkl(documents, file)
        else:
            write_text(documents, file)


def check_output(path):
    """The suffix of a path that write_letor can write to; ParameterError or DataError for one that it cannot."""
    return container.check_output(path, SUFFIXES)


def is_copy(path):
    """True for a .gkl file."""
    return container.begins_with(path, MAGIC)


def _write_gkl(documents, file):
    X = documents.X
    features = {"X": X} if isinstance(X, np.ndarray) else {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    arrays = {**features, "y": documents.y, "offsets": documents.offsets, "qids": documents.qids}
    if documents.comments is not None:
        arrays["comments"] = documents.comments
    container.write_arrays(file, MAGIC, arrays, shape=X.shape)


def read_gkl(path, mmap=False):
    """Documents of a binary copy; mmap=True leaves the arrays on disk, read-only, until they are touched."""
    header = container.read_header(path, MAGIC, "documents (.gkl)")
    arrays = container.read_arrays(path, header, mmap)
    documents = Documents(
        _features(arrays, tuple(header["shape"])),
        arrays["y"],
        arrays["offsets"],
        arrays["qids"],
        arrays.get("comments"),
    )
    offsets = documents.offsets
    if offsets[0] != 0 or offsets[-1] != documents.X.shape[0] or (np.diff(offsets) < 1).any():
        raise DataError(f"{path} is damaged: its queries do not make up its documents. {container.AGAIN}")
    return documents


def _features(arrays, shape):
    if "X" in arrays:
        return arrays["X"]
    from scipy.sparse import csr_matrix

    return csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
