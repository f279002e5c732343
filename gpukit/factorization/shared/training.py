"""Training over ranks, for either device: preparation and epochs; without ranks: gpukit.factorization.run.

Training on a Dask DataFrame: each rank learns from the partitions that its worker holds.
"""

import functools
import json
import os
import sys
import tempfile
import warnings

import numpy as np

from gpukit import factorization, persist
from gpukit.device.engine import engine
from gpukit.errors import DataError, ParameterError
from gpukit.factorization import choose as rule
from gpukit.factorization.arrays import History
from gpukit.factorization.choose import choose
from gpukit.factorization.constants import RULES
from gpukit.factorization.implicit.choosing import prepare as of_clicks
from gpukit.factorization.model.parts import USERS
from gpukit.factorization.prepare import training_data
from gpukit.factorization.run import layout_of, options_of
from gpukit.factorization.run import prepare as of_ratings
from gpukit.factorization.settings import goal_of
from gpukit.factorization.shared.partition import (
    Copies,
    Lap,
    chunk_tables,
    parts_of,
    plan_moves,
    rank_means,
    scale_over_ranks,
)
from gpukit.factorization.solvers.sgd import schedule
from gpukit.io.arrays import is_partitioned
from gpukit.io.ids import take_values
from gpukit.model_selection.splits import MANY_TIMES, thinned_users
from gpukit.neighbors.shared import find_shared
from gpukit.parallel import TeamError, dask_cluster
from gpukit.parallel.current_team import check_distinct_gpus
from gpukit.ratings import Ratings, formats
from gpukit.ratings.orders.compressed import join_rows
from gpukit.ratings.orders.order import order_ratings
from gpukit.ratings.parts import RatingsPart
from gpukit.ratings.read_parts import part_of_frames
from gpukit.ratings.repeats import merged_line
from gpukit.timing import Clock

REMEDY = "Leave --ranks and --gpus (team) out"
LEAST_SQUARES = ("als", "ials")


def check_supported(estimator, ratings, checked, device):
    """Raise ParameterError for options and ratings that need a single process."""
    check_parameters(estimator, checked, device.is_cuda)
    if checked.solver not in LEAST_SQUARES and ratings.weights is not None:
        raise ParameterError(f"Ratings with weights are not trained over ranks. {REMEDY}, or drop the weights.")
    options = {"early_stopping": checked.patience, "validation_fraction": estimator.validation_fraction}
    options[f"solver={checked.solver!r}"] = checked.solver != "sgd"
    if isinstance(ratings, RatingsPart) and (name := next(filter(options.get, options), None)):
        raise ParameterError(f"{name} does not work on ratings in parts. Read them on one rank, or leave it out.")


def check_parameters(estimator, checked, on_gpus):
    """Raise ParameterError for parameters of an estimator that need a single process."""
    if checked.feedback == "implicit" and (checked.solver != "ials" or goal_of(estimator, "implicit").open):
        raise ParameterError(
            f"Clicks are learned over ranks by solver='ials' alone; got solver={estimator.solver!r}. Name it, or leave "
            "--ranks and --gpus (team) out."
        )
    if checked.solver in LEAST_SQUARES:
        return
    if checked.solver != "sgd":
        raise ParameterError(f"solver={checked.solver!r} does not work over ranks; 'sgd' and 'als' do. {REMEDY}.")
    if estimator.deterministic and on_gpus:
        raise ParameterError(f"deterministic=True works over ranks on CPUs alone. {REMEDY}, or deterministic.")
    if checked.n_neighbors and estimator.hash != "simlsh":
        raise ParameterError(f"hash={estimator.hash!r} is not computed over ranks; hash='simlsh' is. {REMEDY}.")
    if checked.n_neighbors and estimator.search == "exact":
        raise ParameterError(f"search='exact' reads all ratings in one place: {REMEDY[0].lower()}{REMEDY[1:]}.")


