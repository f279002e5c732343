"""Sizes of kriging."""

MANY = 600  # vertices from which on covariance.COARSE is what is tried, and all threads of the host serve one matrix
MOST = 3000  # vertices
