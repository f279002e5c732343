"""Results of grouping, by plain loops. Imports nothing from gpukit."""


def digit(key, shift, width):
    """The `width` bits of an integer from `shift` on."""
    return (int(key) >> shift) & ((1 << width) - 1)


def order(keys, shift, width):
    """Return numbers 0..n-1 in order of the keys' digit; equal digits keep their order."""
    bins = [[] for _ in range(1 << width)]
    for place, key in enumerate(keys):
        bins[digit(key, shift, width)].append(place)
    return [place for one in bins for place in one]


def counts(keys, shift, width, tile, tiles, blocks):
    """Return [digit][block]: the number of records with the digit in a block of `tiles` tiles."""
    table = [[0] * blocks for _ in range(1 << width)]
    for place, key in enumerate(keys):
        table[digit(key, shift, width)][place // (tile * tiles)] += 1
    return table


def starts(rows, n_rows):
    """Return [n_rows + 1]: the first place with row r or more; rows ascend."""
    return [next((t for t, row in enumerate(rows) if row >= r), len(rows)) for r in range(n_rows + 1)]
