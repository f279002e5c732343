"""The verbs of matrix factorization: train-lshmf, recommend, predict, similar; their steps, tables and pictures."""
