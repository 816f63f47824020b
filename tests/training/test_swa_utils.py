"""Averaged models and recomputed running numbers against torch's."""

import numpy as np
import pytest

import minidynamo as md

torch = pytest.importorskip("torch")


def model_of(library):
    nn = library.nn
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)).double()
    random = np.random.default_rng(0)
    with library.no_grad():
        for parameter in net.parameters():
            parameter.copy_(library.as_tensor(random.standard_normal(tuple(parameter.shape))))
    return net


def change(library, net, seed):
    random = np.random.default_rng(seed)
    with library.no_grad():
        for tensor in (*net.parameters(), *net.buffers()):
            if tensor.is_floating_point():
                tensor.copy_(library.as_tensor(random.uniform(0.5, 1.5, tuple(tensor.shape))))
            else:
                tensor.add_(seed)


def averages(library, options):
    net = model_of(library)
    averaged = library.optim.swa_utils.AveragedModel(net, **options(library.optim.swa_utils))
    for seed in range(1, 5):
        change(library, net, seed)
        averaged.update_parameters(net)
    averaged.eval()
    state = {name: tensor.tolist() for name, tensor in averaged.state_dict().items()}
    return state, averaged(library.ones(2, 3, dtype=library.float64)).tolist()


OPTIONS = {
    "equal": lambda swa: {},
    "equal with buffers": lambda swa: {"use_buffers": True},
    "swa_avg_fn": lambda swa: {"avg_fn": swa.get_swa_avg_fn()},
    "swa_multi_avg_fn": lambda swa: {"multi_avg_fn": swa.get_swa_multi_avg_fn()},
    "ema_avg_fn": lambda swa: {"avg_fn": swa.get_ema_avg_fn(0.9)},
    "ema_multi_avg_fn with buffers": lambda swa: {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9), "use_buffers": True},
    "own": lambda swa: {"avg_fn": lambda average, value, count: average * 0.5 + value * count},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_averages(name):
    (mine, ours), (other, theirs) = averages(md, OPTIONS[name]), averages(torch, OPTIONS[name])
    assert mine.keys() == other.keys()
    # torch computes the weight of this function in float32.
    tolerance = 1e-7 if name == "swa_multi_avg_fn" else 1e-12
    for key in mine:
        np.testing.assert_allclose(np.array(mine[key]), np.array(other[key]), rtol=tolerance)
    np.testing.assert_allclose(np.array(ours), np.array(theirs), rtol=tolerance * 100)


def test_the_average_is_apart_from_the_model():
    net = model_of(md)
    averaged = md.optim.swa_utils.AveragedModel(net, device="cpu")
    averaged.update_parameters(net)
    change(md, net, 1)
    assert averaged.module[0].weight.tolist() != net[0].weight.tolist()


@pytest.mark.parametrize("pairs", [False, True])
def test_update_bn(pairs):
    results = []
    for library in (md, torch):
        net = model_of(library).eval()
        random = np.random.default_rng(5)
        batches = [library.as_tensor(random.standard_normal((6, 3))) for _ in range(3)]
        library.optim.swa_utils.update_bn([(batch, 0) for batch in batches] if pairs else batches, net, device="cpu")
        assert not net.training and net[1].momentum == 0.1
        results.append([tensor.tolist() for tensor in net.buffers()])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(np.array(ours), np.array(theirs), rtol=1e-12)
    md.optim.swa_utils.update_bn([], md.nn.Linear(2, 2))


def test_wrong_arguments():
    for swa, make in ((md.optim.swa_utils, md.nn.Linear), (torch.optim.swa_utils, torch.nn.Linear)):
        for decay in (-1, 2):
            for function in (swa.get_ema_avg_fn, swa.get_ema_multi_avg_fn):
                with pytest.raises(
                    ValueError, match=rf"Invalid decay value {decay} provided. Please provide a value in \[0,1\]"
                ):
                    function(decay)
        with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn should be provided"):
            swa.AveragedModel(make(1, 1), avg_fn=swa.get_ema_avg_fn(), multi_avg_fn=swa.get_ema_multi_avg_fn())
