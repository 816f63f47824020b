import pytest

import minidynamo


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Every test starts without captures, and leaves no log switched on."""
    monkeypatch.delenv("MINIDYNAMO_LOGS", raising=False)
    minidynamo._dynamo.reset()
    yield
    minidynamo._logging.set_logs()
    minidynamo._dynamo.reset()
