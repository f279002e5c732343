"""The fuzzer: every kind of input, mutated, read and used in a child with a memory limit; each answer is judged.

    PYTHONPATH=tests python -m fuzz --cases 200000        (make fuzz CASES=200000)

| file          | what it does                                                                          |
|---------------|---------------------------------------------------------------------------------------|
| registry.py   | `Kind`: a kind of input; all of them by name                                          |
| kinds/        | the kinds: valid samples, what mutates them, how they are read and used, their judge   |
| mutate/       | mutators: bytes, lines and fields, arrays, archives, containers, Parquet               |
| judges/       | naive numpy: is an answer one that the table's description allows?                     |
| cases.py      | (kind, mode, seed, index) -> the files of a case and how they are used                 |
| verdicts.py   | one case run and judged                                                               |
| child.py      | a process that runs cases until it is told to stop, or dies                            |
| campaign.py   | the parent: children, time limits, progress that can be taken up again, the table      |
| found.py      | what went wrong, kept as files that a test replays                                     |

A new kind of input joins by one entry in a file of kinds/. The judges import nothing of gpukit.
"""