def prepare(request):
    """Return the run.Run of a rank of a parallel.Team; all ranks get the same run.FitRequest.

    See gpukit.factorization.run.prepare.
    """
    estimator, ratings, device, checked = request.estimator, request.ratings, request.device, request.settings
    team, progress = request.team, request.progress
    check_supported(estimator, ratings, checked, device)
    check_distinct_gpus(team, device)
    if checked.solver in LEAST_SQUARES:  # each rank solves for some rows and has all ratings
        return of_clicks(request) if checked.feedback == "implicit" else of_ratings(request)
    clock, steps, own_steps = Clock(), engine(device, "gpukit.factorization"), engine(device, __package__)
    sample = sample_to_choose(estimator, ratings, checked)
    options = estimator, sample, checked, device, request.held_out is not None, progress
    resumed, choice = request.resume_or_choose(clock, lambda: choose(*options))
    plan = choice.settings
    progress("preparing", 0, 1, {})
    with clock("prepare"):
        options = options_of(estimator, plan)
        parts = parts_of(ratings, team.size, options, steps)
        for divided in (ratings, request.held_out):
            if isinstance(divided, RatingsPart):
                divided.move(parts.owner)
        users = parts.users_of(team.rank)
        stored = int(parts.counts[0][users].sum()), (len(users), ratings.shape[1])
        layout = layout_of(estimator, plan, ratings, device, steps, stored)
        is_packed = isinstance(ratings, RatingsPart) and not device.is_cuda
        release = functools.partial(ratings.release, users) if is_packed else None
        orders = order_ratings(ratings_of_rank(ratings, parts, team.rank), device, team, release)
        if is_packed and orders.levels.exact:
            ratings.pack(orders, users)
        scale = scale_over_ranks(orders, ratings)
        ranks = rank_means(orders, parts, team)
        means = {"ranks": ranks, "assignment": parts.assignment_on(team.rank, estimator.walk)}
        data = training_data.prepare_ratings(orders, scale, options, steps, **means)
        scale = data.scale
    with clock("neighbours"):
        search = SharedSearch(team, device, users)
        wait = None if resumed else estimator.searched(orders, search, plan.n_neighbors, progress)
        orders = None  # a training needs less memory without them
    with clock("prepare"):
        *tables, laps = chunk_tables(data.side, parts, options, plan, layout, steps, own_steps)
    with clock("neighbours"):
        neighbors, wait = wait and wait(), None
    with clock("prepare"):
        state = resumed and take_users(resumed.state, users)
        session = request.begin_model(steps, layout, data, plan, state, neighbors, ranks.numbers)
        session.train_on(data.side, data.query, *tables, parts.order_of_minor(estimator.walk))
        training = training_of(plan, session, parts, laps, team, device)
        own_users = users if isinstance(ratings, RatingsPart) else None
        shared = SharedModel(session, training, parts, team, own_users)
    return request.run(shared, training, clock, scale, resumed, choice, own_users=own_users)


def sample_to_choose(estimator, ratings, settings):
    """Return Ratings by which rank 0 chooses open settings; of a RatingsPart a sample with the users that it draws."""
    n, shape = len(ratings), ratings.shape
    is_read = rule.open_parameters(estimator) and (rule.is_doubtful(n, shape) or n < RULES.very_many_ratings)
    if not (isinstance(ratings, RatingsPart) and is_read):
        return ratings
    return ratings.sample(thinned_users(n, shape[0], settings.seed, MANY_TIMES * RULES.choice_sample))


def ratings_of_rank(ratings, parts, rank):
    """Return the Ratings of a rank's users, in its rows; ratings in parts have moved to their owners."""
    if not isinstance(ratings, RatingsPart):
        ratings = ratings.take(take_values(parts.owner == rank, ratings.users))
    users = take_values(parts.rows_on(rank), ratings.users)
    return Ratings(users, ratings.items, ratings.values, ratings.user_ids[parts.users_of(rank)], ratings.item_ids)


def take_users(state, users):
    """Return the State of some of its users."""
    return state._replace(user_factors=state.user_factors[users], user_extras=state.user_extras[users])


class SharedSearch:
    """The find_neighbors of factorization/cpu.py for items whose ratings are on all ranks."""

    def __init__(self, team, device, users):
        self.team, self.device, self.users = team, device, users

    def find_neighbors(self, table, settings):
        """Return the lists of all ratings, on the host of every rank; hashes depend on the numbers of users."""
        steps = engine(self.device, "gpukit.factorization")
        users = steps.empty(table.users.shape, np.int32)
        steps.run("follow", steps.resident(self.users, np.int32), table.users, users)
        table = table._replace(users=users)
        lists, random_slots = find_shared(table, settings, self.team, self.device)
        return lambda: (lists, random_slots)


