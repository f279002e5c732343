"""What fitted models answer beyond ratings. similar.py: which measure finds what is liked together."""
