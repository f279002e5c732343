"""Synthetic ratings: `synth.py` generates them, `planted.py` holds their model."""
