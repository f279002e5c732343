"""GMF, MLP and NeuMF (He et al., "Neural collaborative filtering", WWW 2017) in torch, on the device of a run.

As their authors train them: binary cross-entropy, NEGATIVES items without a click drawn anew for each click in each
epoch, batches of BATCH, Adam at RATE; FACTORS predictive factors, a tower of three layers; no pre-training. Clicks,
draws and weights stay on the device, so that nothing waits for the host.
"""

import time

import numpy as np

from gpukit.bench.clicks import course

NAMES = ("GMF", "MLP", "NeuMF")
FACTORS, LAYERS, NEGATIVES, BATCH, RATE, EPOCHS, START = 32, 3, 4, 256, 0.001, 20, 0.01
JUDGED = 1 << 17  # pairs at once
PATIENCE = 3  # epochs without a higher HR that end a training
WARM = 3  # steps before one is recorded


def network(name, shape):
    """A torch module of a name: (users (n,), items (n,)) to logits (n,)."""
    import torch

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            wide = FACTORS << (LAYERS - 1)
            self.product = tables(shape, FACTORS) if name != "MLP" else None
            self.tower, self.layers = (tables(shape, wide), tower(2 * wide)) if name != "GMF" else (None, None)
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


def tables(shape, width):
    """Embeddings of users and of items."""
    import torch

    both = torch.nn.ModuleList([torch.nn.Embedding(count, width) for count in shape])
    for table in both:
        torch.nn.init.normal_(table.weight, std=START)
    return both


def tower(width):
    """LAYERS layers, each half as wide as the one before."""
    import torch

    layers = []
    for step in range(LAYERS):
        layers += [torch.nn.Linear(width >> step, width >> (step + 1)), torch.nn.ReLU()]
        torch.nn.init.xavier_uniform_(layers[-2].weight)
    return torch.nn.Sequential(*layers)


class Draws:
    """Clicks on a device, with items drawn for each that its user has not clicked."""

    def __init__(self, clicks, place, seed):
        import torch

        self.users, self.items = (torch.from_numpy(rows).long().to(place) for rows in (clicks.users, clicks.items))
        self.known = torch.zeros(clicks.shape, dtype=torch.bool, device=place)
        self.known[self.users, self.items] = True
        self.generator = torch.Generator(place).manual_seed(seed)

    def integers(self, count):
        """(count,) items, any."""
        import torch

        high, where = self.known.shape[1], self.users.device
        return torch.randint(high, (count,), generator=self.generator, device=where)

    def epoch(self):
        """(users, items, labels) of an epoch, shuffled: the clicks and NEGATIVES others for each."""
        import torch

        others = self.users.repeat_interleave(NEGATIVES)
        drawn = self.integers(len(others))
        while (wrong := self.known[others, drawn].nonzero().squeeze(1)).numel():
            drawn[wrong] = self.integers(len(wrong))
        users, items = torch.cat((self.users, others)), torch.cat((self.items, drawn))
        labels = (torch.arange(len(users), device=users.device) < len(self.users)).float()
        order = torch.randperm(len(users), generator=self.generator, device=users.device)
        return users[order], items[order], labels[order]


def trained(name, ncf, device, seconds, seed=0):
    """The course.Course of a network; final is its best epoch's, as its authors take it from the test."""
    import torch

    torch.manual_seed(seed)
    place = torch.device(f"cuda:{device.index}" if device.is_cuda else "cpu")
    model = network(name, ncf.clicks.shape).to(place)
    on_gpu = {"fused": True, "capturable": True} if device.is_cuda else {}
    draws, step = Draws(ncf.clicks, place, seed), torch.optim.Adam(model.parameters(), RATE, **on_gpu)
    take = stepper(model, step, [part[:BATCH] for part in draws.epoch()])

    def clock():
        if device.is_cuda:
            torch.cuda.synchronize(place)
        return time.perf_counter()

    def epochs():
        begun = time.perf_counter()
        for number in range(EPOCHS):
            for batch in zip(*(part.split(BATCH) for part in draws.epoch())):
                take(batch)
                if time.perf_counter() - begun > 1.5 * seconds:  # an epoch may take longer than all that is allowed
                    break
            yield number

    found, times = course.run(epochs(), lambda: ncf.judged(scores(model, ncf, place)), seconds, clock, PATIENCE)
    return course.Course(found, times, {}, (*found[course.best(found)], None, None))


def stepper(model, step, batch):
    """A function that takes one step on a batch of up to BATCH; `batch`, an example, warms it up: up to WARM steps
    more than are counted.

    On a GPU a step is recorded once (a CUDA graph) and replayed, because its kernels take less time than their
    launches; the few that are left over at an epoch's end are launched.
    """
    import torch

    if not batch[0].is_cuda:
        learn(model, step, batch)
        return lambda batch: learn(model, step, batch)
    held, aside, graph = [part.clone() for part in batch], torch.cuda.Stream(), torch.cuda.CUDAGraph()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM):
            learn(model, step, held)
    torch.cuda.current_stream().wait_stream(aside)
    with torch.cuda.graph(graph):
        learn(model, step, held)

    def take(batch):
        if len(batch[0]) < len(held[0]):
            return learn(model, step, batch)
        for own, part in zip(held, batch):
            own.copy_(part)
        graph.replay()

    return take


def learn(model, step, batch):
    """One step of the optimizer."""
    import torch

    users, items, labels = batch
    step.zero_grad(set_to_none=True)
    torch.nn.functional.binary_cross_entropy_with_logits(model(users, items), labels).backward()
    step.step()


def scores(model, ncf, place):
    """(T, 1 + C) float32 of the candidates."""
    import torch

    users, items = (torch.from_numpy(rows).long().to(place) for rows in ncf.pairs)
    with torch.no_grad():
        parts = [model(*pair) for pair in zip(users.split(JUDGED), items.split(JUDGED))]
    return torch.cat(parts).cpu().numpy().astype(np.float32).reshape(ncf.found.items.shape)
