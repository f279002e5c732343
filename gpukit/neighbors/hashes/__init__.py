"""Hashes: codes of items from their ratings. Each has a name in HASHES and functions in the files of this folder.

A code is settings.n_bits bits (p * q * G: q fine hashings of p * G bits, one after the other) in n_words 32-bit words,
lowest bit first, unused high bits zero. Similar items agree in many bits. plan.py has, for steps cpu or gpu,

    hash_codes(steps, columns, settings) -> codes (N, n_words) uint32, all zero or undefined for an item without ratings

    simlsh      Li et al., Eq. 3: bit g of an item's code is the sign of sum_i Psi(r_ij) * (+1 or -1 by bit g of user
                i), 1 for a nonnegative sum; Psi(r) = r**psi. Exact: the weights are integers, and 32 sums at a time
                are bit-sliced (formulas.py). O(ratings * n_words)
    minhash     the paper's alternative by Jaccard similarity: an item is the set of its raters. Each of the p * q
                hashings gives every user a random number; the minimum over an item's raters is its value, which two
                items share with probability |A and B| / |A or B| (Broder, "On the resemblance and containment of
                documents", 1997). The G bits of a hashing are random bits of its value: equal for equal values, else
                each with probability 1/2 (b-bit minwise hashing: Li and Koenig, WWW 2010). So `hamming` counts
                agreements, up to chance, and `buckets` requires p equal values. O(ratings * p * q)
    projection  the paper's RP_cos: bit g of an item's code is the sign of its column's product with a random
                direction, sum_i r_ij x_ig, 1 for a nonnegative sum (Charikar, "Similarity estimation techniques from
                rounding algorithms", STOC 2002). Two columns agree in a bit with probability 1 - angle / pi, for any
                length. The coordinates x_ig are approximately normal: sums of four random bytes, whole numbers, so that
                codes are exact. They need a hash for every bit, simLSH's signs one for 32. O(ratings * n_bits)
"""

from typing import Literal, get_args

Hash = Literal["simlsh", "minhash", "projection"]
HASHES = get_args(Hash)
