"""Packages of gpukit: the folders of gpukit/, and those of cli/ as gpukit.cli; its description. The rest: setup.cfg."""

import re
from pathlib import Path

from setuptools import find_packages, setup

LINK = re.compile(r"\[([^\]]+)\]\((?!https?://)([^)#]+)[^)]*\)")  # to a file of the repository


def describe_package():
    """Return README.md with paths in place of links to files, which an index page does not have."""
    text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    return LINK.sub(lambda link: link[2] if link[1] == link[2] else f"{link[1]} ({link[2]})", text)


setup(
    long_description=describe_package(),
    long_description_content_type="text/markdown",
    packages=find_packages(include=["gpukit", "gpukit.*"])
    + [f"gpukit.{name}" for name in find_packages(include=["cli", "cli.*"])],
    package_dir={"gpukit.cli": "cli"},
)
