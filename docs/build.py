"""Writes what is generated in docs/: cli.md, every command's --help. `make docs` runs it; a gate compares."""

from pathlib import Path

import click

HEAD = """# Commands

Generated from `--help` by docs/build.py (`make docs`); do not edit.
"""


def cli_reference():
    """The text of docs/cli.md: the group's help, then every verb's whose file is there."""
    from gpukit.cli.main import VERBS, gpukit

    with click.Context(gpukit, info_name="gpukit", max_content_width=100, terminal_width=100) as ctx:
        parts = [HEAD, section("gpukit", gpukit.get_help(ctx))]
        for verb in VERBS:
            command = gpukit.get_command(ctx, verb)
            with click.Context(command, info_name=verb, parent=ctx, max_content_width=100, terminal_width=100) as inner:
                parts.append(section(f"gpukit {verb}", command.get_help(inner)))
    return "\n".join(parts)


def section(title, text):
    """A heading and a help text as it is printed."""
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join([f"## {title}", "", "```", *lines, "```", ""])


if __name__ == "__main__":
    (Path(__file__).parent / "cli.md").write_text(cli_reference(), encoding="utf-8")
