"""Build graphs of sensors from coordinates, distances or correlated series.

    graph_from_coordinates(table)   graph_from_distances(list)   graph_from_series(values)     each -> Graph

| file           | contents                                                              |
|----------------|-----------------------------------------------------------------------|
| coordinates.py | nearest neighbours by latitude and longitude, or by x and y           |
| distances.py   | weights from pairwise distances                                       |
| series.py      | nearest neighbours by correlation of observed values                  |
"""
