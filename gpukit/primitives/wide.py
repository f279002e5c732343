"""Loads and atomic additions of four adjacent numbers: 128 bits, or 64 for float16.

read4         load float32 or float64 through the L1 cache; for data that no running kernel writes
read4_hinted  the same with a policy of the L2 cache, from capability 8.0 on: keep_policy if the data is soon read
              again, leave_policy if not
load4         load float32 from L2, because a line in L1 does not see the additions of other blocks
add4          `red.global.add.v4.f32`, from capability 9.0 on; `add_row` of rows.py uses four additions below
pick4, put4   load and store four float32 numbers in shared memory that was allocated with alignment=16
load2, widen, add_halves   for a float32 matrix with two float16 numbers in each entry: load two entries from L2,
              convert one to two float32 numbers, add to four; summands and sums are rounded to the nearest float16

Addresses are multiples of 16 bytes, of 8 for float16. In the simulator all functions are plain Python.
"""

import numpy as np

from gpukit._cuda import SIMULATED, cuda, device

if SIMULATED:

    def load4(matrix, row, column):
        """Return (matrix[row, column], ..., matrix[row, column + 3])."""
        return tuple(matrix[int(row), int(column) + i] for i in range(4))

    read4 = load4

    def read4_hinted(matrix, row, column, policy):
        """Return (matrix[row, column], ..., matrix[row, column + 3]); a policy only affects speed."""
        return load4(matrix, row, column)

    def keep_policy():
        """Return no policy."""
        return 0

    leave_policy = keep_policy

    @device  # gets the kernel's `cuda` from the simulator
    def add4(matrix, row, column, a, b, c, d):
        """Add (a, b, c, d) to matrix[row, column : column + 4], each number atomically."""
        for i, value in enumerate((a, b, c, d)):
            cuda.atomic.add(matrix, (int(row), int(column) + i), value)

    def pick4(array, index):
        """Return (array[index], ..., array[index + 3]); index: a multiple of 4."""
        assert int(index) % 4 == 0
        return tuple(array[int(index) + i] for i in range(4))

    def put4(array, index, a, b, c, d):
        """Store (a, b, c, d) in array[index : index + 4]; index: a multiple of 4."""
        assert int(index) % 4 == 0
        for i, value in enumerate((a, b, c, d)):
            array[int(index) + i] = value

    def _halves(matrix, row, column):
        """Return the four float16 numbers in two entries of a matrix, (4,)."""
        return np.array([matrix[int(row), int(column) + i] for i in range(2)], np.float32).view(np.float16)

    def load2(matrix, row, column):
        """Return (matrix[row, column], matrix[row, column + 1])."""
        return tuple(_halves(matrix, row, column).view(np.float32))

    def widen(word):
        """Return the two float16 numbers in a word as float32."""
        return tuple(np.array([word], np.float32).view(np.float16).astype(np.float32))

    def add_halves(matrix, row, column, a, b, c, d, vector):
        """Add (a, b, c, d) to the four float16 numbers in matrix[row, column : column + 2], rounded."""
        sums = (_halves(matrix, row, column) + np.array([a, b, c, d]).astype(np.float16)).view(np.float32)
        matrix[int(row), int(column)], matrix[int(row), int(column) + 1] = sums

