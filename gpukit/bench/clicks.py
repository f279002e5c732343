"""Implicit feedback: NCF's MovieLens 1M, epochs of iALS, and Table 10 of Li et al. 2022.

NCF's split has clicks of 6,040 users; the last of each is tested among 99 negatives. Trainings of gpukit's estimators
and of implicit's ALS record HR and NDCG after each epoch.

Table 10 (section 5.4): seconds of training until HR@10 is 0.65 among 99 negatives. All models are trained in one
process on the same clicks, networks on a GPU, implicit's least squares on a CPU. An HR of 0.65 is below that of item
kNN, so the final HR and NDCG are measured as well. Training stops after SECONDS.

The networks are GMF, MLP and NeuMF (He et al., "Neural collaborative filtering", WWW 2017) in torch. They are trained
as by their authors: binary cross-entropy, four new random items for each click in each epoch, batches of BATCH, Adam at
0.001, PREDICTIVE factors, a tower of three layers, no pre-training. Clicks, negatives and weights stay on the device.
"""

import functools
import importlib.util
import itertools
import re
import time
from typing import NamedTuple

import numpy as np

from gpukit.bench import shape_name
from gpukit.bench.measurement import Row, milliseconds, record_epochs, record_training, require_data
from gpukit.errors import DataError
from gpukit.evaluation.lists import click_mask, clicks_of, discounts
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.settings import ROW_SOLVERS
from gpukit.factorization.solvers.squares import MOST_FACTORS
from gpukit.io.ids import rows_of
from gpukit.ratings import Ratings, read_ratings, synth

NAME, K = "MovieLens 1M, NCF's split", 10
METRICS = {"hr": "HR@10", "ndcg": "NDCG@10"}


class Ncf(NamedTuple):
    """Clicks and tests.

    A candidate counts once: `there` (T, 1 + C) leaves out negatives that are the click, repeated, or other clicks of
    the user, which no list shows.

    clicks : Ratings with values of 1
    tests : (ids of users (T,), ids of each test click and of its negatives (T, 1 + C))
    users : (T,) int32 rows
    items : (T, 1 + C) int32 rows, -1 for unknown items
    there : (T, 1 + C) bool: candidates
    name : shape of the benchmark's rows
    """

    clicks: Ratings
    tests: tuple
    users: np.ndarray
    items: np.ndarray
    there: np.ndarray
    name: str = NAME

    def evaluate(self, scores):
        """Return (HR@10, NDCG@10) of scores (T, 1 + C) of the candidates; unknown items rank last.

        A click with tied scores gets the mean over the tied positions.
        """
        scores = np.where(self.unknown | np.isnan(scores), -np.inf, scores)
        scores[~self.there] = np.nan
        above, ties = ((count(scores, scores[:, :1])).sum(axis=1) for count in (np.greater, np.equal))
        first, last, sums = np.minimum(above, K), np.minimum(above + ties, K), discounts(K)
        return float(((last - first) / ties).mean()), float(((sums[last] - sums[first]) / ties).mean())

    def evaluate_model(self, model):
        """Return (HR@10, NDCG@10) of a model that was fitted to the clicks."""
        users, items = self.pairs
        scores = model.pair_scores((self.clicks.user_ids[users], self.clicks.item_ids[items]))
        return self.evaluate(scores.reshape(self.items.shape))

    @property
    def unknown(self):
        """(T, 1 + C) bool: candidates without clicks."""
        return self.items < 0

    @property
    def pairs(self):
        """(user rows, item rows) (n,) int32 of all candidates, the first item for unknown ones."""
        return np.repeat(self.users, self.items.shape[1]), np.maximum(self.items, 0).ravel()


def read(folder, share=1.0):
    """Read the Ncf of a fraction of the users; raise DataError without the files."""
    train = read_ratings(require_data(folder, "ncf/ml-1m.train.rating"))
    users = max(1, round(share * train.shape[0]))
    train, ids = train.take(train.users < users), train.user_ids[:users]
    with open(require_data(folder, "ncf/ml-1m.test.negative")) as file:  # (user,item)<tab>item<tab>item ...
        table = np.array([re.findall(r"\d+", line) for line in file], np.int64)
    table = table[np.isin(table[:, 0], ids)]
    clicks = Ratings(train.users, train.items, np.ones(len(train), np.float32), ids, train.item_ids)
    return make_ncf(clicks, table[:, 0], table[:, 1:])._replace(name=shape_name(NAME, share))


