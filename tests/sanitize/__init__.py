"""compute-sanitizer over every kernel, once each, at a small awkward shape: python -m sanitize --help

cases.py      which test of the simulator's tier launches which kernel; and whose races are meant
kernels.py    the kernels there are, and those with shared memory, read from the source
launched.py   what a test launches; the tier's fixture holds each case to its word
planted.py    faults that a tool must see before it is believed
report.py     what the tool's output says
campaign.py   the planned runs side by side, and a file of those done
choose.py     lines for cases.py

No tier collects it, but for its tests.
"""
