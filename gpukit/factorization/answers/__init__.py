"""Answers of a fitted model beyond ratings: similar items, explanations, evidence, exports.

answering.py     methods of the estimators: Answering, between Serving and the estimators
fold_in.py       factors of a user whose ratings or clicks are passed with the request; each rating of a user predicted
                 from the earlier ones, before it is learned
similarity.py    similarity of two items or two users, by the model's ratings and factors
explaining.py    a prediction as the sum of its parts, Eq. (1) term by term; a list score as the sum of ratings' shares
exporting.py     factors, biases and index vectors, as .npz, .csv or Parquet
judging.py       a model's lists compared with popularity, item kNN, EASE and other models, over ranks too
"""
