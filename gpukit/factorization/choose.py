"""Choose the open settings of an estimator on a hold-out, unless the defaults suit a sample of users.

Otherwise a part of the ratings is held out, damped biases and a few settings are tried on the others, and the best is
trained again on all ratings. The folds are deterministic, the rest as training is.

Many ratings of a user help only if there are preferences to learn; with noise the default settings overfit. Users of
the sample have all their ratings, items only a few. So if factors improve on damped biases in the sample, they improve
more on all ratings. The density is the number of ratings per user and item. A large number of ratings alone is not
enough.

Users and items have separate dampings (Koren 2010, sec. 2.1, has 10 and 25 for Netflix). The largest value of the grid
leaves the mean alone. A side may be damped to a line in its numbers of ratings (`trend_biases`), first the items, then
the users. The simpler biases are taken unless others are better by more than a standard error, and so are biases alone
unless the best candidate is.

An RatingEvaluator computes orders, histories and neighbours once for all candidates.
"""

import numpy as np

from gpukit.device.engine import engine
from gpukit.factorization.arrays import unscale
from gpukit.factorization.constants import RULES, USUAL
from gpukit.factorization.prepare import training_data
from gpukit.factorization.prepare.training_data import PreparationOptions, order_weights
from gpukit.factorization.settings import Choice
from gpukit.factorization.solvers import Task, training_of
from gpukit.model_selection.search import Search
from gpukit.model_selection.splits import draw_sample
from gpukit.model_selection.trial import CLEAR, Budget, EarlyStopping, Trial, best_of, simplest_of
from gpukit.ratings.orders.order import order_ratings
from gpukit.runtime import thread_count
from gpukit.streams import Numpy
from gpukit.timing import work_clock


class RatingEvaluator:
    """Training and judging ratings on a device, for any number of candidates.

    estimator: has the order of training and finds neighbours; train, held_out: Ratings with the same id maps;
    n_neighbors: the largest number of a candidate. Deterministic training runs in strata on a GPU, and on a CPU in the
    single thread that model selection uses.
    """

    def __init__(self, estimator, train, held_out, seed, device, n_neighbors=0):
        self.in_strata = estimator.deterministic and device.is_cuda
        self.options = PreparationOptions(estimator.walk, seed, self.in_strata, n_neighbors > 0)
        self.device, self.held_out, self.shape, self.data = device, held_out, train.shape, None
        self.steps = engine(device, "gpukit.factorization")
        self.orders = order_ratings(train, device)
        self.own_scale = training_data.scale_of(self.orders, train.values, train.weights)
        self.weights = order_weights(train, self.orders, self.steps)
        self.roots = 1.0 if held_out.weights is None else np.sqrt(held_out.weights / held_out.weights.mean())
        self.neighbors = estimator.find_neighbors(self.orders, self.steps, n_neighbors)

    def begin(self, settings):
        """Return a function of an epoch's number that trains it and returns the errors (n,) of held-out ratings."""
        self.prepare(settings.damping, settings.trend)
        steps, side = self.steps, self.data.side
        layout, solver = steps.layout(settings.n_factors, settings.n_neighbors), training_of(settings.solver)
        neighbors = np.ascontiguousarray(self.neighbors[:, : settings.n_neighbors])
        session = steps.begin(settings, self.data, layout, self.options.walk, neighbors)
        minor = steps.resident(steps.fetch(side.minor), np.int32)  # training may rename its rows
        data = self.data._replace(side=side._replace(minor=minor))
        task = Task(self.orders, self.scale, data, settings, layout, steps, self.device, self.in_strata)
        training = solver.begin(session, task, solver.arrange(task))
        pairs = session.ask(self.held_out.users, self.held_out.items)

        def epoch(number):
            training.epoch(number)
            return self.errors(session.predict(pairs))

        return epoch

    def prepare(self, damping, trend=()):
        """Prepare for candidates with these biases, which may change the mean.

        See PreparationOptions.
        """
        options = self.options._replace(damping=damping, trend=trend)
        if self.data is None or options != self.options:
            self.data = training_data.prepare_ratings(self.orders, self.own_scale, options, self.steps, self.weights)
            self.options, self.scale = options, self.data.scale

    def errors(self, z, scale=None):
        """Return the errors (n,) float64 of predictions of the judging ratings.

        z: predictions, scaled by a Scale (None: that of `prepare`). Errors are multiplied by the roots of the weights,
        so that squares are weighted.
        """
        return (self.held_out.values - unscale(z, scale or self.scale)).astype(np.float64) * self.roots

    def biased(self, damping, trend=()):
        """Return the errors (n,) float64 of damped biases alone."""
        options, scale = self.options._replace(damping=damping, trend=trend), self.own_scale
        level, *biases = training_data.fit_baseline(self.orders, scale, self.steps, options, self.weights)
        users, items = (np.append(self.steps.fetch(side), 0.0) for side in biases)
        z = level + users[self.held_out.users] + items[self.held_out.items]
        return self.errors(z.astype(np.float32), scale)


