"""Documents of queries with features and relevance, for learning to rank.

    read_letor(path)     find_folds(folder)     synth_letor("mslr-web30k", 0.01)     -> Documents, folds of them

| file                   | contents                                                                    |
|------------------------|-----------------------------------------------------------------------------|
| table.py, folds.py     | `Documents` (features, relevance, queries); LETOR's folds                   |
| read.py                | `read_letor`: svmlight with query ids, group files, tables, binary copies   |
| columns.py             | tables: column roles; csv (delimited.py), Parquet (parquet.py)              |
| convert.py, check.py   | `as_documents`: arrays and data frames; validation                          |
| lines.py, decimals.py  | lines split into ranges; text to numbers                                    |
| parse.py -> gather.py  | a block of lines to arrays, on all cores; errors with their line            |
| copies.py              | `write_letor`: .gkl copies, Parquet (parquet.py), svmlight text (write.py)  |
| synth.py, planted.py   | synthetic documents with LETOR's shapes                                     |
"""

import importlib

_HOMES = {
    "Documents": "table",
    "as_documents": "convert",
    "take_queries": "table",
    "find_folds": "folds",
    "write_folds": "folds",
    "read_letor": "read",
    "write_letor": "copies",
    "synth_letor": "synth",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__():
    return __all__
