"""What fitted models answer beyond ratings. similar.py: which measure finds what is liked together; lists.py:
what lists for everybody cost."""