def rms(errors):
    """Return the root mean square of errors (n,) float64; infinite if training has diverged."""
    with np.errstate(over="ignore", invalid="ignore"):
        value = float(np.sqrt(np.mean(errors**2)))
    return value if np.isfinite(value) else np.inf


def make_trial(candidate, errors, row):
    """Return the Trial of a candidate by its errors (n,) of held-out ratings; scores are their negated squares."""
    largest = 1e30  # of a training that has diverged
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.nan_to_num(errors**2, nan=largest, posinf=largest)
    return Trial(candidate, -np.minimum(squares, largest), {**row, "rmse": rms(errors)})


def held_out_biases(evaluators, damping, trend):
    """Return the Trial of damped biases, whose candidate is (damping, trend), on all evaluators."""
    errors = np.concatenate([evaluator.biased(damping, trend) for evaluator in evaluators])
    nothing = {"n_factors": 0, "n_neighbors": 0, "regularization": None, "n_epochs": 0, "biases": "held"}
    row = {**nothing, "damping": list(damping), "trend": list(trend), "rmse": None, "curve": []}
    return make_trial((damping, trend), errors, row)


def curve_of(trial):
    """Return the RMSE of a Trial by epoch, a list."""
    return [epoch["rmse"] for epoch in trial.row["curve"]]


def work_of_epoch(evaluators, settings):
    """Return the work of an epoch on all evaluators, in multiplications; a neighbour costs about twice a factor."""
    n_ratings = sum(len(evaluator.orders) for evaluator in evaluators)
    return n_ratings * (settings.n_factors + 2 * settings.n_neighbors + 8)


def train_candidate(evaluators, settings, stopping, progress=lambda epoch, rmse: None):
    """Return the Trial of settings, with the best number of epochs, trained on all evaluators.

    stopping: a model_selection EarlyStopping.
    """
    start, curve, units = work_clock(), [], work_of_epoch(evaluators, settings)
    trainings = [evaluator.begin(settings) for evaluator in evaluators]
    for epoch in range(settings.epochs):
        errors = np.concatenate([train_epoch(epoch) for train_epoch in trainings])
        rmse = rms(errors)
        if stopping.budget is not None:
            stopping.budget.spend(units)
        is_over = stopping.is_over(rmse, errors) or (stopping.patience and np.isinf(rmse))
        curve.append({"epoch": epoch + 1, "seconds": work_clock() - start, "rmse": rmse})
        progress(epoch + 1, rmse)
        if is_over:
            break
    settings = settings._replace(epochs=stopping.best + 1)
    row = {name: getattr(settings, name) for name in ("n_factors", "n_neighbors", "regularization")}
    row |= {"n_epochs": settings.epochs, "biases": settings.kind_of_biases, "rmse": None, "curve": curve}
    return make_trial(settings, stopping.result, row)


