"""Thresholding of arrays that lie on the host: cpu.py where they are, gpu.py there and back; the same functions."""
