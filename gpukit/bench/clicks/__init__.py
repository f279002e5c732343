"""Implicit feedback: speed, and ranking quality on NCF's MovieLens 1M (real).

| file            | contents                                                                              |
|-----------------|---------------------------------------------------------------------------------------|
| table10.py      | Table 10 of Li et al. 2022, section 5.4: seconds to HR 0.65, final HR and NDCG        |
| quality.py      | quality of iALS and of the selected model; CPU time compared with the package implicit |
| ncf_data.py     | NCF's files; trainings of gpukit and implicit with HR by epoch and second; an epoch   |
|                 | of iALS by each row solver                                                            |
"""
