"""What compiled code asks of the processor or of the system directly. Imported after gpukit/_jit.py.

An address is an int64: shared words are read and written by it, all atomically.
"""

import time

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callconv import RETCODE_USEREXC, Status, excinfo_ptr_t
from numba.extending import intrinsic

CLOCK = time.CLOCK_MONOTONIC
WORD, I64, I32 = types.int64, ir.IntType(64), ir.IntType(32)
ROWS = ir.FunctionType(I64, [I64, I64, I64])  # (frame, start, stop): 0, or the address of an exception's description
RUN = ir.FunctionType(I64, [I64] * 7)  # workers.run


def _word(builder, address):
    return builder.inttoptr(address, I64.as_pointer())


@intrinsic
def fetch_add(context, address, count):
    """word += count; returns the value before."""

    def generate(context, builder, signature, arguments):
        return builder.atomic_rmw("add", _word(builder, arguments[0]), arguments[1], "acq_rel")

    return types.int64(types.int64, types.int64), generate


@intrinsic
def exchange(context, address, value):
    """word = value; returns the value before."""

    def generate(context, builder, signature, arguments):
        return builder.atomic_rmw("xchg", _word(builder, arguments[0]), arguments[1], "acq_rel")

    return types.int64(types.int64, types.int64), generate


@intrinsic
def compare_and_swap(context, address, old, new):
    """word = new if it was old; returns the value before."""

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
    """word = value."""

    def generate(context, builder, signature, arguments):
        builder.store_atomic(arguments[1], _word(builder, arguments[0]), "release", 8)
        return context.get_dummy_value()

    return types.none(types.int64, types.int64), generate


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
    """POSIX's pthread_mutex_lock."""
    return _of_the_system("pthread_mutex_lock", 1)


@intrinsic
def mutex_unlock(context, mutex):
    """POSIX's pthread_mutex_unlock."""
    return _of_the_system("pthread_mutex_unlock", 1)


@intrinsic
def condition_signal(context, condition):
    """POSIX's pthread_cond_signal."""
    return _of_the_system("pthread_cond_signal", 1)


@intrinsic
def condition_wait(context, condition, mutex):
    """POSIX's pthread_cond_wait."""
    return _of_the_system("pthread_cond_wait", 2)


@intrinsic
def release_interpreter(context):
    """Let other threads run Python; returns the state that take_interpreter needs."""

    def generate(context, builder, signature, arguments):
        return builder.ptrtoint(context.get_python_api(builder).save_thread(), I64)

    return types.int64(), generate


@intrinsic
def take_interpreter(context, state):
    """Wait for the interpreter, which release_interpreter gave away."""

    def generate(context, builder, signature, arguments):
        api = context.get_python_api(builder)
        api.restore_thread(builder.inttoptr(arguments[0], api.voidptr))
        return context.get_dummy_value()

    return types.none(types.int64), generate


@intrinsic
def call_rows(context, rows, frame, start, stop):
    """Call what run_rows has made of a function over rows."""

    def generate(context, builder, signature, arguments):
        return builder.call(builder.inttoptr(arguments[0], ROWS.as_pointer()), arguments[1:])

    return types.int64(*[types.int64] * 4), generate


@intrinsic
def run_rows(context, pool, first, count, threads, pace, rows, arguments):
    """Let workers.run, whose address is the first word of the pool, call rows(start, stop, *arguments) for the rows
    first to count, and raise the first exception. Returns the next row to be processed.

    The frame that all threads read has the exception's description and the arguments. The words at the address `pace`
    are the function's own, see workers.run.
    """
    called = rows.get_call_type(context, (types.int64, types.int64, *arguments.types), {})

    def generate(context, builder, signature, values):
        pool, first, count, threads, pace, _, packed = values
        compiled = rows.dispatcher.get_compile_result(called)
        context.add_linking_libs([compiled.library])
        kinds = called.args[2:]
        frame = cgutils.alloca_once(builder, ir.LiteralStructType([I64, *map(context.get_value_type, kinds)]))
        builder.store(I64(0), cgutils.gep_inbounds(builder, frame, 0, 0))
        for number, value in enumerate(cgutils.unpack_tuple(builder, packed, len(kinds))):
            value = context.cast(builder, value, arguments.types[number], kinds[number])
            value = _borrowed(context, builder, kinds[number], value)
            builder.store(value, cgutils.gep_inbounds(builder, frame, 0, number + 1))
        thunk = _thunk(context, builder.module, compiled.fndesc, called, frame.type)
        run = builder.inttoptr(builder.load(_word(builder, pool)), RUN.as_pointer())
        addresses = [builder.ptrtoint(place, I64) for place in (thunk, frame)]
        reached = builder.call(run, [pool, *addresses, first, count, threads, pace])
        failed = builder.load(cgutils.gep_inbounds(builder, frame, 0, 0))
        with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, failed)):
            context.call_conv.return_status_propagate(builder, _error(builder, failed))
        return reached

    return types.int64(*[types.int64] * 5, rows, arguments), generate


def _borrowed(context, builder, kind, value):
    """Return an argument whose arrays have no owner that counts references to them: each row of an array that a thread
    looks at would be counted in memory that all threads share. The caller owns them until all is done."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo, array.parent = (cgutils.get_null_value(field.type) for field in (array.meminfo, array.parent))
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts = zip(kind.types, cgutils.unpack_tuple(builder, value, len(kind)))
        return context.make_tuple(builder, kind, [_borrowed(context, builder, *part) for part in parts])
    return value


def _thunk(context, module, description, called, frame):
    """Define ROWS of a function of numba: call it with the arguments in a frame, and note there what fails first."""
    thunk = ir.Function(module, ROWS, module.get_unique_name(f"{description.mangled_name}.rows"))
    thunk.linkage = "internal"
    builder = ir.IRBuilder(thunk.append_basic_block())
    place = builder.inttoptr(thunk.args[0], frame)
    loaded = [
        builder.load(cgutils.gep_inbounds(builder, place, 0, number + 1)) for number in range(len(called.args) - 2)
    ]
    status, _ = context.call_internal_no_propagate(builder, description, called, [*thunk.args[1:], *loaded])
    with cgutils.if_unlikely(builder, status.is_error):
        failed = builder.ptrtoint(status.excinfoptr, I64)
        builder.cmpxchg(cgutils.gep_inbounds(builder, place, 0, 0), I64(0), failed, "acq_rel", "monotonic")
        builder.ret(failed)
    builder.ret(I64(0))
    return thunk


def _error(builder, failed):
    """Return the status of a call that raised the exception whose description is at an address."""
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
