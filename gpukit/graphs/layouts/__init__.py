"""How a table of readings lies: long, a line a reading; or wide, by itself, with no graph to tell its sides apart.

| file        | what it does                                                       |
|-------------|--------------------------------------------------------------------|
| roles.py    | which columns of a long table are time, sensor and value           |
| long.py     | a long table as values by sensor and time                          |
| filled.py   | a long table again: values filled in, the lines that lacked added  |
| alone.py    | a wide table without a graph: which side is time                   |
| apart.py    | columns of a wide table that are times, labels or no readings      |
| clocks.py   | times in several columns                                           |
| moments.py  | times as tables spell them, as seconds                             |
"""
