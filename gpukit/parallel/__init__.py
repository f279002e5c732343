"""Computation on several processes: ranks, each with a part of the data and its own device.

| file            | contents                                                                                  |
|-----------------|-------------------------------------------------------------------------------------------|
| team.py         | `Team`: collective operations, errors on all ranks; `HostTransport` of arrays             |
| rendezvous.py   | how ranks meet: environment variables, keys, versions, connections                        |
| heartbeat.py    | a thread of each rank that reports errors, and lost, stopped and unreachable ranks        |
| sockets.py      | messages between ranks of one or several machines                                         |
| mpi.py          | messages of ranks that mpiexec or srun has started: MPI on host arrays (extra `mpi`)      |
| nccl.py         | transport of arrays between GPUs by NCCL                                                  |
| launch.py       | start of a command's ranks on this machine: number, GPUs; end of all if one fails         |
| dask_cluster.py | start of a command's ranks on the workers of a Dask cluster (extra `dask`)                |
| current_team.py | the Team of this process, by its environment; checks of files and GPUs; transport         |

Sums over ranks are added in the order of the ranks, so results are reproducible. A rank that fails reports its error to
the others, and rank 0 prints it once. A killed rank leaves closed connections; a stopped one, or one of a lost host, is
silent. Waits have no other time limit, because another rank may compile or compute for any time.
"""

from gpukit.parallel.team import ALONE, Team, TeamError

__all__ = ["ALONE", "Team", "TeamError"]
