"""docs/build.py, which is a script, as a module."""

import pytest
import support


@pytest.fixture(scope="session")
def build():
    return support.load_script("docs/build.py")
