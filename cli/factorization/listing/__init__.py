"""Inputs of `gpukit recommend`: ratings of users unknown to the model, and filters."""
