"""Makes the packages beside the tests importable; under the snapshot stress switch regions end where the switch says."""

import pytest

import minidynamo


def pytest_collection_modifyitems(items):
    if minidynamo._dynamo.config.snapshot_stress == 0:
        return
    skip = pytest.mark.skip(reason="regions end where the stress switch says")
    for item in items:
        if item.get_closest_marker("counts_regions"):
            item.add_marker(skip)
