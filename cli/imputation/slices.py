"""The option --slice MxN: the shape of a vertex's matrix."""

import click


class SliceShape(click.ParamType):
    """Parameter type MxN: two positive integers, as (m, n)."""

    name = "MxN"

    def convert(self, value, param, ctx):
        if isinstance(value, tuple):
            return value
        m, _, n = value.lower().replace("×", "x").partition("x")
        if not (m.isdecimal() and n.isdecimal() and int(m) and int(n)):
            self.fail(f"{value!r} is not rows x columns of a slice, such as 50x50.", param, ctx)
        return int(m), int(n)


def slices(help_text):
    """Return the option --slice MxN, parameter slice_shape: (m, n) or None."""
    return click.option("--slice", "slice_shape", type=SliceShape(), metavar="MxN", help=help_text)
