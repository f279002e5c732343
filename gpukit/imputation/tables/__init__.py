"""Tables and times of user input.

forms.py   frames, xarray and arrays as arrays by vertex, and results in the same form
output.py  container of completed tables: as the input, or a DataFrame
window.py  new columns of a fitted imputer, joined to the stored ones
"""
