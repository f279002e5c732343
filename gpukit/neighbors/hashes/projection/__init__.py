"""Random projections, the paper's RP_cos.

Bit g of an item's code is the sign of its column's product with a random direction, sum_i r_ij x_ig, 1 for a
nonnegative sum (Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002). Two columns agree in
a bit with probability 1 - angle / pi, for any length.

The coordinates x_ig are approximately normal: sums of four random bytes, whole numbers, so that codes are exact.
simLSH's are +1 and -1, computed for 32 bits at a time; these need a hash for every bit. O(ratings * n_bits).
"""
