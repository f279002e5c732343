"""Read and write bytes, text and arrays, for ratings, documents and graphs.

| file           | contents                                                                         |
|----------------|----------------------------------------------------------------------------------|
| sources.py     | files, pipes and standard input, opened once; formats; copies that load quickly  |
| sinks.py       | files written atomically, pipes and standard output                              |
| delimited.py   | a block of lines to columns, by pyarrow or line by line                          |
| records.py     | csv lines to words and back, with quoted fields                                  |
| notes.py       | notes of readers on merged or skipped rows, for the command line                 |
| words.py       | words to numbers and ids; blank lines at the end of a text                       |
| sheet.py       | a whole text or Parquet file as a data frame; ids and labels keep their spelling |
| ids.py         | external ids to rows 0, 1, ..., and back                                         |
| times.py       | dates and numbers to seconds since 1970                                          |
| archives.py    | .npz and .npy files of users, validated before they are loaded                   |
| trust.py       | checks of index ranges, pointers, finite numbers and unique ids                  |
| tables.py      | tables written as csv and Parquet through pyarrow; Parquet read batch by batch   |
| arrays.py      | other libraries' arrays and data frames to numpy arrays                          |
"""
