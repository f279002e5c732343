"""Device functions of the sorting in a warp: entries in registers, compared, exchanged and put in order.

An *entry* is (key, place): the key as an integer in the same order, and its position in the segment. Entries are
compared as pairs, so no two are equal and ties need no care. A *packed* entry (float32 keys) has both in one uint64.
A lane keeps ENTRIES of them in registers; entry r of lane l stands at l * ENTRIES + r.
"""

import numpy as np

from gpukit._cuda import cuda, device
from gpukit.primitives.keys import ascending_key

ENTRIES = 8  # a lane's
CHUNK = 32 * ENTRIES  # a warp's
U32, U64, I32, I64 = np.uint32, np.uint64, np.int32, np.int64
FULL = U32(0xFFFFFFFF)
HIGH = U64(0xFFFFFFFF00000000)
LOW_BITS = U64(CHUNK - 1)


@device
def make_entry(value, place, packed):
    """The integer of an entry: the key, with the place below it when it is packed."""
    if packed:
        return U64((ascending_key(U64(U64(np.float32(value).view(U32)) << U64(32))) & HIGH) | U64(place))
    return ascending_key(np.float64(value).view(U64))


@device
def place_of(key, place, packed):
    """An entry's place."""
    return U32(key) if packed else place


@device
def smaller(key, place, other_key, other_place, packed):
    """Is the first entry smaller?"""
    if packed:
        return key < other_key
    return (key < other_key) | ((key == other_key) & (place < other_place))


@device
def slot_of(i):
    """Where entry i stands in shared memory: a slot is free after every lane's, against bank conflicts."""
    return U32(i + (i >> U32(3)))


@device
def exchange_within(key, place, span, flip, packed):
    """A bitonic step among a lane's own entries, in stretches of `span`.

    flip: the first with the last, the step that begins a merge; else the first half with the second.
    """
    half = span // 2
    for i in range(ENTRIES // 2):
        base, offset = i // half * span, i % half
        low, high = base + offset, (base + span - 1 - offset if flip else base + half + offset)
        a, b, a_place, b_place = key[low], key[high], place[low], place[high]
        swap = smaller(b, b_place, a, a_place, packed)
        key[low], key[high] = (b if swap else a), (a if swap else b)
        place[low], place[high] = (b_place if swap else a_place), (a_place if swap else b_place)


@device
def keep(key, place, slot, other_key, other_place, low, packed):
    """Entry `slot` becomes the smaller (low) or the larger of itself and another lane's."""
    take = smaller(other_key, other_place, key[slot], place[slot], packed) == low
    key[slot] = other_key if take else key[slot]
    place[slot] = other_place if take else place[slot]


@device
def entry_across(key, place, partner, packed):
    """The entry of the lane whose number differs in the bits of `partner`. Shuffles take signed numbers."""
    other = cuda.shfl_xor_sync(FULL, U64(key).view(I64), partner).view(U64)
    return other, (place if packed else cuda.shfl_xor_sync(FULL, U32(place).view(I32), partner).view(U32))


@device
def entry_of(key, place, lane, packed):
    """The entry of a lane."""
    other = cuda.shfl_sync(FULL, U64(key).view(I64), lane).view(U64)
    return other, (place if packed else cuda.shfl_sync(FULL, U32(place).view(I32), lane).view(U32))


@device
def exchange_across(key, place, partner, bit, flip, packed):
    """A bitonic step with the lane whose number differs in the bits of `partner`; the lane without `bit` keeps the
    smaller ones. flip: with its entries in the opposite order."""
    low = U32(U32(cuda.laneid) & bit) == U32(0)
    for r in range(ENTRIES // 2):
        s = ENTRIES - 1 - r
        r_from, s_from = (s if flip else r), (r if flip else s)
        r_key, r_place = entry_across(key[r_from], place[r_from], partner, packed)
        s_key, s_place = entry_across(key[s_from], place[s_from], partner, packed)
        keep(key, place, r, r_key, r_place, low, packed)
        keep(key, place, s, s_key, s_place, low, packed)


@device
def sort_group(key, place, lanes, packed):
    """Bitonic sorting of the ENTRIES * lanes entries of every aligned group of lanes; all lanes of the warp arrive."""
    exchange_within(key, place, 2, True, packed)
    exchange_within(key, place, 4, True, packed)
    exchange_within(key, place, 2, False, packed)
    exchange_within(key, place, 8, True, packed)
    exchange_within(key, place, 4, False, packed)
    exchange_within(key, place, 2, False, packed)
    width = U32(2)
    while width <= lanes:
        exchange_across(key, place, U32(width - U32(1)), U32(width >> U32(1)), True, packed)
        distance = U32(width >> U32(2))
        while distance > U32(0):
            exchange_across(key, place, distance, distance, False, packed)
            distance = U32(distance >> U32(1))
        exchange_within(key, place, 8, False, packed)
        exchange_within(key, place, 4, False, packed)
        exchange_within(key, place, 2, False, packed)
        width = U32(width << U32(1))


@device
def out_of_order(key, place, lanes):
    """Does any group of the warp have a smaller entry behind a larger one? The same answer in all lanes."""
    next_key = cuda.shfl_down_sync(FULL, key[0].view(I64), 1).view(U64)
    next_place = cuda.shfl_down_sync(FULL, place[0].view(I32), 1).view(U32)
    inner = U32(U32(cuda.laneid) & U32(lanes - U32(1))) != U32(lanes - U32(1))
    wrong = inner & smaller(next_key, next_place, key[ENTRIES - 1], place[ENTRIES - 1], False)
    for r in range(ENTRIES - 1):
        wrong = wrong | smaller(key[r + 1], place[r + 1], key[r], place[r], False)
    return cuda.any_sync(FULL, wrong)


@device
def sort_warp(key, place, lanes, keys, places, packed):
    """Sort the entries of every group of lanes; entry r of lane l comes as the group's number r * lanes + l.

    Entries of two integers take the short way first: sorted as one, in which that number (8 bits) stands in place of
    the key's last bits, and looked up again in shared memory. Only where keys differ in these bits alone, or equal
    ones come with their places out of order, are they sorted once more as pairs.
    """
    if packed:
        sort_group(key, place, lanes, True)
        return
    lane = U32(U32(cuda.laneid) & U32(lanes - U32(1)))
    first = U32(U32(U32(cuda.threadIdx.x) - lane) * U32(ENTRIES))
    for r in range(ENTRIES):
        i = U32(U32(U32(r) * lanes) + lane)
        slot = slot_of(U32(first + i))
        keys[slot], places[slot] = key[r], place[r]
        key[r] = U64((key[r] & ~LOW_BITS) | U64(i))
    cuda.syncwarp()
    sort_group(key, place, lanes, True)
    for r in range(ENTRIES):
        slot = slot_of(U32(first + U32(key[r] & LOW_BITS)))
        key[r], place[r] = keys[slot], places[slot]
    cuda.syncwarp()
    if out_of_order(key, place, lanes):
        sort_group(key, place, lanes, False)


@device
def store_own(key, place, keys, places):
    """The lane's entries to shared memory, where block and lane say."""
    first = U32(U32(cuda.threadIdx.x) * U32(ENTRIES))
    for r in range(ENTRIES):
        slot = slot_of(U32(first + U32(r)))
        keys[slot], places[slot] = key[r], place[r]
