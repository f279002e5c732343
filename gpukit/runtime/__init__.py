"""Process environment: threads, caches, atomic writes and launchers.

| file             | contents                                                                  |
|------------------|---------------------------------------------------------------------------|
| thread_count.py  | number of threads of compiled loops: setting, environment, cores          |
| atomic_write.py  | files and folders that replace their target whole; removal of stale files |
| private.py       | folders and files of caches that no other user can change                 |
| settings.py      | one-line errors for NUMBA_* variables that numba cannot use               |
| launcher_env.py  | number of ranks that mpiexec or srun has started, and the own rank        |
| start.py         | faster imports for a command's process                                    |
"""
