"""Table 10 of Li et al. 2022, section 5.4: seconds of training until HR@10 is 0.65 among 99 negatives.

All models are trained in one process on the same clicks, networks on a GPU, implicit's least squares on a CPU. An HR of
0.65 is below that of item kNN, so the final HR and NDCG are measured as well. Training stops after SECONDS.

The networks are GMF, MLP and NeuMF (He et al., "Neural collaborative filtering", WWW 2017) in torch. They are trained
as by their authors: binary cross-entropy, four new random items for each click in each epoch, batches of BATCH,
Adam at 0.001, FACTORS predictive factors, a tower of three layers, no pre-training. Clicks, negatives and weights stay
on the device."""

import importlib.util
import time
from functools import partial

import numpy as np

from gpukit.bench.clicks import ncf_data
from gpukit.bench.clicks.ncf_data import LearningCurve, best_epoch
from gpukit.bench.measurement import Row, record_epochs

TARGET, SECONDS = 0.65, 120.0
PRINTED = {"GMF": 219.6, "MLP": 940.4, "NeuMF": 308.5, "CULSH-MF": 0.0343}  # seconds on a P100


def clicks(conditions):
    """Measure the time to HR 0.65 and the final quality of our models and of implicit's."""
    seeds = 5  # of our models
    ncf = ncf_data.read(conditions.data, conditions.scale)
    for name in ncf_data.MODELS:
        models = (ncf_data.make_models(conditions.device, seed)[name] for seed in range(seeds))
        yield from rows(name, [ncf_data.train_model(model, ncf, SECONDS) for model in models], ncf.name)
    if not conditions.device.is_cuda and importlib.util.find_spec("implicit"):
        suffix = f"{ncf_data.IMPLICIT_FACTORS} factors"
        yield from rows("implicit's ALS", [ncf_data.train_implicit(ncf)], ncf.name, suffix)


def network(conditions, name):
    """Measure the same of a network on a GPU."""
    if conditions.device.is_cuda and importlib.util.find_spec("torch"):
        ncf = ncf_data.read(conditions.data, conditions.scale)
        yield from rows(name, [train_network(name, ncf, conditions.device, SECONDS)], ncf.name)


gmf, mlp, neumf = (partial(network, name=name) for name in ("GMF", "MLP", "NeuMF"))


def rows(name, curves, shape, suffix=""):
    """Yield rows of the time, if all LearningCurves reach the target, and of the final HR and NDCG."""
    epochs = [curve.epoch_to(TARGET) for curve in curves]
    printed = f"the paper: {PRINTED[name]:g} s" if name in PRINTED else "not in the paper's table"
    if None not in epochs:
        times = [1e3 * curve.times[epoch] for curve, epoch in zip(curves, epochs)]
        note = make_note(curves, epochs, printed, suffix)
        yield Row(f"Table 10 time to HR {TARGET} {name}", shape, "real", times, "ms", note)
    for index, metric in enumerate(ncf_data.METRICS.values()):
        samples = [curve.final[index] for curve in curves]
        note = make_note(curves, epochs, final_means(curves), suffix)
        yield Row(f"Table 10 {metric} {name}", shape, "real", samples, metric, note)


def make_note(curves, epochs, text, suffix):
    """Return the note of a row, by the first LearningCurve."""
    curve = curves[0]
    parts = ", ".join(f"{name} {1e3 * seconds:.4g} ms" for name, seconds in curve.parts.items())
    end = f"HR {TARGET} not reached" if None in epochs else f"reached in epoch {epochs[0] + 1} of {len(curve.quality)}"
    start = f"{end}, {curve.times[-1]:.3g} s of training in all"
    return "; ".join(filter(None, (start, parts and f"before: {parts}", text, suffix)))


def final_means(curves):
    """Return the means of the final quality as text."""
    names = ("HR", "NDCG", "full HR", "full NDCG")
    values = zip(names, zip(*(curve.final for curve in curves)))
    return ", ".join(f"{name} {np.mean(samples):.4f}" for name, samples in values if None not in samples)


FACTORS, BATCH = 32, 256


def make_network(name, shape):
    """Return a torch module: (users (n,), items (n,)) to logits (n,)."""
    import torch

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            width = 4 * FACTORS
            self.product = make_tables(shape, FACTORS) if name != "MLP" else None
            self.tower, self.layers = (
                (make_tables(shape, width), make_tower(2 * width)) if name != "GMF" else (None, None)
            )
            self.last = torch.nn.Linear(FACTORS * (2 if name == "NeuMF" else 1), 1)
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
    return torch.cat(parts).cpu().numpy().astype(np.float32).reshape(ncf.candidates.items.shape)
