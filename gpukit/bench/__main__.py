"""python -m gpukit.bench: the same as `gpukit bench`."""

from gpukit.cli.main import main

if __name__ == "__main__":
    import sys

    main(["bench", *sys.argv[1:]])
