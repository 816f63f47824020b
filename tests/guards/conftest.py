import sys
from pathlib import Path

import pytest

import minidynamo

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()