else:
    from llvmlite import ir

    from gpukit._cuda import intrinsic, types

    FLOAT, DOUBLE, WORD, POINTER = ir.FloatType(), ir.DoubleType(), ir.IntType(32), ir.IntType(64)
    PACK = "{ .reg .f16 l, h; cvt.rn.f16.f32 l, $1; cvt.rn.f16.f32 h, $2; mov.b32 $0, {l, h}; }"
    WIDEN = "{ .reg .f16 l, h; mov.b32 {l, h}, $2; cvt.f32.f16 $0, l; cvt.f32.f16 $1, h; }"

    def _address(context, builder, array_type, array, row, column):
        """Return the address of array[row, column] as a 64-bit integer; row and column are unsigned 32-bit."""
        shift = array_type.dtype.bitwidth.bit_length() - 4  # log2 of the bytes of a number
        data = context.make_array(array_type)(context, builder, value=array)
        stride = builder.extract_value(data.strides, 0)
        offset = builder.mul(builder.zext(row, POINTER), stride)
        offset = builder.add(offset, builder.shl(builder.zext(column, POINTER), ir.Constant(POINTER, shift)))
        return builder.add(builder.ptrtoint(data.data, POINTER), offset)

    def _check(matrix, *indices, dtypes=(types.float32,)):
        if not (
            isinstance(matrix, types.Array) and matrix.ndim == 2 and matrix.dtype in dtypes and matrix.layout == "C"
        ):
            raise TypeError(f"loads and additions of four want a C-ordered 2-D array of {dtypes}, not {matrix}")
        if any(index != types.uint32 for index in indices):
            raise TypeError(f"loads and additions of four take uint32 indices, not {indices}")

    def _is_newer(context, builder):
        """Return True for a device of compute capability 8.0 or above.

        The compiler knows it when it knows the device, and leaves out what is not needed.
        """
        kind = ir.FunctionType(WORD, [ir.IntType(8).as_pointer()])
        reflect = builder.module.globals.get("__nvvm_reflect") or ir.Function(builder.module, kind, "__nvvm_reflect")
        name = context.insert_const_string(builder.module, "__CUDA_ARCH")
        architecture = builder.call(reflect, [builder.addrspacecast(name, kind.args[0])])
        return builder.icmp_unsigned(">=", architecture, ir.Constant(WORD, 800))

    @intrinsic
    def is_since_8_0(context):
        """Return True for a device of compute capability 8.0 or above."""
        return types.boolean(), lambda context, builder, signature, arguments: _is_newer(context, builder)

    def _since_8_0(context, builder, newer, older):
        """Return newer, which uses instructions of compute capability 8.0, or older on older devices."""
        return builder.select(_is_newer(context, builder), newer, older)

    def _load_vector(builder, arguments, count, number, instruction, constraints, fresh):
        """Return `count` numbers of one vector load as a list; arguments: address (and policy) as 64-bit integers.

        fresh: others may write them meanwhile.
        """
        group = ir.LiteralStructType([number] * count)
        kind = ir.FunctionType(group, [POINTER] * len(arguments))
        loaded = builder.call(ir.InlineAsm(kind, instruction, constraints, side_effect=fresh), arguments)
        return [builder.extract_value(loaded, i) for i in range(count)]

    def _quad(builder, dtype, address, *policy):
        """Return the four read-only numbers of dtype at an address."""
        hint, operand, letters = (".L2::cache_hint", ", ${0}", ",l") if policy else ("", "", "")
        if dtype == types.float32:
            text = f"ld.global.nc{hint}.v4.f32 {{$0, $1, $2, $3}}, [$4]{operand.format(5)};"
            return _load_vector(builder, [address, *policy], 4, FLOAT, text, "=f,=f,=f,=f,l" + letters, False)
        text = f"ld.global.nc{hint}.v2.f64 {{$0, $1}}, [$2]{operand.format(3)};"
        further = builder.add(address, ir.Constant(POINTER, 16))
        return [
            part
            for place in (address, further)
            for part in _load_vector(builder, [place, *policy], 2, DOUBLE, text, "=d,=d,l" + letters, False)
        ]

    def _policy(name):
        """Return an intrinsic that creates a policy of the L2 cache for all lines."""

        @intrinsic
        def make(context):
            def generate(context, builder, signature, arguments):
                text = f"createpolicy.fractional.L2::{name}.b64 $0, 1.0;"
                policy = builder.call(ir.InlineAsm(ir.FunctionType(POINTER, []), text, "=l"), [])
                return _since_8_0(context, builder, policy, ir.Constant(POINTER, 0))

            return types.uint64(), generate

        return make

    keep_policy, leave_policy = _policy("evict_last"), _policy("evict_first")

    def _loader(count, instruction, constraints):
        """Return an intrinsic that loads `count` float32 numbers from L2."""

        @intrinsic
        def load(context, matrix, row, column):
            """Return (matrix[row, column], ..., matrix[row, column + count - 1])."""
            _check(matrix, row, column)

            def generate(context, builder, signature, arguments):
                address = _address(context, builder, signature.args[0], *arguments)
                numbers = _load_vector(builder, [address], count, FLOAT, instruction, constraints, True)
                return context.make_tuple(builder, signature.return_type, numbers)

            return types.UniTuple(types.float32, count)(matrix, row, column), generate

        return load

    load4 = _loader(4, "ld.global.cg.v4.f32 {$0, $1, $2, $3}, [$4];", "=f,=f,=f,=f,l")
    load2 = _loader(2, "ld.global.cg.v2.f32 {$0, $1}, [$2];", "=f,=f,l")

    @intrinsic
    def read4(context, matrix, row, column):
        """Return (matrix[row, column], ..., matrix[row, column + 3]) of a matrix that no running kernel writes."""
        _check(matrix, row, column, dtypes=(types.float32, types.float64))

        def generate(context, builder, signature, arguments):
            address = _address(context, builder, signature.args[0], *arguments)
            quad = _quad(builder, signature.args[0].dtype, address)
            return context.make_tuple(builder, signature.return_type, quad)

        return types.UniTuple(matrix.dtype, 4)(matrix, row, column), generate

    @intrinsic
    def read4_hinted(context, matrix, row, column, policy):
        """Return the numbers of read4, loaded with a policy of the L2 cache."""
        _check(matrix, row, column, dtypes=(types.float32, types.float64))

        def generate(context, builder, signature, arguments):
            address = _address(context, builder, signature.args[0], *arguments[:3])
            plain, hinted = (_quad(builder, signature.args[0].dtype, address, *last) for last in ([], arguments[3:]))
            quad = [_since_8_0(context, builder, newer, older) for newer, older in zip(hinted, plain)]
            return context.make_tuple(builder, signature.return_type, quad)

        return types.UniTuple(matrix.dtype, 4)(matrix, row, column, policy), generate

    @intrinsic
    def add4(context, matrix, row, column, a, b, c, d):
        """Add (a, b, c, d) to matrix[row, column : column + 4], each number atomically."""
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

    def _quad_at(context, builder, array_type, array, index):
        """Return a pointer to array[at : at + 4]."""
        if not (isinstance(array_type, types.Array) and array_type.ndim == 1 and array_type.dtype == types.float32):
            raise TypeError(f"pick4 and put4 want a 1-D array of float32, not {array_type}")
        data = context.make_array(array_type)(context, builder, value=array).data
        place = builder.gep(data, [builder.zext(index, POINTER)])
        return builder.bitcast(place, ir.VectorType(FLOAT, 4).as_pointer())

    @intrinsic
    def pick4(context, array, at):
        """Return (array[at], ..., array[at + 3]); at: a multiple of 4."""

        def generate(context, builder, signature, arguments):
            quad = builder.load(_quad_at(context, builder, signature.args[0], *arguments), align=16)
            parts = [builder.extract_element(quad, ir.Constant(WORD, i)) for i in range(4)]
            return context.make_tuple(builder, signature.return_type, parts)

        return types.UniTuple(types.float32, 4)(array, types.uint32), generate

    @intrinsic
    def put4(context, array, at, a, b, c, d):
        """Store (a, b, c, d) in array[at : at + 4]; at: a multiple of 4."""

        def generate(context, builder, signature, arguments):
            quad = ir.Constant(ir.VectorType(FLOAT, 4), ir.Undefined)
            for i, value in enumerate(arguments[2:]):
                quad = builder.insert_element(quad, value, ir.Constant(WORD, i))
            builder.store(quad, _quad_at(context, builder, signature.args[0], *arguments[:2]), align=16)
            return context.get_dummy_value()

        return types.void(array, types.uint32, *[types.float32] * 4), generate

    @intrinsic
    def widen(context, word):
        """Return the two float16 numbers in a word as float32."""
        if word != types.float32:
            raise TypeError(f"widen takes a float32 word of two float16 numbers, not {word}")

        def generate(context, builder, signature, arguments):
            group = ir.LiteralStructType([FLOAT] * 2)
            asm = ir.InlineAsm(ir.FunctionType(group, [FLOAT]), WIDEN, "=f,=f,f", side_effect=False)
            pair = builder.call(asm, arguments)
            halves = [builder.extract_value(pair, i) for i in range(2)]
            return context.make_tuple(builder, signature.return_type, halves)

        return types.UniTuple(types.float32, 2)(word), generate

    def _narrow(context, builder, low, high):
        """Return two float32 numbers as float16 in one word, rounded to the nearest."""
        kind = ir.FunctionType(WORD, [FLOAT] * 2)
        newer, older = (
            builder.call(ir.InlineAsm(kind, text, "=r,f,f", side_effect=False), [low, high])
            for text in ("cvt.rn.f16x2.f32 $0, $2, $1;", PACK)
        )
        return _since_8_0(context, builder, newer, older)

    def _halves_adder(instruction, constraints, words):
        """Return add_halves with one instruction for each `words` words."""

        @intrinsic
        def add(context, matrix, row, column, a, b, c, d):
            """Add (a, b, c, d) to the four float16 numbers in matrix[row, column : column + 2]."""
            _check(matrix, row, column)

            def generate(context, builder, signature, arguments):
                address = _address(context, builder, signature.args[0], *arguments[:3])
                pairs = [_narrow(context, builder, *arguments[i : i + 2]) for i in (3, 5)]
                kind = ir.FunctionType(ir.VoidType(), [POINTER] + [WORD] * words)
                asm = ir.InlineAsm(kind, instruction, constraints + ",~{memory}", side_effect=True)
                for first in range(0, 2, words):
                    place = builder.add(address, ir.Constant(POINTER, 4 * first))
                    builder.call(asm, [place, *pairs[first : first + words]])
                return context.get_dummy_value()

            return types.void(matrix, row, column, a, b, c, d), generate

        return add

    _add_quad_of_halves = _halves_adder("red.global.add.noftz.v2.f16x2 [$0], {$1, $2};", "l,r,r", 2)
    _add_pairs_of_halves = _halves_adder("red.global.add.noftz.f16x2 [$0], $1;", "l,r", 1)

    @device
    def add_halves(matrix, row, column, a, b, c, d, vector):
        """Add (a, b, c, d) atomically to the float16 numbers in matrix[row, column : column + 2], rounded.

        vector: by one instruction of compute capability 9.0, else by two.
        """
        if vector:
            _add_quad_of_halves(matrix, row, column, a, b, c, d)
        else:
            _add_pairs_of_halves(matrix, row, column, a, b, c, d)
