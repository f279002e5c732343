"""What `gpukit recommend` reads: ratings of users that a model need not know, what lists may show."""