def as_clicks(ratings):
    """Return the ratings with values of 1."""
    ones = np.ones(len(ratings), np.float32)
    return ratings.with_columns(users=ratings.users, items=ratings.items, values=ones)


def make_ncf(clicks, users, items):
    """Return the Ncf of Ratings and its tests, see there; users have clicks."""
    user_rows = rows_of(users, clicks.user_ids).astype(np.int32)
    item_rows = rows_of(items.ravel(), clicks.item_ids).reshape(items.shape).astype(np.int32)
    there = ~click_mask(clicks_of(clicks.users, clicks.items, clicks.shape), user_rows, item_rows)
    for row, line in zip(there, items):
        row &= np.isin(np.arange(len(line)), np.unique(line, return_index=True)[1])
    there[:, 0] = True
    return Ncf(clicks, (users, items), user_rows, item_rows, there)


class LearningCurve(NamedTuple):
    """Quality by epoch.

    quality : [(HR, NDCG)] after each epoch
    times : seconds of training up to it
    parts : {name: seconds} before the training
    final : (HR, NDCG, HR and NDCG over the full ranking or None, None) of the resulting model
    """

    quality: list
    times: list
    parts: dict
    final: tuple

    def epoch_to(self, target):
        """Return the number, from 0, of the first epoch with HR of at least a target, or None."""
        return next((epoch for epoch, (hit_rate, _) in enumerate(self.quality) if hit_rate >= target), None)


def best_epoch(quality):
    """Return the number of the epoch with the highest HR."""
    return int(np.argmax([hit_rate for hit_rate, _ in quality]))


def make_ials(**options):
    """Return the unfitted estimator of iALS."""
    return MatrixFactorization(solver="ials", feedback="implicit", **options)


def make_models(device, seed=0):
    """Return {name: unfitted estimator} of Table 10."""
    options = {"device": device, "random_state": seed}
    plain, near = (kind(loss="cross-entropy", feedback="implicit", **options) for kind in (MatrixFactorization, LSHMF))
    return {"CULSH-MF": near, "CUSGD++": plain, "iALS": make_ials(**options)}


def train_model(model, ncf, seconds):
    """Fit an estimator and return its LearningCurve."""
    run = model.prepare(ncf.clicks)
    query, shape = run.session.ask(*ncf.pairs), ncf.items.shape
    evaluate = lambda: ncf.evaluate(run.session.predict(query).reshape(shape))  # noqa: E731
    quality, times = record_training(run, evaluate, is_last=lambda _, total: total >= seconds)
    ids = ncf.clicks.user_ids, ncf.clicks.item_ids
    model.device_, model.feedback_ = str(run.device), run.settings.feedback
    model.set_fitted(run.complete(run.session.state()), run.session.history, run.scale, *ids)
    full = model.evaluate_lists((ncf.tests[0], ncf.tests[1][:, 0]), baselines=False).rows(10)[0]
    final = *ncf.evaluate_model(model), full["hr"], full["ndcg"]
    return LearningCurve(quality, times, dict(run.clock.seconds), final)


def train_implicit(ncf, factors):
    """Return the LearningCurve of implicit's ALS on the CPU; evaluations between its iterations are not timed."""
    from implicit.cpu.als import AlternatingLeastSquares
    from scipy import sparse
    from threadpoolctl import threadpool_limits

    clicks, times, quality = ncf.clicks, [], []
    matrix = sparse.csr_matrix((clicks.values, (clicks.users, clicks.items)), clicks.shape)
    users, items = ncf.pairs

    def record(number, seconds, loss):
        times.append(seconds)
        scores = np.einsum("nf,nf->n", model.user_factors[users], model.item_factors[items])
        quality.append(ncf.evaluate(scores.reshape(ncf.items.shape)))

    with threadpool_limits(1, "blas"):  # the package recommends it
        model = AlternatingLeastSquares(factors=factors, iterations=15, random_state=0)
        model.fit(matrix, show_progress=False, callback=record)
    return LearningCurve(quality, np.cumsum(times).tolist(), {}, (*quality[-1], None, None))


