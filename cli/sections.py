"""Sections of options in the --help of commands that have many."""

import click

BASIC, ADVANCED, PAPERS = "Options", "Advanced options", "Options of the papers' algorithms"
SECTIONS = {  # of options with these names; others are in BASIC
    ADVANCED: (
        *("factors", "neighbors", "no_neighbors", "epochs", "learning_rate", "regularization", "early_stop"),
        *("loss", "unobserved_weight", "deterministic", "precision", "no_refit"),
        *("checkpoint", "resume", "seed", "ranks"),  # train-lshmf
        *("min_support", "popularity", "diversity"),  # recommend
        *("metric", "ndcg", "relevant", "ties", "scale", "null", "eps"),  # ranksvm
        *("nearest", "window", "holdout", "baselines", "confidence", "dtype", "tolerance"),  # impute
    ),
    PAPERS: (
        *("solver", "lsh_p", "lsh_q", "lsh_bits", "lsh_psi", "search", "hash"),
        *("rates", "beta", "influence_rate", "influence_regularization"),
        *("weights", "center", "lambda_decay", "iterations", "no_acceleration", "no_rank_phase", "basis_size"),
    ),
}


class Sectioned(click.Command):
    """A command whose --help lists options by section."""

    def format_options(self, ctx, formatter):
        """Write the options of each section in their order."""
        records = {BASIC: [], ADVANCED: [], PAPERS: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record:
                records[section_of(parameter.name)].append(record)
        for title, lines in records.items():
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)


def section_of(name):
    """Return the section of an option by its parameter's name."""
    return next((title for title, names in SECTIONS.items() if name in names), BASIC)
