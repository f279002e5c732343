"""GPU kernels of an epoch in batches; twins/ has their CPU twins."""
