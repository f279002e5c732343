"""Cost model of training on many GPUs: bytes that a GPU reads and sends, seconds of a step, memory.

A step is an epoch of the factorization, a product of RankSVM with the Hessian, or a step of the imputation. Numbers of
exchanges, layouts, memory and parts are those of the solvers. PARAMETERS are times and rates of H200s with their
source. tests/bench/test_scale.py compares the model with the rows of docs/benchmarks.csv.

    python docs/scale.py      prints the tables of docs/scale.md
"""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import gpu_layout, is_half, major_first
from gpukit.factorization.plan import memory_needed
from gpukit.factorization.shared.gpu import PARTS, epoch_threads, exchange_counts
from gpukit.factorization.shared.partition import LAPS
from gpukit.imputation.distributed.share import CHUNKS, LEAST, can_share
from gpukit.ranking.problem import choose_arity, heights


class Parameter(NamedTuple):
    """A time or a rate of one H200 in a unit of UNITS, its meaning, and the measurement that it was computed from."""

    value: float
    unit: str
    what: str
    source: str


UNITS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "GB/s": 1e9, "TB/s": 1e12, "Tflop/s": 1e12}
PARAMETERS = {
    "rating": Parameter(0.0230, "ns", "a rating, without its rows", "one epoch CUSGD++ F=32 and F=128, Netflix"),
    "rows": Parameter(4.34, "TB/s", "item rows read and added", "the same two rows"),
    "slot": Parameter(1.49, "ps", "a rating and neighbour", "one epoch CULSH-MF F=32 K=32, Netflix"),
    "block": Parameter(55.0, "us", "between two streamed blocks", "CUSGD++ F=32, a seventh of the memory"),
    "turn": Parameter(0.2, "ms", "between two blocks of the ring, without their transfer", "CULSH-MF, 2 ranks"),
    "host": Parameter(49.5, "GB/s", "from main memory", "CULSH-MF, a seventh of the memory"),
    "memory": Parameter(3.49, "TB/s", "device memory", "X v, WEB30K: 73 % of the card's 4.8"),
    "launch": Parameter(8.0, "us", "a product without documents", "Hessian in float32, MQ2007"),
    "difference": Parameter(11.3, "ps", "a document and difference of sums", "Hessian in float32, WEB30K"),
    "answer": Parameter(22.0, "us", "vectors to and from the host", "the same with the answer on the host"),
    "message": Parameter(62.0, "us", "a request and its answer by sockets", "the same, 2 ranks"),
    "peer": Parameter(6.0, "us", "each further rank", "four H200s, a script"),
    "products": Parameter(34.6, "Tflop/s", "transforms", "a step of the imputation, 2 ranks: transform"),
    "subspace": Parameter(51.0, "ps", "a number thresholded in a subspace", "the same: thresholding"),
    "link": Parameter(136.0, "GB/s", "between GPUs of a host", "the same: exchange"),
    "call": Parameter(20.0, "us", "a call of NCCL", "an allreduce of 64 Ki numbers, a script"),
    "exact": Parameter(2.2, "ps", "a multiplication of exact thresholding", "128 x 128 x 2100, nearly low-rank"),
    "slices": Parameter(0.45, "ms", "exact thresholding without slices", "64 x 64 x 2100, nearly low-rank"),
}
RATE = {name: parameter.value * UNITS[parameter.unit] for name, parameter in PARAMETERS.items()}
CARD = {"H200": 4.8e12, "H100": 3.35e12}  # bytes of device memory a second, by the data sheets
PROCESSORS, FREE = 132, 12  # of an H200; left to exchanges by shared.gpu.most_copy_workers


class Cost(NamedTuple):
    """Cost of a step on one of the GPUs.

    read: bytes of device memory or cache; sent: bytes to other GPUs; compute, exchange: seconds, without those in which
    both overlap; memory: bytes on the GPU; first: seconds of the first epoch, 0 if it is like the others.
    """

    read: float
    sent: float
    compute: float
    exchange: float
    memory: float
    first: float = 0.0

    @property
    def seconds(self):
        """Seconds of a step."""
        return self.compute + self.exchange

    def training(self, steps):
        """Return the seconds of a number of steps."""
        return (self.first or self.seconds) + (steps - 1) * self.seconds


class RatingSizes(NamedTuple):
    """Numbers of ratings, users and items."""

    ratings: float
    users: float
    items: float


def rating_sizes(ratings):
    """Return the RatingSizes assumed for a large number of ratings: 50 a user, as in MovieLens; 1e6 items of 1e9."""
    return RatingSizes(ratings, ratings / 50, 1e6 * (ratings / 1e9) ** 0.5)


