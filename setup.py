"""Packages of gpukit: the folders of gpukit/, and those of cli/ as gpukit.cli. setup.cfg has everything else."""

from setuptools import find_packages, setup

setup(
    packages=find_packages(include=["gpukit", "gpukit.*"])
    + [f"gpukit.{name}" for name in find_packages(include=["cli", "cli.*"])],
    package_dir={"gpukit.cli": "cli"},
)
