"""The fuzzer: mutated inputs, read and used in a limited child.

Every kind of input is mutated. The child has a memory limit, and each result is evaluated.

    PYTHONPATH=tests python -m fuzz --cases 200000        (make fuzz CASES=200000)

| file          | purpose                                                                               |
|---------------|---------------------------------------------------------------------------------------|
| registry.py   | `Kind`: a kind of input; all of them by name                                          |
| kinds/        | the kinds: valid samples, mutators, reading and use, judges                           |
| mutate/       | mutators: bytes, lines and fields, arrays, archives, containers, Parquet              |
| judges/       | naive numpy checks of a result against the table's description                        |
| cases.py      | (kind, mode, seed, index) -> the files of a case and their use                        |
| verdicts.py   | one case, run and evaluated                                                           |
| child.py      | a process that runs cases until its input ends or it dies                             |
| campaign.py   | the parent: children, time limits, progress that can be resumed, the table            |
| found.py      | findings, stored as files that a test replays                                         |

A new kind of input is one entry in a file of kinds/. The judges import nothing from gpukit.
"""