class Training:
    """Epochs of a rank of a Team over a BlockPipeline; laps: Laps of the first epoch."""

    def __init__(self, settings, block_schedule, pipeline, team, laps):
        self.settings, self.schedule, self.pipeline = settings, block_schedule, pipeline
        self.team, self.laps = team, laps
        self.block_ranks = {}  # rank that processed each block last

    def epoch(self, number):
        """Make one pass over all ratings; return when this rank's are done."""
        rates, turn = self.settings.epoch_rates(number), schedule.turn_key(self.settings.seed, number)
        steps = self.schedule.steps(number)
        laps = [Lap(0.0, 1.0, self.pipeline.session.workers)] if number else self.laps
        transfers = plan_moves(steps * len(laps), self.schedule.steps(number + 1))
        for (lap, step), moves in zip(((lap, step) for lap in laps for step in steps), transfers):
            blocks = [block for block, rank in step.block_ranks.items() if rank == self.team.rank]
            if blocks:
                self.pipeline.process(step.tables[self.team.rank], lap, blocks, rates, turn)
            self.pipeline.send_blocks(moves)
            self.block_ranks.update(step.block_ranks)
        self.pipeline.finish()
        if len(steps[0].tables) < self.team.size:
            self.team.barrier()  # an idle rank would run ahead and time out after ten minutes of waiting

    def gather(self):
        """Copy the current blocks to every rank."""
        self.pipeline.broadcast_blocks(self.block_ranks)


class Copied:
    """Epochs of a rank on its copy of the minor rows (own_steps.CopiedRows), exchanged during training."""

    def __init__(self, settings, copies, laps):
        self.settings, self.copies, self.laps = settings, copies, laps

    def epoch(self, number):
        """Make one pass over all ratings; return when all ranks' changes are added."""
        rates, turn = self.settings.epoch_rates(number), schedule.turn_key(self.settings.seed, number)
        workers = self.copies.session.workers if number else self.laps[0].workers
        self.copies.process(workers, rates, turn, number)
        self.copies.finish()

    def gather(self):
        """Make the copies of all ranks equal."""
        self.copies.align()


def training_of(settings, session, parts, laps, team, device):
    """Return the Training or Copied of a rank."""
    own_steps = engine(device, __package__)
    if isinstance(parts.schedule, Copies):
        return Copied(settings, own_steps.CopiedRows(session, settings, parts, team, device), laps)
    return Training(settings, parts.schedule, own_steps.BlockPipeline(session, parts, team, device), team, laps)


class SharedModel:
    """The DeviceModel (factorization/cpu.py) of a team, as far as training needs it.

    local: that of this rank; own_users: rows of the users whose model a rank gets, those of its ratings in parts; None:
    all ranks get that of all users.
    """

    def __init__(self, local, training, parts, team, own_users=None):
        self.local, self.training, self.parts, self.team = local, training, parts, team
        self.own_users = own_users

    def pairs_at_once(self):
        """See cpu.DeviceModel; the same on all ranks."""
        return sys.maxsize

    def ask(self, users, items):
        """See cpu.DeviceModel; each rank asks for its users, rank 0 also for unknown ones."""
        self.mask = np.append(self.parts.owner, 0)[users] == self.team.rank
        rows = self.parts.rows_on(self.team.rank)[users[self.mask]]
        return (self.local.ask(rows, items[self.mask]) if self.mask.any() else None,)

    def truth(self, values):
        """See cpu.DeviceModel; of the pairs of the last `ask`."""
        return self.local.truth(values[self.mask]) if self.mask.any() else None

    def errors(self, pairs, truth, scale):
        """See cpu.DeviceModel; summed over ranks."""
        self.training.gather()
        sums = (0.0, 0.0) if truth is None else self.local.errors(*pairs, truth, scale)
        return tuple(map(float, self.team.allreduce(np.array(sums))))

    def state(self):
        """Return the current State of all users, or of own_users."""
        self.training.gather()
        state = self.local.state()
        if self.own_users is not None:
            return state
        return state._replace(**{name: self.gather_users(getattr(state, name)) for name in USERS})

    def gather_users(self, own):
        """Return a table (M, any) of all users from those (rows, any) of each rank."""
        whole = np.empty((len(self.parts.owner), own.shape[1]), own.dtype)
        for rank in range(self.team.size):
            rows = self.team.broadcast(own if rank == self.team.rank else None, rank)
            whole[self.parts.users_of(rank)] = rows
        return whole

    @property
    def history(self):
        """Return the arrays.History of all users, or of own_users, on the host; gathered on each access."""
        local = History(*map(self.local.steps.fetch, self.local.history))
        if self.own_users is not None:
            return local
        size, counts = int(local.indptr[-1]), self.parts.counts[0]
        indptr = np.concatenate([[0], np.cumsum(counts), [counts.sum()]]).astype(np.int64)
        users = [self.parts.users_of(rank) for rank in range(self.team.size)]
        columns = (self.team.allgather(column[:size]) for column in (local.items, local.codes))
        return History(indptr, *(join_rows(parts, users, indptr) for parts in columns), local.levels)


