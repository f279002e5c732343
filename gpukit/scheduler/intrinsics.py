"""Intrinsics for atomic words, POSIX threads, time and calls of compiled loops. Imported after gpukit/_jit.py.

Addresses are int64; shared words are read and written atomically.
"""

import itertools
import time

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callconv import RETCODE_USEREXC, Status, excinfo_ptr_t
from numba.extending import intrinsic, models, register_model
from numba.np import arrayobj

CLOCK = time.CLOCK_MONOTONIC
WORD, I64, I32 = types.int64, ir.IntType(64), ir.IntType(32)


def _word(builder, address):
    return builder.inttoptr(address, I64.as_pointer())


@intrinsic
def fetch_add(context, address, count):
    """Add count to the word atomically; return its previous value."""

    def generate(context, builder, signature, arguments):
        return builder.atomic_rmw("add", _word(builder, arguments[0]), arguments[1], "acq_rel")

    return types.int64(types.int64, types.int64), generate


@intrinsic
def exchange(context, address, value):
    """Set the word atomically; return its previous value."""

    def generate(context, builder, signature, arguments):
        return builder.atomic_rmw("xchg", _word(builder, arguments[0]), arguments[1], "acq_rel")

    return types.int64(types.int64, types.int64), generate


@intrinsic
def compare_and_swap(context, address, old, new):
    """Set the word to new if it is old, atomically; return its previous value."""

    def generate(context, builder, signature, arguments):
        pair = builder.cmpxchg(_word(builder, arguments[0]), *arguments[1:], "acq_rel", "monotonic")
        return builder.extract_value(pair, 0)

    return types.int64(types.int64, types.int64, types.int64), generate


@intrinsic
def load(context, address):
    """Return the word."""

    def generate(context, builder, signature, arguments):
        return builder.load_atomic(_word(builder, arguments[0]), "acquire", 8)

    return types.int64(types.int64), generate


@intrinsic
def store(context, address, value):
    """Set the word."""

    def generate(context, builder, signature, arguments):
        builder.store_atomic(arguments[1], _word(builder, arguments[0]), "release", 8)
        return context.get_dummy_value()

    return types.none(types.int64, types.int64), generate


@intrinsic
def assume_not_negative(context, number):
    """Tell the compiler that an int64 is not negative, so that it omits the wraparound of indices."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(1)])
        assume = cgutils.get_or_insert_function(builder.module, kind, "llvm.assume")
        builder.call(assume, [builder.icmp_signed(">=", arguments[0], arguments[0].type(0))])
        return context.get_dummy_value()

    return types.none(types.int64), generate


@intrinsic
def nanoseconds(context):
    """Return the nanoseconds of the monotonic clock, int64."""

    def generate(context, builder, signature, arguments):
        moment = cgutils.alloca_once(builder, ir.ArrayType(I64, 2))  # struct timespec
        kind = ir.FunctionType(I32, [I32, moment.type])
        read = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
        builder.call(read, [I32(CLOCK), moment])
        seconds, rest = (builder.extract_value(builder.load(moment), part) for part in (0, 1))
        return builder.add(builder.mul(seconds, I64(10**9)), rest)

    return types.int64(), generate


def _of_the_system(name, count):
    """Return the code of a call of a C function of `count` addresses that returns an int."""

    def generate(context, builder, signature, arguments):
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(I32, [I64] * count), name)
        builder.call(function, arguments)
        return context.get_dummy_value()

    return types.none(*[types.int64] * count), generate


@intrinsic
def mutex_lock(context, mutex):
    """Call pthread_mutex_lock."""
    return _of_the_system("pthread_mutex_lock", 1)


@intrinsic
def mutex_unlock(context, mutex):
    """Call pthread_mutex_unlock."""
    return _of_the_system("pthread_mutex_unlock", 1)


@intrinsic
def condition_signal(context, condition):
    """Call pthread_cond_signal."""
    return _of_the_system("pthread_cond_signal", 1)


@intrinsic
def condition_wait(context, condition, mutex):
    """Call pthread_cond_wait."""
    return _of_the_system("pthread_cond_wait", 2)


@intrinsic
def release_interpreter(context):
    """Release the interpreter for other threads; return the state for take_interpreter."""

    def generate(context, builder, signature, arguments):
        return builder.ptrtoint(context.get_python_api(builder).save_thread(), I64)

    return types.int64(), generate


@intrinsic
def take_interpreter(context, state):
    """Take the interpreter back after release_interpreter."""

    def generate(context, builder, signature, arguments):
        api = context.get_python_api(builder)
        api.restore_thread(builder.inttoptr(arguments[0], api.voidptr))
        return context.get_dummy_value()

    return types.none(types.int64), generate


class Frame(types.Type):
    """Type of the arguments of a loop in memory, see arguments_of.

    Parameters
    ----------
    kinds : tuple of numba's types
    """

    def __init__(self, kinds):
        self.types = kinds
        super().__init__(f"frame({', '.join(map(str, kinds))})")

    @property
    def key(self):
        return self.types


@register_model(Frame)
class _FrameModel(models.PrimitiveModel):
    """Address of the frame."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, I64)


