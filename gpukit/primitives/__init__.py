"""Device functions that kernels of several rooms share.

| file          | what it has                                                                          |
|---------------|--------------------------------------------------------------------------------------|
| warp.py       | sums and maxima over a group of lanes, by shuffles                                   |
| block.py      | sums and running sums over a block                                                   |
| group/        | records in order of a few of their bits, digit by digit                              |
| rows.py       | a row of a matrix spread over a group of lanes, in registers                         |
| search.py     | bisection: where, in an order, what was true ceases to be                            |
| wide.py       | 128-bit loads, vector additions, half precision, what caches should keep             |
| bit_matrix.py | common bits of rows and columns of bits, by tensor cores                             |
| keys.py       | floating-point numbers as integers in the same or the reverse order                 |
"""