FUNCTION = f"{__name__}:fit_partitions"


def fit_frame(estimator, frame, client, others):
    """Train an estimator on a Dask DataFrame on the workers of a client; return the models of each worker's users.

    others: {name: value} of fit's arguments that must be None or False.
    """
    dask_cluster.check_dask("client=")
    if not is_partitioned(frame):
        raise ParameterError(f"client= is for a Dask DataFrame; X is a {type(frame).__name__}. Leave client out.")
    if name := next((name for name, value in others.items() if value not in (None, False)), None):
        raise ParameterError(f"{name}= does not work with client=. Leave it out, or pass frame.compute().")
    check_parameters(estimator, estimator.check(), on_gpus=False)
    futures = client.compute(frame[names_of_columns(frame)].to_delayed())
    partitions = dask_cluster.find_holders(client, futures)
    parameters = json.dumps({**persist.lasting(estimator), "device": str(estimator.device)})
    arguments = FUNCTION, type(estimator).__name__, parameters
    code, out, err = dask_cluster.run(client, *arguments, partitions=partitions)
    if code:
        raise (DataError if code == DataError.exit_code else TeamError)(err.rpartition("Error: ")[2].strip())
    for line in err.splitlines():
        warnings.warn(line, stacklevel=3)
    models = []
    with tempfile.TemporaryDirectory() as folder:
        for worker, source in zip(partitions, out.splitlines(), strict=True):
            path = os.path.join(folder, f"{len(models)}")
            with open(path, "wb") as file:
                dask_cluster.fetch_file(client, worker, source, file)
            models.append(type(estimator).load(path))
    return models


def names_of_columns(frame):
    """Return the names of the columns with user, item, rating and time; DataError if one of the first is missing."""
    places = formats.find_columns(frame.columns)
    formats.refuse_repeated(list(frame.columns), formats.TRIPLE, "The Dask DataFrame")
    if lacking := [formats.WORDS[role] for role in formats.TRIPLE if role not in places]:
        names = ", ".join(map(str, frame.columns))
        raise DataError(
            f"The Dask DataFrame has the columns {names}, but no {' and no '.join(lacking)}. "
            "Rename the columns: user, item, rating, and timestamp for times."
        )
    return [frame.columns[places[role]] for role in (*formats.TRIPLE, "times") if role in places]


def fit_partitions(team, name, parameters):
    """Fit an estimator of a class to the partitions of all ranks; each saves its part, rank 0 prints their names."""
    warnings.showwarning = lambda message, *_, **__: print(message, file=sys.stderr)
    part = part_of_frames(dask_cluster.read_objects(), team)
    if part.merged:
        warnings.warn(f"{merged_line(part, 'last')}.", stacklevel=2)
    model = getattr(factorization, name)(**json.loads(parameters)).fit(part, team=team)
    file, path = tempfile.mkstemp(suffix=".gpukit")
    os.close(file)
    persist.save_model(path, model, *model._packed())
    paths = team.allgather_json(path)
    if team.rank == 0:
        print(*paths, sep="\n")
