"""Imputation of one tensor on its graph and device: settings, completion, fitted attributes."""

import warnings
from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit.device.workspace import Workspace
from gpukit.graphs.basis import GraphBasis
from gpukit.imputation import inputs, serve
from gpukit.imputation.auto import plan as planned
from gpukit.imputation.auto import run as auto
from gpukit.imputation.auto.uncertainty import least_of
from gpukit.imputation.distributed.completion import Worker
from gpukit.imputation.options import FittedOptions
from gpukit.imputation.problem import as_problem, in_units, units_for
from gpukit.imputation.serve import Held
from gpukit.imputation.spectral import choose
from gpukit.imputation.spectral.choose import competes, pack_setting, unpack_setting
from gpukit.imputation.spectral.run import (
    Outcome,
    Place,
    Setting,
    impute,
    missing_shares,
    vertex_confidence,
)
from gpukit.parallel import ALONE
from gpukit.timing import work_clock

AUTO, SPECTRAL = "auto", "spectral"


class Run(NamedTuple):
    """A prepared imputation: estimator.Settings, spectral.run.Place, inputs.Taken."""

    settings: object
    place: Place
    taken: inputs.Taken

    @property
    def data(self):
        """inputs.Data in order of time."""
        return self.taken.data

    def problem(self):
        """Return the Problem on which methods are judged."""
        result = as_problem(self.taken.adjacency, self.data, self.place, self.settings, self.taken.clock.at)
        return in_units(result, units_for(result))

    def compare(self, setting):
        """Return [judging.Row] of 'spectral' with a Setting and of the simple methods, the least error first."""
        problem = self.problem()._replace(place=self.place.alone)
        with self.place.workspace:
            return auto.decide(problem, SPECTRAL, {SPECTRAL: pack_setting(setting)}).rows

    def fitted(self, progress=None):
        """Return {attribute: value} of a fitted GraphImputer."""
        attributes, taken = self.found(progress), self.taken
        filled, spread = taken.fit_types(attributes.pop("completed_"), self.settings), attributes.pop("deviation_")
        return attributes | {
            "completed_": taken.back(filled),
            "deviation_": taken.back(spread, known=False),
            "notes_": [*attributes["notes_"], *taken.notes],
            "vertices_": taken.vertices,
            "_is_table": taken.is_table,
            "_is_frame": taken.is_frame,
            "_held": Held(filled, spread, serve.mask_like(taken.data), taken.clock.at, taken.has_offset),
        }

    def found(self, progress):
        """Return fitted(), by vertex and in order of time."""
        settings, place, data = self.settings, self.place, self.data
        with place.workspace, devices.translate_memory_errors(place.device, "The imputation"):
            if data.complete or settings.method == SPECTRAL:
                return self.by_spectrum(decide(settings, place, data, progress), progress)
            problem = self.problem()
            known, spectral = {}, competes(problem)
            if spectral:
                place.basis.get(place.workspace)  # before methods run in parallel
            if settings.method == AUTO and spectral and not problem.ordered and problem.units is None:
                decided = decide(settings, place, data, progress)
                if choose.is_solved(decided.trials):
                    return self.by_spectrum(decided, progress) | {"notes_": auto.notes_of(problem)}
                known = {SPECTRAL: pack_setting(decided.setting)}
            plan = auto.decide(problem._replace(place=place.alone), settings.method, known, progress)
            if known and [name for name, _ in plan.members] == [SPECTRAL]:
                return self.by_spectrum(decided, progress, problem, plan)
            return self.by_plan(problem, plan)

    def by_spectrum(self, decided, progress, problem=None, plan=None):
        """Return the attributes of the paper's algorithm alone.

        decided: of decide(); plan: the plan of a problem that selected this algorithm.
        """
        setting, trials = decided
        data = self.data
        if data.complete:
            outcome = Outcome(np.zeros(0), serve.empty_fit(), {})
        else:
            outcome = impute(self.place, setting, data.tensor, data.mask, progress=progress)
        if not trials:
            warn_of_ranks(outcome.fit, min(data.tensor.shape[1:]))
        attributes = self.kept(setting, outcome, trials)
        if plan is not None:
            return attributes | self.by_estimates(problem, plan, [outcome.estimate.ravel().astype(np.float64)])
        whole = serve.fill_estimate(data, outcome.estimate)
        attributes["completed_"] = serve.clip_to_bounds(whole, data, self.settings)
        return attributes | attributes_without_plan(data, trials)

    def by_plan(self, problem, plan):
        """Return the attributes of a plan."""
        start = work_clock()
        estimates = planned.estimates_of(problem, plan)
        outcome = Outcome(None, serve.empty_fit(), {"filling": work_clock() - start})
        attributes = self.kept(spectral_setting(plan, self.settings), outcome, [])
        return attributes | self.by_estimates(problem, plan, estimates)

    def by_estimates(self, problem, plan, estimates):
        """Return the attributes of a plan from its members' estimates [(values,)]."""
        filled, deviation = serve.combine_estimates(problem, plan, estimates, self.data, self.settings)
        return {"completed_": filled, "deviation_": deviation, "plan_": plan, **planned.attributes_of(plan)}

    def kept(self, setting, outcome, trials):
        """Return the attributes that all methods have."""
        place, basis = self.place, self.place.basis
        result = {"basis": basis.get().seconds} if basis.is_made else {}
        return {
            "_confidence": vertex_confidence(basis, missing_shares(self.data.mask)) if basis.is_made else None,
            "history_": outcome.fit.history,
            "trials_": trials,
            "ranks_": outcome.fit.ranks,
            "rank_phase_": outcome.fit.rank_phase,
            "weights_": setting.weights,
            "exponent_": setting.exponent,
            "center_": setting.center,
            "options_": setting.options,
            "_basis": basis,
            "adjacency_": self.taken.adjacency,
            "stages_": {**result, **outcome.seconds},
            "device_": str(place.device),
            "_dtype": place.dtype,
            "_fitted_options": FittedOptions(*(getattr(self.settings, name) for name in FittedOptions._fields)),
        }


