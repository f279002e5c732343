"""The random bits by their formulas, in Python integers, without gpukit."""

GOLDEN = 0x9E3779B9
M = 0xFFFFFFFF


def mix(x):
    x ^= x >> 16
    x = x * 0x7FEB352D & M
    x ^= x >> 15
    x = x * 0x846CA68B & M
    return x ^ x >> 16


def key(seed, stream):
    low, high = seed & M, seed >> 32 & M
    return mix(mix(mix(low + GOLDEN & M) ^ high) + stream * GOLDEN & M)


def long_bits(key, index):
    return mix(((index & M) * GOLDEN + key) * (mix(index >> 32) | 1) & M)


def bits(key, index):
    return mix((index & M) * GOLDEN + key & M)
