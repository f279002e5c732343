"""Stochastic gradient descent: formulas (Eq. 5), rates by epoch, and the schedule of who walks what."""
