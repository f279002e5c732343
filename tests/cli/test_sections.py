"""Sections of options in --help."""

import importlib

import click
import pytest

from gpukit.cli.main import VERBS
from gpukit.cli.options import ADVANCED, BASIC, FEW, PAPERS, SECTIONS, section_of

COMMANDS = {
    verb: getattr(importlib.import_module(f"gpukit.cli.{file}"), file.split(".")[-1])
    for verb, (_, file) in VERBS.items()
}
SECTIONED = {verb: command for verb, command in COMMANDS.items() if len(command.params) > FEW}


def test_long_commands_have_sections():
    texts = {verb: command.get_help(click.Context(command)) for verb, command in COMMANDS.items()}
    assert {verb for verb, text in texts.items() if ADVANCED in text} == set(SECTIONED) and len(SECTIONED) > 3


def test_every_name_is_an_option_once():
    names = [name for names in SECTIONS.values() for name in names]
    assert len(set(names)) == len(names)
    assert set(names) <= {parameter.name for command in SECTIONED.values() for parameter in command.params}


@pytest.mark.parametrize("verb", SECTIONED)
def test_every_option_is_in_its_section(verb):
    command = SECTIONED[verb]
    with click.Context(command, info_name=verb, help_option_names=["-h", "--help"]) as context:
        text = command.get_help(context)
        options = {p.name: p for p in command.get_params(context) if isinstance(p, click.Option)}
    section, shown = None, []
    for line in text.splitlines():
        section = line[:-1] if line.startswith((BASIC, ADVANCED)) else section
        if section and line.startswith("  -"):
            (name,) = [name for name, option in options.items() if option.opts[-1] in line.replace(",", "").split()[:2]]
            shown.append((name, section))
    assert sorted(shown) == sorted((name, section_of(name)) for name in options)
    assert len({section for _, section in shown}) > 1 and PAPERS.startswith(BASIC)
