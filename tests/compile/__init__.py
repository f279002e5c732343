"""The compile tier: every kernel built for sm_80 and sm_90 on a machine without a GPU. A room adds cases_<room>.py."""
