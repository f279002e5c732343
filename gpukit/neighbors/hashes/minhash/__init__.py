"""minHash, the paper's alternative by Jaccard similarity: an item is the set of its raters.

Each of the p * q hashings gives every user a random number; the minimum over an item's raters is its value, which two
items share with probability |A and B| / |A or B| (Broder, "On the resemblance and containment of documents", 1997). The
G bits of a hashing are random bits of its value: equal for equal values, else each with probability 1/2 (b-bit minwise
hashing: Li and Koenig, WWW 2010). So `hamming` counts agreements, up to chance, and `buckets` requires p equal values.
O(ratings * p * q).
"""
