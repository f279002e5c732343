"""Several processes that do one piece of work: ranks, each with a part of the data and a device of its own.

| file       | what it does                                                                                    |
|------------|-------------------------------------------------------------------------------------------------|
| team.py    | `Team`: broadcast, reduce, allreduce, allgather, alltoall, ring, barrier; failing together      |
| sockets.py | messages between ranks that one process has started: a pair of sockets for any two of them      |
| mailbox.py | the same, short ones by memory that they share: a rank that looks at it has them in microseconds  |
| mpi.py     | messages of ranks that mpiexec or srun has started: MPI on host arrays (extra `mpi`)            |
| mpi_init.py | the start of MPI, with an end where a rank is stopped or does not come                           |
| array_transport.py | arrays in their places from rank to rank, on the host or a device, by way of a Team's messages  |
| nccl.py    | the same for arrays on GPUs, from one to another, by NCCL                                       |
| transport.py | which of the two, for ranks on CPUs, on GPUs, or on some of each                                |
| launch.py  | starts ranks of a command on this machine, ends all of them when one fails                      |
| stalled_ranks.py | ranks that are stopped, told from ones that compute for long; Ctrl-Z stops all                  |
| current_team.py | the Team that this process belongs to, told by its environment                                  |
| devices.py | each rank its own GPU, looked at before any work                                                |
| cost_model.py | how many GPUs are sooner than one: what --gpus auto goes by                                     |

A sum over ranks is added in the order of the ranks, so it is the same on every run. A rank that fails tells the others
why, and rank 0 says it once; one that is killed leaves a closed socket, which all others see. Every wait has a limit.
"""

from gpukit.parallel.team import ALONE, Team, TeamError

__all__ = ["ALONE", "Team", "TeamError"]
