"""The command line: one verb a file; a verb reads, calls the library and writes. `main.py` has the table of verbs."""