def folds(ratings, seed, share=None):
    """Return a list of (train, held_out), Ratings with the same id maps.

    Held-out parts are random and disjoint. share: fraction of the ratings in a part; None: part_share, more for few
    ratings, less for very many.
    """
    n = len(ratings)
    most, target = RULES.most_parts, RULES.judging_ratings
    share = share or min(max(RULES.part_share, target / (most * n)), RULES.largest_part_share)
    size = max(1, min(int(share * n), n // 2, RULES.most_judging))
    parts = max(1, min(-(-target // size), most, n // size))
    order = np.random.default_rng([seed, Numpy.JUDGES[0]]).permutation(n)
    part_of = np.full(n, parts, np.int8)
    part_of[order[: parts * size]] = np.repeat(np.arange(parts), size)
    return [ratings.parted(part_of != part) for part in range(parts)]


OPEN = ("n_factors", "n_neighbors", "n_epochs", "regularization")  # parameters whose None means: choose


def density(n_ratings, shape):
    """Return the ratings per user or per item, whichever is lower.

    Parameters of that side are learned from the fewest ratings.
    """
    return n_ratings / max(1, *shape)


def is_sparse(n_ratings, shape):
    """Return True if the default settings may overfit."""
    return density(n_ratings, shape) < RULES.ratings_a_row


def is_doubtful(n_ratings, shape):
    """Return True if the default settings may be unsuitable, by numbers alone."""
    return n_ratings <= RULES.few_ratings or is_sparse(n_ratings, shape)


def open_parameters(estimator):
    """Return the names in OPEN that are None.

    Empty for solvers and rates that have defaults of their own.
    """
    if estimator.rates != "adaptive" or estimator.solver not in ("auto", "sgd"):
        return set()
    return {name for name in OPEN if getattr(estimator, name, 0) is None}


def wants_factors(estimator):
    """Return True if the user set an option that damped biases ignore."""
    names = (*OPEN, "learning_rate")
    return any(getattr(estimator, name, None) is not None for name in names) or not getattr(estimator, "biases", True)


def decays(settings, free):
    """Return settings with each value of regularization in RULES.decays, or alone if it is not free."""
    values = RULES.decays if "regularization" in free else (settings.regularization,)
    return [settings._replace(regularization=value) for value in values]


def sizes(settings, free, shape):
    """Return settings with other numbers of factors and neighbours."""
    factors = [min(count, *shape) for count in RULES.choice_factors] if "n_factors" in free else [settings.n_factors]
    neighbors = (settings.n_neighbors, 0) if "n_neighbors" in free else (settings.n_neighbors,)
    pairs = dict.fromkeys((f, k) for f in factors for k in neighbors)
    return [settings._replace(n_factors=f, n_neighbors=k) for f, k in pairs]


NOTHING_ELSE = RULES.damping_grid[-1], RULES.damping_grid[-1]
LEVEL, ITEMS = (0.0, 0.0), (0.0, 1.0)  # shares of the slopes of users and of items: 1.0 if biases are damped to it


def best_biases(evaluators):
    """Return the Trial of the best damped biases.

    Its candidate is (damping, trend): damping of users and items, from damping_grid; trend: see PreparationOptions.
    """
    search = Search([lambda candidate: held_out_biases(evaluators, *candidate)])
    flat = best_damping(search, LEVEL, RULES.first_damping)
    best = simplest_of([flat, best_damping(search, ITEMS, flat.candidate[0][0])])
    damping, (_, items) = best.candidate
    best = simplest_of([best, search.run((damping, (1.0, items)))])
    return best_of([best, search.run((NOTHING_ELSE, LEVEL))])


def best_damping(search, trend, users):
    """Return the best Trial over damping_grid, of the items first, with the damping `users` of the users."""
    items = best_of([search.run(((users, items), trend)) for items in RULES.damping_grid]).candidate[0][1]
    return best_of([search.run(((users, items), trend)) for users in RULES.damping_grid])


def is_default_suitable(estimator, ratings, settings, device):
    """Return True if the default settings.Settings suit Ratings.

    They suit if ratings are plenty and a few epochs on a sample clearly improve on damped biases. For very many ratings
    only the number is checked.
    """
    n = len(ratings)
    if is_doubtful(n, ratings.shape):
        return False
    if n >= RULES.very_many_ratings or not settings.biases or settings.solver != "sgd":
        return True
    with thread_count.limit_threads(1):
        train, held_out = folds(draw_sample(ratings, settings.seed, RULES.check_sample, least=2), settings.seed)[0]
        evaluator = RatingEvaluator(estimator, train, held_out, settings.seed, device)
        candidate = settings._replace(n_neighbors=0, n_factors=min(settings.n_factors, *train.shape))
        trial = train_candidate([evaluator], candidate, EarlyStopping(RULES.choice_patience))
        return trial.is_better(held_out_biases([evaluator], USUAL, ()), CLEAR)


def choose(estimator, ratings, settings, device, judged, progress):
    """Return the Choice for an estimator's settings.Settings and Ratings.

    Settings are unchanged if ratings are plenty or all options are set. Open ones are chosen on a sample of users; the
    number of epochs is then at least the usual one. judged: whether the user's own ratings judge every epoch, by which
    early stopping then works.
    """
    free, n = open_parameters(estimator), len(ratings)
    doubtful = bool(free) and not is_default_suitable(estimator, ratings, settings, device)
    stopping = settings.patience > 0 and not judged
    if not (doubtful or stopping):
        return Choice(settings, [], _usual(estimator, ratings, settings, free))
    if n < RULES.least_ratings:
        why = f"{n} ratings are too few to try anything on"
        return Choice(settings if wants_factors(estimator) else as_biases(settings), [], why)
    sample = draw_sample(ratings, settings.seed, RULES.choice_sample) if doubtful else ratings
    all_neighbors = settings.n_neighbors
    settings = settings._replace(n_neighbors=min(all_neighbors, sample.shape[1] - 1))  # it may lack some items
    with thread_count.limit_threads(1 if estimator.deterministic or len(sample) <= RULES.few_ratings else None):
        progress("choosing", 0, None, {})
        patience = settings.patience if stopping else RULES.choice_patience if "n_epochs" in free else 0
        evaluators = make_evaluators(estimator, sample, settings, device, stopping)
        search = make_search(evaluators, settings, patience, doubtful, progress)
        options = estimator, settings, search, evaluators, patience > 0
        chosen = choose_best(*options) if doubtful else _choose_epochs(settings, search)
    if chosen.settings.n_neighbors:
        chosen = chosen._replace(settings=chosen.settings._replace(n_neighbors=all_neighbors))
    if len(sample) < n and chosen.settings.epochs:  # the fewer ratings of an item, the sooner it is overfitted
        epochs = max(chosen.settings.epochs, settings.epochs)
        chosen = chosen._replace(settings=chosen.settings._replace(epochs=epochs))
    if search.budget.is_spent:
        chosen = chosen._replace(why=f"{chosen.why}; more would have taken too long")
    return chosen if judged else chosen._replace(settings=chosen.settings._replace(patience=0))


def make_evaluators(estimator, ratings, settings, device, stopping):
    """Return a list of RatingEvaluator on parts of Ratings; stopping: whether the parts are those of early stopping."""
    stopping_share = 0.05  # default fraction of the ratings that early stopping holds out
    share = (estimator.validation_fraction or stopping_share) if stopping else None
    options = settings.seed, device, settings.n_neighbors
    return [RatingEvaluator(estimator, *fold, *options) for fold in folds(ratings, settings.seed, share)]


def make_search(evaluators, settings, patience, is_limited, progress):
    """Return the Search over settings.Settings on all Evaluators at once, by their common number of epochs.

    Each candidate is stopped when it lags behind the best one before it. patience: epochs without a better one that end
    a candidate, 0 for never; is_limited: whether there is a budget; progress: as in fit.
    """
    training = settings._replace(n_factors=RULES.usual_factors, n_neighbors=RULES.usual_neighbors)
    budget = Budget.of_trainings(RULES.choice_epochs * work_of_epoch(evaluators, training))

    def evaluate(settings):
        facts = {"F": settings.n_factors, "K": settings.n_neighbors, "lambda": settings.regularization}
        leader, spent = search.best and curve_of(search.best), budget if is_limited else None
        return train_candidate(
            evaluators,
            settings,
            EarlyStopping(patience, leader=leader, margin=-RULES.least_gain, budget=spent),
            lambda epoch, rmse: progress("choosing", epoch, settings.epochs, {**facts, "rmse": rmse}),
        )

    search = Search([evaluate], budget=budget)
    return search


def choose_best(estimator, settings, search, evaluators, has_patience):
    """Return the Choice among candidates and damped biases.

    has_patience: whether a candidate's epochs are those of its best one, and not the settings'.
    """
    free, plain, first = open_parameters(estimator), None, settings._replace(held=True)
    if settings.biases:
        plain = best_biases(evaluators)
        first = first._replace(**dict(zip(("damping", "trend"), plain.candidate)))
    most = settings.epochs if has_patience else min(settings.epochs, RULES.most_choice_epochs)
    epochs = RULES.choice_epochs if "n_epochs" in free else most
    search.run_all(decays(first._replace(epochs=epochs), free))
    search.run_all(sizes(search.best.candidate._replace(epochs=epochs), free, evaluators[0].shape))
    if plain and search.best.mean > plain.mean:
        search.run_all([search.best.candidate._replace(held=False, epochs=epochs)])
    best, rows = search.best, [trial.row for trial in search.trials]
    chosen = best.candidate if has_patience else best.candidate._replace(epochs=settings.epochs)
    if plain and not wants_factors(estimator):
        rows.insert(0, plain.row)
        if not best.is_better(plain):
            why = f"of {len(rows)} candidates none predicted {len(plain.scores):,} ratings held out surely better"
            return Choice(as_biases(first), rows, why)
    why = f"best of {len(rows)} candidates on {len(best.scores):,} ratings held out, RMSE {best.row['rmse']:.4f}"
    return Choice(chosen, rows, why)


def _usual(estimator, ratings, settings, free):
    """Return the reason why nothing is tried."""
    if not free:
        is_adaptive = estimator.rates == "adaptive" and settings.solver == "sgd"
        return "named" if is_adaptive else "named, or usual for its rates and solver"
    level = density(len(ratings), ratings.shape)
    return f"usual for plenty of ratings ({level:.0f} or more a user and item)"


def as_biases(settings):
    """Return the settings of a model of damped biases alone."""
    return settings._replace(n_factors=1, n_neighbors=0, epochs=0)


def _choose_epochs(settings, search):
    """Return the Choice of early stopping: the best number of epochs."""
    trial = search.run(settings)
    why = f"best of {len(trial.row['curve'])} epochs on {len(trial.scores):,} ratings held out, then trained on all"
    return Choice(trial.candidate, [trial.row], why)
