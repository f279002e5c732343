"""The command line: one verb per file. `main.py` has the table of verbs."""
