"""Products of bit matrices by a warp: how many bits 16 rows and 8 columns have in common.

Devices of compute capability 8.0 and above multiply on their tensor cores. Older ones exchange words by shuffles.
"""

import numpy as np

from gpukit._cuda import SIMULATED, cuda, device

U32 = np.uint32
FULL = np.uint32(0xFFFFFFFF)


@device
def from_lane(word, lane):
    """The uint32 word of another lane."""
    return cuda.shfl_sync(FULL, U32(word).view(np.int32), lane).view(U32)


@device
def shuffled_products(lane, a, b, sums):
    """See bit_products; words of two rows and two columns are fetched from other lanes."""
    group, column = U32(lane & U32(28)), U32(U32(lane & U32(3)) * U32(8))
    s0, s1, s2, s3 = sums
    for k in range(U32(0), U32(4)):
        row, left, right = U32(group + k), U32(column + k), U32(column + k + U32(4))
        top0, low0, top1, low1 = from_lane(a[0], row), from_lane(a[1], row), from_lane(a[2], row), from_lane(a[3], row)
        x0, y0, x1, y1 = from_lane(b[0], left), from_lane(b[0], right), from_lane(b[1], left), from_lane(b[1], right)
        s0 += U32(cuda.popc(U32(top0 & x0))) + U32(cuda.popc(U32(top1 & x1)))
        s1 += U32(cuda.popc(U32(top0 & y0))) + U32(cuda.popc(U32(top1 & y1)))
        s2 += U32(cuda.popc(U32(low0 & x0))) + U32(cuda.popc(U32(low1 & x1)))
        s3 += U32(cuda.popc(U32(low0 & y0))) + U32(cuda.popc(U32(low1 & y1)))
    return U32(s0), U32(s1), U32(s2), U32(s3)


if SIMULATED:

    @device  # so that the simulator lends it the kernel's `cuda`
    def bit_products(lane, a, b, sums):
        """See below; rows and columns are collected as numbers of 256 bits."""
        if not all(cuda.any_sync(FULL, bool(sum(map(int, part)))) for part in (b, a)):
            return sums
        words = {int(lane) % 4: (*a, *b)}
        for distance in (1, 2):
            words = words | cuda.shfl_xor_sync(FULL, words, distance)
        low, high, column = (
            sum(int(words[k][one]) << 32 * k | int(words[k][other]) << 32 * (k + 4) for k in range(4))
            for one, other in ((0, 2), (1, 3), (4, 5))
        )
        columns = [cuda.shfl_sync(FULL, column, int(lane) % 4 * 8 + 4 * i) for i in range(2)]
        common = [(row & one).bit_count() for row in (low, high) for one in columns]
        return tuple(U32(int(before) + new) for before, new in zip(sums, common, strict=True))

else:
    from llvmlite import ir

    from gpukit._cuda import intrinsic, types
    from gpukit.primitives.wide import is_since_8_0

    WORD = ir.IntType(32)
    PRODUCT = (
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc "
        "{$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};"
    )

    @intrinsic
    def tensor_products(context, a, b, sums):
        """See bit_products; compute capability 8.0."""

        def generate(context, builder, signature, arguments):
            words = [
                builder.extract_value(group, i) for group, n in zip(arguments, (4, 2, 4), strict=True) for i in range(n)
            ]
            kind = ir.FunctionType(ir.LiteralStructType([WORD] * 4), [WORD] * 10)
            asm = ir.InlineAsm(kind, PRODUCT, ",".join(["=r"] * 4 + ["r"] * 10), side_effect=True)
            result = builder.call(asm, words)
            parts = [builder.extract_value(result, i) for i in range(4)]
            return context.make_tuple(builder, signature.return_type, parts)

        four, two = types.UniTuple(types.uint32, 4), types.UniTuple(types.uint32, 2)
        if (a, b, sums) != (four, two, four):
            raise TypeError(f"bit products take uint32 words, not {a}, {b}, {sums}")
        return four(four, two, four), generate

    @device
    def bit_products(lane, a, b, sums):
        """sums plus the common bits of rows g and g + 8 with columns 2 * t and 2 * t + 1; g, t = divmod(lane, 4).

        A row or column has eight words. a: words t of rows g and g + 8, then words t + 4 of both; b: words t and t + 4
        of column g; sums: of (g, 2 t), (g, 2 t + 1), (g + 8, 2 t) and (g + 8, 2 t + 1). All uint32; by all 32 lanes.
        """
        if is_since_8_0():
            return tensor_products(a, b, sums)
        return shuffled_products(lane, a, b, sums)
