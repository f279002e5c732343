"""Ways to learn a factorization, a folder each with the files of a room: sgd, the papers' CUSGD++ and CULSH-MF."""
