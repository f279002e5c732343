"""Checkpoints of both factorizations, resumed on the ratings of their training."""

import copy
import shutil
import tempfile
from pathlib import Path

from fuzz.judges import models as judges
from fuzz.kinds import models, ratings
from fuzz.mutate import container
from fuzz.registry import Kind, single


def samples(name):
    """A function that makes checkpoints of a class, with and without a best state."""

    def make():
        from gpukit.factorization.model import saving
        from gpukit.factorization.settings import Choice
        from gpukit.ratings.adopt import normalize_weights

        model = copy.deepcopy(models.fitted(name))
        sizes = {"n_factors": model.user_factors_.shape[1], "n_neighbors": model.neighbors_.shape[1]}
        choice = Choice(model.check(len(ratings.made()))._replace(**sizes), [], "named")
        data, made = saving.fingerprint(normalize_weights(ratings.made())), []  # as fit trains on them
        for best, rmse in ((None, None), (model._state, 0.75)):
            model.history_ = [{"epoch": 1, "seconds": 0.5, "rmse": rmse}]
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "ck"
                saving.save_checkpoint(path, model, model._state, best, 1, data, choice)
                made.append(single("half.ck", path.read_bytes()))
        return made

    return make


def resumed(name):
    """Return a function that resumes a checkpoint to the end."""

    def answer(path, use):
        import gpukit

        more = {"n_neighbors": 3, "lsh_q": 8} if name == "LSHMF" else {}
        model = getattr(gpukit, name)(**models.SMALL, **more)
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(path, Path(folder) / "ck")
            model.fit(ratings.made(), checkpoint=Path(folder) / "ck", resume=True)
            model.save(Path(folder) / "m")
            found = models.factorization(Path(folder) / "m", use)
        found["facts"] = {"epochs": [epoch["epoch"] for epoch in model.history_]}
        return found

    return answer


KINDS = [
    Kind(f"checkpoint-{name}", samples(name), container.MODEL, resumed(name), judges.resumed, same=True, share=0.5)
    for name in ("MatrixFactorization", "LSHMF")
]