def link_rate(gpus):
    """Return the bytes a second that a GPU sends to others."""
    host, network = 8, 50e9  # GPUs; bytes a second between hosts: 400 Gb/s, assumed
    return RATE["link"] if gpus <= host else network


def rating_cost(sizes, factors, neighbors):
    """Return (bytes, seconds) of all ratings on one GPU: reading and adding rows of the minor side, codes."""
    wide = 2 if is_half("auto", True, sizes.ratings) else 4
    row = 2 * (wide * factors + 32)  # 32 bytes for bias and rates
    seconds = RATE["rating"] + row / RATE["rows"] + neighbors * RATE["slot"]
    return sizes.ratings * (row + neighbors + 8), sizes.ratings * seconds


def factorization(sizes, factors, neighbors, gpus):
    """Return the Cost of an epoch: copies of item rows, or blocks in a ring with neighbours."""
    layout = gpu_layout(factors, neighbors, is_half("auto", True, sizes.ratings))
    sides = major_first("items" if neighbors else "users", int(sizes.users / gpus), int(sizes.items))
    memory = memory_needed(int(sizes.ratings / gpus), sides, layout)
    read, seconds = rating_cost(sizes, factors, neighbors)
    if gpus == 1:
        return Cost(read, 0.0, seconds, 0.0, memory)
    divided = ring_epoch if neighbors else copied_epoch
    return divided(Cost(read / gpus, 0.0, seconds / gpus, 0.0, memory), sizes, layout, gpus)


def ring_epoch(local, sizes, layout, gpus):
    """Return the Cost of an epoch with a block of items for each GPU, which it waits for."""
    bytes_sent = sizes.items * 4 * (layout.major.stride + 2 * layout.slots)
    exchange = gpus * (RATE["turn"] + RATE["call"]) + bytes_sent / link_rate(gpus)
    first = local.compute + (len(LAPS) - 1) * exchange
    return local._replace(sent=bytes_sent, exchange=exchange, first=first)


def exchange_cost(rows, layout, gpus):
    """Return (bytes sent, seconds) of one exchange of the changes to item rows."""
    passes = 9  # over changed rows when an exchange reads and adds changes
    changed = 4 * rows * changed_numbers(layout)
    bytes_sent = 2 * (gpus - 1) / gpus * changed
    return bytes_sent, RATE["call"] + bytes_sent / link_rate(gpus) + passes * changed / RATE["memory"]


