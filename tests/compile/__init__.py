"""The compile tier: every kernel built for compute capability 7.5 to 12.0 on a machine without a GPU.

A room adds cases_<room>.py, or a folder of cases_<part>.py.
"""