def prepare(settings, device, graph, tensor, mask, times=None, team=ALONE):
    """Return the Run of GraphImputer.fit's arguments on a device, see device.resolve; over ranks, on rank 0."""
    device, workspace = devices.resolve(device), Workspace()
    taken = inputs.take_fit_inputs(graph, tensor, mask, times)
    taken.check_bounds(settings, is_fit=True)
    basis = GraphBasis(taken.adjacency, settings.basis_size, device)
    if settings.method == SPECTRAL:
        basis.get(workspace)
    worker = None if team.size == 1 else Worker(team, device, workspace)
    return Run(settings, Place(basis, device, settings.dtype, workspace, worker), taken)


def attributes_without_plan(data, trials):
    """Return a plan's attributes for the paper's algorithm alone; the deviation is that of its trials."""
    known = data.tensor[data.mask].astype(np.float64)
    known -= known.mean() if np.ptp(known) else 0.0  # a level far above the spread is no size of errors
    ratio = (np.pi / 2) ** 0.5  # standard deviation over mean |error| of a normal distribution
    error = max(ratio * trials[0].error, least_of(known, known.size)) if trials else np.nan
    return {"deviation_": serve.place_values(data, error), "plan_": None, **planned.attributes_of(None)}


def spectral_setting(plan, settings):
    """Return the Setting of the paper's algorithm in a plan.

    Without one it is that of the parameters.
    """
    result = dict(plan.members).get(SPECTRAL)
    if result:
        return unpack_setting(result)
    return choose.without_auto(Setting(settings.weights, settings.exponent, settings.center, settings.options))


def warn_of_ranks(result, side):
    """Warn of large ranks that were not validated on hidden values.

    result: path.Fit; side: the smaller side of the slices.
    """
    rank = result.history.mean_rank[-1] if len(result.history.mean_rank) else 0.0
    if result.rank_phase != "done" and side > 1 and 2 * rank > side:
        warnings.warn(
            f"the spectral slices ended with mean rank {rank:.1f} of {side}: the last thresholds are so small that "
            "noise is kept too. Stop at the least error on hidden values (weights or center 'auto'), or use fewer "
            "iterations or a larger decay.",
            stacklevel=4,
        )


def decide(settings, place, data, progress):
    """Return choose.Chosen: a Setting without 'auto', and its trials."""
    setting = Setting(settings.weights, settings.exponent, settings.center, settings.options)
    if data.complete or "auto" not in (setting.weights, setting.center):
        return choose.Chosen(choose.without_auto(setting), [])
    return choose.choose(place.alone, setting, data, settings.seed, progress)
