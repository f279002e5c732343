"""What surrounds a process of gpukit, kept from hurting it.

| file        | what it does                                                                           |
|-------------|----------------------------------------------------------------------------------------|
| thread_count.py | how many threads run such a loop: what is set, the environment, the cores            |
| atomic_write.py | files and folders made aside and renamed; what a killed process left behind is removed |
| private.py  | folders and files of caches that no other user can change                              |
| settings.py | variables of the environment that numba cannot use, refused in one line                |
| launcher_env.py | how many processes mpiexec or srun have started, and which one this is                 |
| start.py    | what a command's process leaves out while it imports                                   |
"""
