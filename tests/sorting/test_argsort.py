"""The public function `segmented_argsort`: kinds of keys, and errors."""

import numpy as np
import pytest

from gpukit import segmented_argsort
from gpukit.errors import DataError, ParameterError
from sorting import inputs, naive

OFFSETS = np.array([0, 3, 3, 7])


@pytest.mark.parametrize("dtype", ["f4", "f8", ">f8", "f2", "i4", "u4", "i8", "u1", "?"])
def test_kinds_of_keys(dtype):
    keys = np.array([3, 1, 2, 9, 0, 9, 1]).astype(dtype)
    order = segmented_argsort(keys, OFFSETS, device="cpu")
    assert order.dtype == np.int32 and order.tolist() == naive.argsort(keys, OFFSETS)


def test_lists_strides_and_unsigned_offsets():
    keys = inputs.keys("few values", 14, np.float64)[::2]
    expected = naive.argsort(keys, OFFSETS)
    assert segmented_argsort(keys, OFFSETS.astype(np.uint32), device="cpu").tolist() == expected
    assert segmented_argsort(keys.tolist(), OFFSETS.tolist(), device="cpu").tolist() == expected


@pytest.mark.parametrize("dtype", ["i8", ">i8", "u8"])
def test_integers_beyond_float64_are_exact(dtype):
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    near = [2**53 + 1, 2**53, 2**53 + 1, 0, 2**32, 2**32 - 1, 2**62 + 2**20, 2**62 + 2**17, 1, 2**62 + 2**20]
    keys = np.array([most, least, *near, most - 1, least + 1, most, 7], dtype)
    for offsets in ([0, 16], [0, 5, 5, 16]):
        expected = [
            at
            for begin, end in zip(offsets, offsets[1:])
            for at in sorted(range(end - begin), key=keys[begin:end].tolist().__getitem__)
        ]
        assert segmented_argsort(keys, offsets, device="cpu").tolist() == expected
    negative = -np.array(near)
    assert segmented_argsort(negative, [0, 10], device="cpu").tolist() == sorted(range(10), key=negative.__getitem__)


def test_nothing_to_sort():
    for offsets in ([0], [0, 0, 0]):
        assert segmented_argsort(np.zeros(0, np.float32), offsets, device="cpu").shape == (0,)


BAD = {
    "NaN": ([1.0, 2.0, np.nan, np.nan], [0, 4], r"keys\[2\] is NaN"),
    "a matrix": (np.zeros((2, 2)), [0, 4], r"one dimension; the shape is \(2, 2\)"),
    "complex": (np.zeros(2, complex), [0, 2], "complex128"),
    "long double": (np.zeros(2, np.longdouble), [0, 2], "they are float128|they are longdouble"),
    "text": (["a", "b"], [0, 2], "must be float32"),
    "no offsets": ([1.0], [], "integers|from nothing"),
    "an empty list of integers": ([1.0], np.zeros(0, int), "from nothing"),
    "offsets of fractions": ([1.0], [0, 0.5, 1], "offsets must be integers"),
    "a late start": ([1.0, 2.0], [1, 2], "from 1 to 2"),
    "an early end": ([1.0, 2.0], [0, 1], "number of keys, 2; they go from 0 to 1"),
    "falling": ([1.0, 2.0, 3.0], [0, 2, 1, 3], r"offsets\[2\] = 1 is below 2"),
    "a matrix of offsets": ([1.0], [[0, 1]], "offsets must have one dimension"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case):
    keys, offsets, message = BAD[case]
    with pytest.raises(DataError, match=message):
        segmented_argsort(keys, offsets, device="cpu")


def test_keys_on_a_gpu_are_not_sorted_by_the_cpu():
    class Keys:
        __cuda_array_interface__ = {}

    with pytest.raises(ParameterError, match="on a GPU"):
        segmented_argsort(Keys(), [0, 1], device="cpu")


@pytest.mark.kernel
@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_on_the_gpu(dtype):
    keys = (7 * inputs.keys("few values", 7, np.float64)).astype(dtype)
    order = segmented_argsort(keys, OFFSETS, device="cuda", seed=4)
    assert isinstance(order, np.ndarray) and order.dtype == np.int32 and order.tolist() == naive.argsort(keys, OFFSETS)
    assert segmented_argsort([2**62 + 1, 5, 2**62, 5], [0, 4], device="cuda").tolist() == [1, 3, 2, 0]
    with pytest.raises(DataError, match=r"keys\[1\] is NaN"):
        segmented_argsort([0, np.nan, np.nan], [0, 3], device="cuda")


@pytest.mark.gpu
def test_arrays_of_the_gpu_stay_there():
    from gpukit._cuda import cuda

    keys = inputs.keys("few values", 7, np.float64)
    order, expected = segmented_argsort(cuda.to_device(keys), OFFSETS), naive.argsort(keys, OFFSETS)
    assert segmented_argsort(cuda.to_device(keys), cuda.to_device(OFFSETS)).copy_to_host().tolist() == expected
    assert hasattr(order, "copy_to_host") and order.copy_to_host().tolist() == expected
    with pytest.raises(DataError, match="int64"):
        segmented_argsort(cuda.to_device(np.arange(7)), OFFSETS)
    with pytest.raises(DataError, match="contiguous"):
        segmented_argsort(cuda.to_device(np.zeros(14))[::2], OFFSETS)
