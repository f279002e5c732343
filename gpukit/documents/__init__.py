"""Documents of queries with features and relevance, for learning to rank.

    read_letor(path)     find_folds(folder)     synth_letor("mslr-web30k", 0.01)     -> Documents, folds of them

| file                   | contents                                                                    |
|------------------------|-----------------------------------------------------------------------------|
| table.py, folds.py     | `Documents` (features, relevance, queries); LETOR's folds                   |
| read.py                | `read_letor`: svmlight, group files, tables, copies; `position_weights`     |
| tables.py              | csv and Parquet: column roles by name, reading, writing Parquet             |
| adopt.py               | `as_documents`: arrays and data frames; validation                          |
| parse.py -> gather.py  | a block of lines to arrays, on all cores; errors with their line            |
| copies.py              | `write_letor`: .gkl copies, svmlight text, Parquet                          |
| trec.py                | TREC runs and qrels                                                         |
| synth.py               | synthetic documents with LETOR's shapes                                     |
"""

from gpukit._lazy import on_demand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpukit.documents.adopt import as_documents as as_documents
    from gpukit.documents.copies import write_letor as write_letor
    from gpukit.documents.folds import find_folds as find_folds
    from gpukit.documents.folds import write_folds as write_folds
    from gpukit.documents.read import position_weights as position_weights
    from gpukit.documents.read import read_letor as read_letor
    from gpukit.documents.synth import synth_letor as synth_letor
    from gpukit.documents.table import Documents as Documents
    from gpukit.documents.table import take_queries as take_queries

_HOMES = {
    "Documents": "table",
    "as_documents": "adopt",
    "take_queries": "table",
    "find_folds": "folds",
    "write_folds": "folds",
    "position_weights": "read",
    "read_letor": "read",
    "write_letor": "copies",
    "synth_letor": "synth",
}
__all__ = sorted(_HOMES)
if not TYPE_CHECKING:
    __getattr__, __dir__ = on_demand(__name__, _HOMES)
