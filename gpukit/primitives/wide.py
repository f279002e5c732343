"""Four neighbouring float32 numbers at once: 128-bit loads that skip the L1 cache, and vector additions.

load4 reads from L2, where other blocks' additions land: a line kept in L1 would go stale. add4 is one
`red.global.add.v4.f32`, which needs compute capability 9.0; `add_row` in rows.py uses four plain additions below that.
Addresses must be multiples of 16 bytes. Under the simulator both are plain Python.
"""

from gpukit._cuda import SIMULATED, cuda, device

if SIMULATED:

    def load4(matrix, row, column):
        """(matrix[row, column], ..., matrix[row, column + 3])."""
        return tuple(matrix[int(row), int(column) + i] for i in range(4))

    @device  # so that the simulator lends it the kernel's `cuda`
    def add4(matrix, row, column, a, b, c, d):
        """matrix[row, column : column + 4] += (a, b, c, d), each number atomically."""
        for i, value in enumerate((a, b, c, d)):
            cuda.atomic.add(matrix, (int(row), int(column) + i), value)

else:
    from llvmlite import ir

    from gpukit._cuda import intrinsic, types

    FLOAT, POINTER = ir.FloatType(), ir.IntType(64)

    def _address(context, builder, array_type, array, row, column):
        """The address of array[row, column] as a 64-bit integer; row and column are unsigned 32-bit."""
        data = context.make_array(array_type)(context, builder, value=array)
        stride = builder.extract_value(data.strides, 0)
        offset = builder.mul(builder.zext(row, POINTER), stride)
        offset = builder.add(offset, builder.shl(builder.zext(column, POINTER), ir.Constant(POINTER, 2)))
        return builder.add(builder.ptrtoint(data.data, POINTER), offset)

    def _check(matrix, *indices):
        if not (
            isinstance(matrix, types.Array)
            and matrix.ndim == 2
            and matrix.dtype == types.float32
            and matrix.layout == "C"
        ):
            raise TypeError(f"load4 and add4 work on C-ordered 2-D float32 arrays, not on {matrix}")
        if any(index != types.uint32 for index in indices):
            raise TypeError(f"load4 and add4 take uint32 indices, not {indices}")

    @intrinsic
    def load4(context, matrix, row, column):
        """(matrix[row, column], ..., matrix[row, column + 3])."""
        _check(matrix, row, column)

        def generate(context, builder, signature, arguments):
            address = _address(context, builder, signature.args[0], *arguments)
            quad = ir.LiteralStructType([FLOAT] * 4)
            load = ir.InlineAsm(
                ir.FunctionType(quad, [POINTER]),
                "ld.global.cg.v4.f32 {$0, $1, $2, $3}, [$4];",
                "=f,=f,=f,=f,l",
                side_effect=True,
            )
            loaded = builder.call(load, [address])
            return context.make_tuple(
                builder, signature.return_type, [builder.extract_value(loaded, i) for i in range(4)]
            )

        return types.UniTuple(types.float32, 4)(matrix, row, column), generate

    @intrinsic
    def add4(context, matrix, row, column, a, b, c, d):
        """matrix[row, column : column + 4] += (a, b, c, d), each number atomically."""
        _check(matrix, row, column)
        if any(value != types.float32 for value in (a, b, c, d)):
            raise TypeError("add4 adds float32 numbers")

        def generate(context, builder, signature, arguments):
            address = _address(context, builder, signature.args[0], *arguments[:3])
            kind = ir.FunctionType(ir.VoidType(), [POINTER] + [FLOAT] * 4)
            add = ir.InlineAsm(
                kind, "red.global.add.v4.f32 [$0], {$1, $2, $3, $4};", "l,f,f,f,f,~{memory}", side_effect=True
            )
            builder.call(add, [address, *arguments[3:]])
            return context.get_dummy_value()

        return types.void(matrix, row, column, a, b, c, d), generate
