"""Compile the functions of a job in several processes, while the command begins.

| file           | content                                                                       |
|----------------|-------------------------------------------------------------------------------|
| signatures.txt | job, module, argument types of the functions that each job calls from Python |
| signatures.py  | these lines; argument types as text                                           |
| helpers.py     | the processes of the calling process, and who compiles what                   |
| worker.py      | a process: `python -m gpukit.compilation.worker`                              |
| __main__.py    | `python -m gpukit.compilation`: write the lines of a job                      |
"""
