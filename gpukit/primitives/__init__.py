"""Device functions that kernels of several rooms share.

warp.py   sums and maxima over a group of lanes, by shuffles
rows.py   a row of a matrix spread over a group of lanes
"""