REAL, LARGE = "ncf ml-1m", "ml-20m"
IALS = {"n_epochs": 12, "regularization": 0.007, "unobserved_weight": 0.3}  # of Rendle et al. 2022
FACTORS = 64, 128, 256, 512, 1024
SAMPLES = {True: 5, False: 3}  # epochs, on a GPU or not


def make_clicks(scale):
    """Return a fraction of the clicks of MovieLens 20M's shape."""
    users, items, clicks = 138_493, 26_744, 20_000_263
    sides = round(users * scale**0.5), round(items * scale**0.5), round(clicks * scale)
    return as_clicks(synth.generate(synth.resize_shape(synth.SHAPES["ml-10m"], *sides), 0)[0])


def prepare_ials(clicks, factors, row_solver, device):
    """Return the run.Run of iALS with a row solver."""
    return make_ials(n_factors=factors, row_solver=row_solver, device=device, random_state=0, **IALS).prepare(clicks)


def ials(conditions):
    """Time an epoch of iALS, both sides, by each row solver; on real clicks, measure the quality."""
    for name in conditions.select((REAL, LARGE)):
        ncf = read(conditions.data, conditions.scale) if name == REAL else None
        clicks, kind = (ncf.clicks, "real") if ncf else (make_clicks(conditions.scale), "generated")
        for factors, solver in itertools.product(FACTORS, ROW_SOLVERS[1:]):
            if solver != "gradients" and factors > MOST_FACTORS:  # a block must hold the matrix
                continue
            samples, quality = measure_ials(clicks, factors, solver, conditions.device, ncf)
            note = "; ".join(filter(None, (f"{len(clicks):,} clicks", quality)))
            what = f"one epoch iALS F={factors} by {solver}"
            yield Row(what, shape_name(name, conditions.scale), kind, samples, "ms", note)


def measure_ials(clicks, factors, row_solver, device, ncf):
    """Return (milliseconds of epochs, the quality after all epochs as text, '' if ncf is None)."""
    run = prepare_ials(clicks, factors, row_solver, device)
    start = run.session.state()
    samples = milliseconds(functools.partial(run.training.epoch, 0), SAMPLES[device.is_cuda])
    check_scores(run)
    if ncf is None:
        return samples, ""
    run.session.restart(start)
    for number in range(IALS["n_epochs"]):
        run.training.epoch(number)
    scores = run.session.predict(run.session.ask(*ncf.pairs))
    hit_rate, ndcg = ncf.evaluate(scores.reshape(ncf.items.shape))
    return samples, f"HR@10 {hit_rate:.4f} NDCG@10 {ndcg:.4f} after {IALS['n_epochs']} epochs"


def check_scores(run):
    """Raise DataError unless clicked items have higher scores than random ones."""
    state, first = run.session.state(), slice(0, 10_000)
    users, items = run.ratings.users[first], run.ratings.items[first]
    random_items = np.random.default_rng(0).integers(0, run.ratings.shape[1], len(items))
    U, V = state.user_factors[users], state.item_factors
    clicked, others = ((U * V[rows]).sum(axis=1).mean() for rows in (items, random_items))
    if not clicked > 2 * others + 0.01:
        raise DataError(f"the benchmark's clicks score {clicked:.3f}, others {others:.3f}.")


TARGET, SECONDS = 0.65, 120.0


def clicks(conditions):
    """Measure the time to HR 0.65 and the final quality of our models, of implicit's and, on a GPU, of networks."""
    seeds = 5  # of our models
    ncf = read(conditions.data, conditions.scale)
    for name in make_models(conditions.device):
        models = (make_models(conditions.device, seed)[name] for seed in range(seeds))
        yield from rows(name, [train_model(model, ncf, SECONDS) for model in models], ncf.name)
    if not conditions.device.is_cuda and importlib.util.find_spec("implicit"):
        factors = 64
        yield from rows("implicit's ALS", [train_implicit(ncf, factors)], ncf.name, f"{factors} factors")
    if conditions.device.is_cuda and importlib.util.find_spec("torch"):
        for name in ("GMF", "MLP", "NeuMF"):
            yield from rows(name, [train_network(name, ncf, conditions.device, SECONDS)], ncf.name)


