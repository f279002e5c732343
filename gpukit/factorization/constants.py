"""Constants that decide what a user of the factorization gets, in one table with their meanings.

They were found by trial on MovieLens 1M and on smaller sets: docs/factorization.md has the tables of the choice for
ratings and clicks, docs/recommendations.md those of the lists, docs/updates.md those of the updates. Default rates are
in solvers/rates.py; sizes of blocks and memory are where they are used.
"""

from dataclasses import dataclass

DAMPING = 5.0  # of the bias-only predictor: number of ratings without deviation that is added to every row and column
USUAL = (DAMPING, DAMPING)  # of users and of items; the default


@dataclass
class Decisions:
    """Values that a choice for the user depends on; see the comments."""

    # Choice for ratings (choose.py)
    usual_factors: int = 32
    usual_neighbors: int = 32
    ratings_a_row: int = 100  # ratings of a user (or item, if those are more) from which the defaults suit
    few_ratings: int = 200_000  # trained on within a second by one thread: choose always, and tune all on all folds
    very_many_ratings: int = 5_000_000  # from which checking a sample takes a large part of a training on a GPU
    least_ratings: int = 30  # minimum number of ratings for a hold-out
    check_sample: int = 50_000  # approximate ratings of the sample for the defaults: a twentieth of MovieLens 1M
    choice_sample: int = 1_000_000  # ratings on which candidates are tried, at most
    decays: tuple = (0.06, 0.04, 0.09)  # regularization of the candidates
    choice_factors: tuple = (32, 128)
    choice_epochs: int = 20
    choice_patience: int = 2
    most_choice_epochs: int = 50  # of a candidate if the user sets more
    least_gain: float = 0.001  # relative improvement of RMSE that a candidate must be able to reach, or it is stopped
    damping_grid: tuple = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0, 100.0, 1e3, 1e6)
    first_damping: float = 3.0  # of the users while that of the items is chosen
    part_share: float = 0.1  # fraction of the ratings in one held-out part
    largest_part_share: float = 0.2  # its maximum, for few ratings
    judging_ratings: int = 6_000  # target over all parts
    most_judging: int = 50_000  # maximum of one part
    most_parts: int = 5

    # Choice for clicks (implicit/)
    held_out_share: float = 0.2  # of a user's clicks, rounded: one of three, but none of two
    least_users: int = 20  # with a held-out click
    click_sample: int = 100_000  # clicks for all candidates
    sample_work: float = 4e8  # work of a training on them, about half a second
    large_click_sample: int = 300_000  # for a few more of them
    small_click_sample: int = 33_000  # for additions
    ranked_pairs: int = 3_000_000  # limit of (user, item) pairs that are ranked per candidate
    least_judges: int = 100  # users, whatever that limit
    judged_length: int = 20  # of the lists that are judged
    reported_length: int = 10  # of those that are reported
    ranking_work: int = 12  # units of work to rank a pair; a unit is a multiplication of training
    search_factors: int = 64  # during the search of regularization and of the weight of unobserved pairs
    click_factors: tuple = (128, 256, 512)  # after it
    click_epochs: tuple = (4, 8, 12)  # of a trial: at first, and as long as more are better
    click_draws: int = 2  # of held-out clicks, for the search
    popularity_ratio: float = 0.1  # root mean square of popularity in the score, relative to that of the model
    second_ratio: float = 0.5  # the same, of a model with sampled negatives
    second_factors: int = 64  # of that model
    item_weight_ratios: tuple = (0.25, 0.5)  # the same, of item weights
    addition_growth: float = 0.3  # of these with the number of clicks, as a power: of 25,000 to 80,000 clicks
    weight_neighbors: int = 200  # weights of an item if not all fit the memory
    ridge_step: float = 3.0  # factor of a step of the search for the regularization of item weights
    ridge_trials: int = 6  # of that search, about
    solve_rounds: int = 2  # of an update, over both sides
    late_click_epochs: int = 4  # of an update with sampled negatives

    # Lists (lists/)
    rating_slope: float = 0.15  # s of the weight 1 + s z of a rating
    least_rating_weight: float = 0.1
    list_factors: int = 64
    list_epochs: int = 4
    list_regularization: float = 0.005
    list_unobserved_weight: float = 0.3
    list_exponent: float = 1.0
    diversity_pool: int = 5  # items of a user that diversity chooses from, per item of the list

    # Updates (online/), found on MovieLens 1M, in 20 parts and by the paper's split
    most_deviations: float = 1000.0  # standard deviations from the mean; farther ratings are not of the same scale
    least_new: int = 10  # new ratings for a comparison of scales
    least_known: int = 30  # known ratings for it
    late_epochs: int = 2  # epochs of an update: a training's last ones, or earlier ones by late_rate
    late_rate: float = 0.45  # share of the initial rate there; at 100 million ratings the last epochs have 0.005
    growth_part: int = 25  # a model is retrained once its ratings have grown by a 25th since the last training

    # Tuning (tuning.py)
    tuning_patience: int = 5  # epochs without a lower RMSE that end a training
    finalist_margin: float = 0.01  # relative RMSE margin of the settings that run on all folds
    most_finalists: int = 5
    grid_factors: tuple = (16, 64, 256)
    grid_neighbors: tuple = (0, 32)
    finer_steps: tuple = (1.25, 1.12)  # of regularization around the best of the default grid, one per round

    # Epochs, shared training, memory
    ratings_a_worker: int = 1200  # fewer workers for fewer ratings, since long chunks learn best
    length_classes: int = 8  # of length per octave; with more, chunks of a row are concurrent more often
    shortest_chunk: int = 4  # ratings of a chunk, at least
    longest_chunk: int = 256  # and at most
    timed_from: int = 1 << 25  # ratings, at least; for fewer, the attempts take longer than they save
    hogwild_batch: int = 256  # ratings that a worker takes at once (Xie et al. 2017)
    hogwild_meetings: float = 1.0  # other workers on a worker's rows, on average; at 2 RMSE increases
    gradient_steps: int = 3  # of conjugate gradients per half epoch, from the current row (Takacs et al. 2011)
    direct_factors: int = 32  # factors up to which elimination is faster; measured
    inverse_error: float = 1e-3  # largest relative error of the inverse, on a vector of ones, in single precision
    inverse_rate: int = 150  # multiplications of an inverse in the time of one of training; measured on a core
    product_rate: int = 4  # the same, of a sparse product
    factor_gain: float = 1.0 / 32.0  # decrease of a row's adaptive rate with its squared errors
    ease_growth: float = 0.5  # power of the number of clicks with which the best lambda of ease grows
    curvature: float = 0.2  # of a row's squared error, as a share of the mean |p|^2 of the other side's factors
    factor_sample: int = 1 << 16  # rows of the major side that estimate the length of factors
    paced_epochs: int = 100  # epochs with own paces; later rates are so small that the last paces serve for all
    first_exchanges: int = 16  # in a part of the first epoch, at most
    later_exchanges: int = 6  # in a part of a later one, at most
    popular_part: int = 8  # one row in this number is in every exchange
    whole_exchange: int = 3  # all rows are in each exchange of this number
    half_from: int = 5_000_000  # ratings; with fewer an epoch is about a millisecond either way
    ratings_a_thread: int = 50_000  # of an epoch; for fewer, synchronization may cost more than a thread saves
    checkpoint_seconds: float = 60.0  # between checkpoints
    tuning_seconds: float = 900.0  # after which no training begins
    trend_sweeps: int = 6  # levels converge more slowly than biases around a fixed mean
    bias_sweeps: int = 3  # over both sides' biases
    reserved_growth: float = 1.25  # reserved rows per needed row, when a table is moved
    chunk_rounds: int = 3  # chunks of a worker in a block, at least; with 1.2, SGD diverges
    least_blocks: int = 8  # so that the first transfers of an epoch are short


RULES = Decisions()
