"""Bytes in and out, below every table: what ratings, documents and graphs read and write with.

| file           | what it does                                                                     |
|----------------|----------------------------------------------------------------------------------|
| registry.py    | formats of files, recognised by their first bytes                                |
| sources.py     | files, pipes and standard input, opened once; unpacked, in blocks of whole lines |
| sinks.py       | files that appear whole, pipes and standard output                               |
| delimited.py   | a block of lines to columns, by pyarrow, and line by line                        |
| blank_lines.py | lines of empty fields at the end of a text, left out and counted                 |
| records.py     | lines of csv to words and back, quoted fields to the letter                      |
| notes.py       | what readers merged or left out, for the command line                            |
| words.py       | words to numbers and ids                                                         |
| sheet.py       | a whole text or Parquet as a frame of fields, ids and labels as they are spelled |
| ids.py         | ids as people write them to rows 0, 1, ..., by hashing, and back                 |
| numbering.py   | ids that lie close together are numbered by a table: what host and GPU share     |
| times.py       | dates and numbers to seconds since 1970                                          |
| packed.py      | bzip2 and xz, unpacked as they come                                              |
| container.py   | binary copies: array files that load at disk speed                               |
| archives.py    | .npz and .npy that people hand in, nothing in them believed before it is seen    |
| trust.py       | are indices in range, pointers rising, numbers finite, ids unique?               |
| parquet.py     | Parquet, read batch by batch through pyarrow                                     |
| tables.py      | tables written as csv and Parquet through pyarrow, on threads                    |
| arrays.py      | other libraries' arrays and frames to numpy arrays                               |
"""