def rows(name, curves, shape, suffix=""):
    """Yield rows of the time, if all LearningCurves reach the target, and of the final HR and NDCG."""
    epochs = [curve.epoch_to(TARGET) for curve in curves]
    if None not in epochs:
        times = [1e3 * curve.times[epoch] for curve, epoch in zip(curves, epochs)]
        note = make_note(curves, epochs, suffix)
        yield Row(f"Table 10 time to HR {TARGET} {name}", shape, "real", times, "ms", note)
    for index, metric in enumerate(METRICS.values()):
        samples = [curve.final[index] for curve in curves]
        note = make_note(curves, epochs, final_means(curves), suffix)
        yield Row(f"Table 10 {metric} {name}", shape, "real", samples, metric, note)


def make_note(curves, epochs, *texts):
    """Return the note of a row, by the first LearningCurve."""
    curve = curves[0]
    parts = ", ".join(f"{name} {1e3 * seconds:.4g} ms" for name, seconds in curve.parts.items())
    end = f"HR {TARGET} not reached" if None in epochs else f"reached in epoch {epochs[0] + 1} of {len(curve.quality)}"
    start = f"{end}, {curve.times[-1]:.3g} s of training in all"
    return "; ".join(filter(None, (start, parts and f"before: {parts}", *texts)))


def final_means(curves):
    """Return the means of the final quality as text."""
    names = ("HR", "NDCG", "full HR", "full NDCG")
    values = zip(names, zip(*(curve.final for curve in curves)))
    return ", ".join(f"{name} {np.mean(samples):.4f}" for name, samples in values if None not in samples)


PREDICTIVE, BATCH = 32, 256  # factors, and examples of a step, of a network


def make_network(name, shape):
    """Return a torch module: (users (n,), items (n,)) to logits (n,)."""
    import torch

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            width = 4 * PREDICTIVE
            self.product = make_tables(shape, PREDICTIVE) if name != "MLP" else None
            self.tower, self.layers = (
                (make_tables(shape, width), make_tower(2 * width)) if name != "GMF" else (None, None)
            )
            self.last = torch.nn.Linear(PREDICTIVE * (2 if name == "NeuMF" else 1), 1)
            torch.nn.init.kaiming_uniform_(self.last.weight, a=1, nonlinearity="sigmoid")

        def forward(self, users, items):
            parts = []
            if self.product is not None:
                parts.append(self.product[0](users) * self.product[1](items))
            if self.tower is not None:
                parts.append(self.layers(torch.cat((self.tower[0](users), self.tower[1](items)), 1)))
            return self.last(torch.cat(parts, 1)).squeeze(1)

    return Network()


def make_tables(shape, width):
    """Return embeddings of users and of items."""
    import torch

    tables = torch.nn.ModuleList([torch.nn.Embedding(count, width) for count in shape])
    for table in tables:
        torch.nn.init.normal_(table.weight, std=0.01)
    return tables


def make_tower(width):
    """Return three layers, each half as wide as the one before."""
    import torch

    layers = []
    for step in range(3):
        layers += [torch.nn.Linear(width >> step, width >> (step + 1)), torch.nn.ReLU()]
        torch.nn.init.xavier_uniform_(layers[-2].weight)
    return torch.nn.Sequential(*layers)


