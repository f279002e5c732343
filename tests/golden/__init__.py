"""What gpukit does for a user, recorded: commands and public calls on small inputs, with the answers they gave.

These tests know the command line and the public API and nothing else of gpukit, so they stay while the code below them
moves. A case's answer is in expected/<file of the test>.json. After an intended change, write the answers anew

    GPUKIT_GOLDEN=write python -m pytest tests/golden/test_x.py

read the difference, and commit it by itself with the reason.
"""