def changed_numbers(layout):
    """Return the numbers of an item row that are exchanged: factors and a quad of others."""
    quad = 4
    return quad * -(-layout.n_factors // quad) + quad


def copied_epoch(local, sizes, layout, gpus):
    """Return the Cost of an epoch on copies of the item rows, exchanged during each part and at its end."""
    (bytes_sent, whole), (few, popular) = (
        exchange_cost(sizes.items / share, layout, gpus) for share in (1, RULES.popular_part)
    )
    mean = (whole + (RULES.whole_exchange - 1) * popular) / RULES.whole_exchange
    workers = epoch_threads(layout) // layout.lanes * (PROCESSORS - FREE)
    count = exchange_counts(sizes.ratings / (gpus * PARTS * workers), 1e3 * mean)[1]
    wholes = count // RULES.whole_exchange
    compute = local.compute * PROCESSORS / (PROCESSORS - FREE)
    during = PARTS * (wholes * whole + (count - wholes) * popular)
    exchange = max(0.0, during - compute) + whole
    first = gpus * compute + whole if gpus > 2 else compute + exchange
    bytes_sent = PARTS * (wholes * bytes_sent + (count - wholes) * few) + bytes_sent
    return local._replace(sent=bytes_sent, compute=compute, exchange=exchange, first=first)


def streamed_epoch(resident, ratings, packing, blocks, sent):
    """Return the seconds of an epoch in blocks that sends `sent` bytes; resident: seconds without blocks."""
    unpacked = ratings * (packing.packed + packing.unpacked) / RATE["memory"]
    return max(resident + unpacked + blocks * RATE["block"], sent / RATE["host"])


def ranking(documents, features, levels, gpus, on_host=True, memory_rate=CARD["H200"]):
    """Return the Cost of a product with the Hessian in float32; on_host: with vectors from and to the host."""
    arity = choose_arity(levels)
    planes, documents_each = int(heights(np.array([levels]), arity)[0]), documents / gpus
    read = 4 * documents_each * features
    compute = RATE["launch"] + read / RATE["memory"] * CARD["H200"] / memory_rate
    compute += documents_each * planes * (arity - 1) * RATE["difference"] + on_host * RATE["answer"]
    exchange = RATE["message"] + (gpus - 2) * RATE["peer"] if gpus > 1 else 0.0
    tables = documents_each * (planes * (2 * arity - 1) * 4 + 100)  # see ranking.gpu.memory_needed
    return Cost(read, 8 * (features + 3) * (gpus - 1), compute, exchange, read + tables)


class Slices(NamedTuple):
    """Sizes of a tensor: vertices, eigenvectors, sides of a matrix, missing fraction of the vertices."""

    vertices: int
    vectors: int
    rows: int
    columns: int
    missing: float

    @property
    def numbers(self):
        """Numbers of a slice."""
        return self.rows * self.columns


def imputation(slices, gpus, subspace=False):
    """Return the Cost of a step; subspace: large slices are thresholded in a subspace."""
    spectral, incomplete = slices.vectors * slices.numbers, slices.missing * slices.vertices
    product = 4 * incomplete * spectral / gpus / RATE["products"]
    if subspace:
        thresholding = spectral / gpus * RATE["subspace"]
    else:
        thresholding = RATE["slices"] + spectral / gpus * min(slices.rows, slices.columns) * RATE["exact"]
    bytes_sent = 2 * 4 * spectral * (gpus - 1) / gpus**2
    exchange = 0.0
    if gpus > 1:  # the last of CHUNKS is not hidden
        transfer = bytes_sent / link_rate(gpus) + 2 * CHUNKS * RATE["call"]
        exchange = max(transfer / CHUNKS, transfer - product)
    vectors = 4 * slices.vectors * (slices.vertices + incomplete)
    tensors = 4 * (2 * spectral + slices.numbers * (slices.vertices + 3 * incomplete)) / gpus
    return Cost(tensors, bytes_sent, product + thresholding, exchange, vectors + tensors)


def most_ranks(slices):
    """Return the most ranks that share a tensor."""
    size = min(slices.numbers, slices.vectors) // LEAST
    return size if can_share((slices.vertices, slices.rows, slices.columns), slices.vectors, size) else 1


SIZES = [1, 8, 32, 128, 512]  # GPUs
MODELS = {"CUSGD++, F = 32": (32, 0), "CUSGD++, F = 128": (128, 0), "CULSH-MF, F = K = 32": (32, 32)}


def tables():
    """Return the tables of the page, lists of lines: parameters; jobs."""
    parameters = [f"| {p.value:.3g} {p.unit} | {p.what} | {p.source} |" for p in PARAMETERS.values()]
    gpus = " | ".join(f"{size} GPU{'s' * (size > 1)}" for size in SIZES)
    jobs = [job_line(name, costs) for name, costs in large_jobs()]
    return [["| value | of | source |", "|--:|---|---|", *parameters], [f"| | {gpus} |", "|---" * 6 + "|", *jobs]]


def large_jobs():
    """Yield (name, Costs by SIZES, None for a size that the job does not divide into)."""
    for name, model in MODELS.items():
        for power in (9, 10, 11):
            sizes = rating_sizes(10.0**power)
            yield f"{name}, 10^{power} ratings", [factorization(sizes, *model, gpus) for gpus in SIZES]
    yield "RankSVM, 10^9 documents", [ranking(1e9, 136, 5, gpus) for gpus in SIZES]
    for power in (6, 7, 8):
        week = Slices(10**power, 256, 7, 24, 0.2)
        costs = [imputation(week, gpus) if gpus <= most_ranks(week) else None for gpus in SIZES]
        yield f"imputation, 10^{power} vertices", costs


def job_line(name, costs):
    """Return the line of a job: mean time of a step, share of waiting, memory of a GPU."""
    return f"| {name} | " + " | ".join("not divided" if cost is None else cell(cost) for cost in costs) + " |"


def cell(cost):
    """Return the text of a Cost."""
    size, most, epochs = f"{cost.memory / 2**30:,.0f} GiB", 139 * 2**30, 16  # bytes of an H200; the first epoch differs
    if cost.memory > most:
        return f"too large, {size}"
    milliseconds = float(f"{1e3 * cost.training(epochs) / epochs:.3g}")
    return f"{milliseconds:,g} ms, {100 * cost.exchange / cost.seconds:.0f} %, {size}"


if __name__ == "__main__":
    print("\n\n".join("\n".join(lines) for lines in tables()))