class Sampler:
    """Clicks on a device, with random items that their users have not clicked."""

    def __init__(self, clicks, device, seed):
        import torch

        self.users, self.items = (torch.from_numpy(rows).long().to(device) for rows in (clicks.users, clicks.items))
        self.known = torch.zeros(clicks.shape, dtype=torch.bool, device=device)
        self.known[self.users, self.items] = True
        self.generator = torch.Generator(device).manual_seed(seed)

    def random_items(self, count):
        """Return (count,) random items."""
        import torch

        return torch.randint(self.known.shape[1], (count,), generator=self.generator, device=self.users.device)

    def sample_epoch(self):
        """Return (users, items, labels) of an epoch, shuffled: the clicks and four items for each."""
        import torch

        users = self.users.repeat_interleave(4)
        items = self.random_items(len(users))
        while (wrong := self.known[users, items].nonzero().squeeze(1)).numel():
            items[wrong] = self.random_items(len(wrong))
        users, items = torch.cat((self.users, users)), torch.cat((self.items, items))
        labels = (torch.arange(len(users), device=users.device) < len(self.users)).float()
        order = torch.randperm(len(users), generator=self.generator, device=users.device)
        return users[order], items[order], labels[order]


def train_network(name, ncf, device, seconds, seed=0):
    """Return the LearningCurve of a network; final is that of the best epoch on the test, as by its authors."""
    import torch

    torch.manual_seed(seed)
    torch_device = torch.device(f"cuda:{device.index}" if device.is_cuda else "cpu")
    model = make_network(name, ncf.clicks.shape).to(torch_device)
    options = {"fused": True, "capturable": True} if device.is_cuda else {}
    sampler, optimizer = Sampler(ncf.clicks, torch_device, seed), torch.optim.Adam(model.parameters(), 0.001, **options)
    step = make_step(model, optimizer, [part[:BATCH] for part in sampler.sample_epoch()])

    def clock():
        if device.is_cuda:
            torch.cuda.synchronize(torch_device)
        return time.perf_counter()

    def epochs():
        start = time.perf_counter()
        for number in range(20):
            for batch in zip(*(part.split(BATCH) for part in sampler.sample_epoch())):
                step(batch)
                if time.perf_counter() - start > 1.5 * seconds:  # a single epoch may exceed the limit
                    break
            yield number

    def evaluate():
        return ncf.evaluate(predict(model, ncf, torch_device))

    quality, times = record_epochs(epochs(), evaluate, clock, lambda *state: is_over(*state, seconds))
    return LearningCurve(quality, times, {}, (*quality[best_epoch(quality)], None, None))


def is_over(quality, total, seconds):
    """Return True if a training has used its seconds, or its HR has not risen for some epochs."""
    patience = 3
    return total >= seconds or len(quality) - 1 - best_epoch(quality) >= patience


def make_step(model, optimizer, example):
    """Return a function that takes one step on a batch of up to BATCH; the example batch is learned to warm up.

    On a GPU a step is recorded once as a CUDA graph and replayed, since its kernels take less time than their launches.
    The smaller batch at the end of an epoch is launched.
    """
    warm_up = 3  # steps before the recorded one
    import torch

    if not example[0].is_cuda:
        learn(model, optimizer, example)
        return lambda batch: learn(model, optimizer, batch)
    recorded, stream, graph = [part.clone() for part in example], torch.cuda.Stream(), torch.cuda.CUDAGraph()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(warm_up):
            learn(model, optimizer, recorded)
    torch.cuda.current_stream().wait_stream(stream)
    with torch.cuda.graph(graph):
        learn(model, optimizer, recorded)

    def step(batch):
        if len(batch[0]) < len(recorded[0]):
            return learn(model, optimizer, batch)
        for target, part in zip(recorded, batch):
            target.copy_(part)
        graph.replay()

    return step


def learn(model, optimizer, batch):
    """Take one step of the optimizer."""
    import torch

    users, items, labels = batch
    optimizer.zero_grad(set_to_none=True)
    torch.nn.functional.binary_cross_entropy_with_logits(model(users, items), labels).backward()
    optimizer.step()


def predict(model, ncf, device):
    """Return the scores (T, 1 + C) float32 of the candidates."""
    pairs = 1 << 17  # scored at once
    import torch

    users, items = (torch.from_numpy(rows).long().to(device) for rows in ncf.pairs)
    with torch.no_grad():
        parts = [model(*pair) for pair in zip(users.split(pairs), items.split(pairs))]
    return torch.cat(parts).cpu().numpy().astype(np.float32).reshape(ncf.items.shape)
