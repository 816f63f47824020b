"""The programs of everyday_training.py: 20 losses in float64 beside torch's own, and which of them break, for what reason."""

import pytest

import minidynamo
from minidynamo import _C

torch = pytest.importorskip("torch")
import everyday_training as everyday  # noqa: E402

pytestmark = [
    pytest.mark.usefixtures("in_float64"),
    # Losses are returned with their histories.
    pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True to a scalar"),
]

# The reasons of breaks that remain.
BREAKS = {
    # loss.item() in the step
    "triplets": {"MD0018"},
    # x[mask], whose size is data
    "graph_network": {"MD0022", "MD0024"},
    "contrastive": {"MD0022", "MD0024"},
    # x[t] by a tensor without dims, of what has a history
    "chosen_by_index": {"MD0018", "MD0024"},
    # a write to the parameter whose data was stored before
    "sharpness_aware": {"MD0034"},
    # met once in a run of all tests, never when this module runs alone
    "q_learning": {"MD0024", "MD0044"},
    # the first call, which fills torch's table of implementations
    "normal_divergence": {"MD0024", "MD0040", "MD0044"},
    "packed_sequences": {"MD0007", "MD0012", "MD0024", "MD0025", "MD0068"},
    "distillation": {"MD0007", "MD0013", "MD0024", "MD0046", "MD0049"},
    "own_function": {"MD0007", "MD0024", "MD0034", "MD0046"},
}


def losses(name, compiles):
    torch.manual_seed(0)
    step, calls = everyday.PROGRAMS[name]()
    if compiles:
        step = minidynamo.compile(step)
    torch.manual_seed(1)
    return [float(step(*arguments)) for arguments in calls]


@pytest.mark.parametrize("name", everyday.PROGRAMS)
def test_losses_and_breaks(name):
    found = []
    breaks = _C.record_breaks(lambda: found.extend(losses(name, True)))
    assert found == pytest.approx(losses(name, False), rel=1e-12, abs=1e-12)
    others = [each for each in breaks if each["id"] not in BREAKS.get(name, set())]
    assert [(each["id"], each["user_stack"]) for each in others] == []


def test_each_exception_is_a_program():
    assert set(BREAKS) <= set(everyday.PROGRAMS)
