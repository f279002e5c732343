"""What compiled code asks of the processor or of the system directly. Imported after gpukit/_jit.py."""

import time

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

CLOCK = time.CLOCK_MONOTONIC


@intrinsic
def fetch_add(context, array, count):
    """array[0] += count, atomically; returns the value before."""

    def generate(context, builder, signature, arguments):
        pointer = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        value = context.cast(builder, arguments[1], signature.args[1], types.int64)
        return builder.atomic_rmw("add", pointer, value, "monotonic")

    return types.int64(array, count), generate


@intrinsic
def assume_not_negative(context, number):
    """Let the compiler take an int64 for not negative, and leave out the wraparound of an index that is."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(1)])
        assume = cgutils.get_or_insert_function(builder.module, kind, "llvm.assume")
        builder.call(assume, [builder.icmp_signed(">=", arguments[0], arguments[0].type(0))])
        return context.get_dummy_value()

    return types.none(types.int64), generate


@intrinsic
def nanoseconds(context):
    """Nanoseconds of the monotonic clock, int64."""

    def generate(context, builder, signature, arguments):
        i64, i32 = ir.IntType(64), ir.IntType(32)
        moment = cgutils.alloca_once(builder, ir.ArrayType(i64, 2))  # struct timespec
        kind = ir.FunctionType(i32, [i32, moment.type])
        read = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
        builder.call(read, [i32(CLOCK), moment])
        seconds, rest = (builder.extract_value(builder.load(moment), part) for part in (0, 1))
        return builder.add(builder.mul(seconds, i64(10**9)), rest)

    return types.int64(), generate
