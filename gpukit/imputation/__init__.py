"""Graph-tensor imputation: the missing matrices on the vertices of a graph, from those of the others.

    graphs.py   any graph to a checked sparse adjacency; its Laplacians
    basis.py    the graph Fourier basis, kept on disk by content
"""
