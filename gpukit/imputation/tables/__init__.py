"""What people keep series of sensors in, and how they stand in time.

| file      | what it does                                                                       |
|-----------|------------------------------------------------------------------------------------|
| forms.py  | frames (wide, long), xarray: as an array by vertex, and the result in the same form |
| sides.py  | which side of a frame is time, and when its labels are                              |
| bare.py   | arrays without labels: tables of times by sensors                                   |
| clock.py  | times that are not in order, that repeat, of clocks that were set back             |
| window.py | new columns for a fitted imputer, in addition to those that it knows               |
"""
