"""What a fitted model answers beyond ratings: what is alike, why, on how much evidence, its numbers in files.

answering.py   the methods: Answering, between Serving and the estimators
likeness.py    how alike two items or two users are, by the ratings that the model carries and by its factors
explaining.py  a prediction as the sum of its parts, Eq. (1) term by term
list_shares.py a list score as the sum of what the user's ratings add
exporting.py   factors, biases and vectors for an index, as .npz, .csv or Parquet
judging.py     a model's lists, judged beside popularity, item kNN and other models
listers.py     who gives the lists that are judged
sharing.py     lists that the ranks of a parallel.Team make
"""
