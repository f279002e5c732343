"""docs/build.py, which is a script, as a module."""

import importlib.util

import pytest


@pytest.fixture(scope="session")
def build(root):
    spec = importlib.util.spec_from_file_location("docs_build", root / "docs" / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
