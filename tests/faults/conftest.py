"""One rig for a file of tests: what one test leaves behind has to stand the next one too."""

import pytest

from tests.faults.rig import Rig


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    with Rig(tmp_path_factory.mktemp("rig")) as rig:
        yield rig


@pytest.fixture(autouse=True)
def all_invariants_hold_in_the_end(request):
    """After each test: fair weather, an empty house, and nothing that must never be."""
    yield
    if "rig" in request.fixturenames:
        rig = request.getfixturevalue("rig")
        rig.settle()
        rig.check()
