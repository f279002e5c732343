"""Computation on several processes: ranks, each with a part of the data and its own device.

| file               | contents                                                                               |
|--------------------|----------------------------------------------------------------------------------------|
| team.py            | `Team`: broadcast, reduce, allreduce, allgather, barrier, errors on all ranks          |
| sockets.py         | messages between ranks that one process has started, by pairs of sockets               |
| mailbox.py         | the same, short messages by shared memory with a delay of microseconds                 |
| mpi.py             | messages of ranks that mpiexec or srun has started: MPI on host arrays (extra `mpi`)   |
| mpi_init.py        | start of MPI with a timeout                                                            |
| array_transport.py | transport of arrays between ranks through the host                                     |
| nccl.py            | transport of arrays between GPUs by NCCL                                               |
| launch.py          | start of a command's ranks on this machine, end of all ranks if one fails              |
| stalled_ranks.py   | detection of stopped ranks; Ctrl-Z for all ranks                                       |
| current_team.py    | the Team of this process, by its environment; checks of versions and files             |
| devices.py         | devices of ranks: one GPU per rank, transport between the devices                      |
| cost_model.py      | number of GPUs of `--gpus auto`                                                        |

Sums over ranks are added in the order of the ranks, so results are reproducible. A rank that fails reports its error to
the others, and rank 0 prints it once. A killed rank leaves closed sockets, which all others notice. Every wait has a
timeout.
"""

from gpukit.parallel.team import ALONE, Team, TeamError

__all__ = ["ALONE", "Team", "TeamError"]
