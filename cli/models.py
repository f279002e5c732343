"""What the verbs that use a trained model share."""

import click

from gpukit.cli import report

titles = click.option("--titles", metavar="FILE", help="Titles to show: a file of item and title.")


def open_model(path, device, stages):
    """(fitted estimator in the file path, Device that it will work on)."""
    from gpukit.device import resolve
    from gpukit.persist import load_model

    chosen = resolve(device)
    stages.done("start")
    model = load_model(path).set_params(device=device)
    stages.done("reading")
    return model, chosen


def read_title_of(path):
    """{item id as text: title} of a titles file; empty without one."""
    if path is None:
        return {}
    from gpukit.datasets import read_titles

    return {str(item): title for item, title in read_titles(path).items()}


def closing_remark(device, stages, quiet):
    """Which device did the work and how long its parts took, on stderr."""
    report.remark(f"On {device}. {stages.line()}", quiet)
