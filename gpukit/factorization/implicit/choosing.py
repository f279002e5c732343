"""What the user left open of the settings for clicks."""

from gpukit.factorization.choose.chosen import Choice


def choose(estimator, clicks, settings, device, progress):
    """The choose.chosen.Choice for an estimator's settings.Settings and clicks."""
    return Choice(settings, [], "named, or usual for its solver")
