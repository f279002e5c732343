"""GPU kernels of an epoch in batches; twins/ has them for the CPU."""