@intrinsic
def arguments_of(context, frame):
    """Return the arguments in a frame as a tuple.

    A frame is words of 64 bits. The first is for what fails first, see call_rows. A number is an int64 or a float64, an
    array is the address of numpy's PyArrayObject, and a tuple is its parts. Arrays are not counted as used: each
    row of an array that a thread looks at would be counted in memory that all threads share. The caller owns them.
    """
    result = types.BaseTuple.from_types(frame.types)

    def generate(context, builder, signature, arguments):
        words = _words_from(builder, builder.add(arguments[0], I64(WORD.bitwidth // 8)))
        return _argument(context, builder, result, words)

    return result(frame), generate


def _words_from(builder, address):
    """Yield the words from an address on."""
    for number in itertools.count():
        yield builder.load(_word(builder, builder.add(address, I64(number * (WORD.bitwidth // 8)))))


def _argument(context, builder, kind, words):
    """Return the argument of a type that the next words contain."""
    if isinstance(kind, types.BaseTuple):
        return context.make_tuple(builder, kind, [_argument(context, builder, part, words) for part in kind])
    if isinstance(kind, types.Array):
        return _array(context, builder, kind, next(words))
    if isinstance(kind, types.Float):
        return context.cast(builder, builder.bitcast(next(words), ir.DoubleType()), types.float64, kind)
    return context.cast(builder, next(words), WORD, kind)


def _array(context, builder, kind, address):
    """Return the array in a PyArrayObject: object header, data, number of dimensions, shape, strides."""
    data, _, shape, strides = itertools.islice(_words_from(builder, builder.add(address, I64(object.__basicsize__))), 4)
    array = context.make_array(kind)(context, builder)
    arrayobj.populate_array(
        array,
        data=builder.inttoptr(data, array.data.type),
        shape=list(itertools.islice(_words_from(builder, shape), kind.ndim)),
        strides=list(itertools.islice(_words_from(builder, strides), kind.ndim)),
        itemsize=context.get_abi_sizeof(context.get_data_type(kind.dtype)),
        meminfo=None,
    )
    return array._getvalue()


@intrinsic
def call_rows(context, rows, frame, start, stop):
    """Call the compiled function of (start, stop, frame) at an address; return 0 or an exception's address.

    The first exception of a loop is stored in the first word of the frame.
    """
    types_of_rows = WORD, WORD, WORD

    def generate(context, builder, signature, arguments):
        rows, frame, start, stop = arguments
        kind = context.call_conv.get_function_type(types.none, types_of_rows)
        function = builder.inttoptr(rows, kind.as_pointer())
        status, _ = context.call_conv.call_function(builder, function, types.none, types_of_rows, [start, stop, frame])
        failed = cgutils.alloca_once_value(builder, I64(0))
        with cgutils.if_unlikely(builder, status.is_error):
            error = builder.ptrtoint(status.excinfoptr, I64)
            builder.cmpxchg(_word(builder, frame), I64(0), error, "acq_rel", "monotonic")
            builder.store(error, failed)
        return builder.load(failed)

    return WORD(WORD, WORD, WORD, WORD), generate


@intrinsic
def raise_first(context, frame):
    """Raise the first exception of a loop, if any."""

    def generate(context, builder, signature, arguments):
        failed = builder.load(_word(builder, arguments[0]))
        with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, failed)):
            context.call_conv.return_status_propagate(builder, _error(builder, failed))
        return context.get_dummy_value()

    return types.none(WORD), generate


def _error(builder, failed):
    """Return the status of a call that raised the exception at an address."""
    return Status(
        code=RETCODE_USEREXC,
        is_ok=cgutils.false_bit,
        is_none=cgutils.false_bit,
        is_error=cgutils.true_bit,
        is_stop_iteration=cgutils.false_bit,
        is_python_exc=cgutils.false_bit,
        is_user_exc=cgutils.true_bit,
        excinfoptr=builder.inttoptr(failed, excinfo_ptr_t),
    )
