"""Search: train candidates on splits of the data, compare them on the same held-out units, keep what was tried."""

import numpy as np

from gpukit.model_selection.trial import CLEAR, Budget, best_of


class Search:
    """Trials of candidates on the same splits.

    Parameters
    ----------
    evaluators : list of functions, one per split, that train a candidate and return its result
    summarize : function of a candidate and its results, of the first split on, that returns a Trial; by default the
        result is one
    budget : Budget that the evaluators spend
    report : function of the Trial of a new candidate

    Attributes
    ----------
    results : dict, {candidate: its results}
    trials : list of Trial, one per candidate, on the splits that it was first tried on
    """

    def __init__(self, evaluators, summarize=lambda candidate, results: results[0], budget=None, report=None):
        self.evaluators, self.summarize, self.report = evaluators, summarize, report or (lambda trial: None)
        self.budget, self.results, self.trials = budget or Budget(np.inf), {}, []

    @property
    def best(self):
        """The Trial with the largest mean, or None."""
        return best_of(self.trials) if self.trials else None

    def run(self, candidate, splits=1):
        """Return the Trial of a candidate on the first splits; it is trained once on each."""
        results = self.results.setdefault(candidate, [])
        is_new = not results
        results += [evaluate(candidate) for evaluate in self.evaluators[len(results) : splits]]
        trial = self.summarize(candidate, results[:splits])
        self.results.setdefault(trial.candidate, results)  # with the number of epochs that was found
        if is_new:
            self.trials.append(trial)
            self.report(trial)
        return trial

    def keep_best(self):
        """Forget all trials but the best, because results may be large; return it."""
        best = self.best
        self.trials, self.results = [best], {best.candidate: self.results[best.candidate]}
        return best

    def run_all(self, candidates, splits=1):
        """Try candidates until the budget is spent, at least one in all; return True if all were tried."""
        for candidate in candidates:
            if self.trials and self.budget.is_spent:
                return False
            self.run(candidate, splits)
        return True

    def compare(self, best, candidate):
        """Return the Trials of `best`, a Trial, and of a candidate.

        Further splits are used as long as the difference may be due to chance.
        """
        for splits in range(1, len(self.evaluators) + 1):
            one, other = self.run(best.candidate, splits), self.run(candidate, splits)
            mean, error = other.gain(one)
            if abs(mean) > CLEAR * error:
                break
        return one, other

    def climb(self, start, move, step, certain=1.0):
        """Return the best Trial of steps from a Trial along an axis, down or else up, as long as each is better.

        Parameters
        ----------
        start : Trial
        move : function of a candidate and a factor that returns another candidate
        step : float, factor of a step
        certain : float, standard errors by which a step is better
        """
        most_steps = 4
        for factor in (1.0 / step, step):
            best = start
            for _ in range(most_steps):
                if self.budget.is_spent:
                    return best
                best, trial = self.compare(best, move(best.candidate, factor))
                if not trial.is_better(best, certain):
                    break
                best = trial
            if best.candidate != start.candidate:
                break
        return best
