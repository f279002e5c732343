"""Graphs of sensors that come without one: from where they are, how far apart, or how alike their series are.

    graph_from_coordinates(table)   graph_from_distances(list)   graph_from_series(values)     each -> Graph

| file           | what it does                                                          |
|----------------|-----------------------------------------------------------------------|
| coordinates.py | the nearest by latitude and longitude, or by x and y                  |
| distances.py   | distances of pairs into weights                                       |
| series.py      | the nearest by correlation of what is observed                        |
"""
