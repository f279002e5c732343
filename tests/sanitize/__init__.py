"""compute-sanitizer over every kernel, once each, with a small irregular shape: python -m sanitize --help

cases.py      a test of the simulator tier for each kernel; intended races
kernels.py    all kernels, and those with shared memory, from the source
launched.py   the kernels that a test launches; the tier's fixture checks each case
planted.py    faults that a tool must report before its result counts
report.py     the tool's output
campaign.py   the planned runs in parallel, and a progress file
choose.py     proposed lines for cases.py

Only its own tests belong to a tier.
"""
