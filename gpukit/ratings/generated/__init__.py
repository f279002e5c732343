"""Generated ratings: `synth.py`, of the papers' shapes; `planted.py`, what there is to be found in them."""
