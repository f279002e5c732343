"""minHash, the paper's rival by Jaccard similarity: an item is the set of its raters, whatever they rated.

Hashing h of the p * q gives every user a random number; the least of an item's raters is its value, which two items
share with probability |A and B| / |A or B| (Broder, "On the resemblance and containment of documents", 1997). The G
bits of a hashing are random bits of its value: equal where the values are equal, else each with probability 1/2 (b-bit
minwise hashing: Li and Koenig, WWW 2010). So `hamming` counts agreements, up to chance, and `buckets` asks for p equal
values.
O(ratings * p * q).
"""
