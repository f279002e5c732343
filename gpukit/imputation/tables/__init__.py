"""Tables and times of user input.

forms.py   frames (wide, long) and xarray as arrays by vertex, and results in the same form
bare.py    arrays without labels: tables of times by sensors
clock.py   times that are unsorted, repeat, or are of clocks that were set back
output.py  container of completed tables: as the input, or a DataFrame
window.py  new columns of a fitted imputer, joined to the stored ones
"""
