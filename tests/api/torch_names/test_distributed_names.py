"""Names of torch.distributed that need processes: they can be imported, named and asked, and say so when called."""

import importlib

import pytest

import minidynamo

MODULES = {
    "device_mesh": "DeviceMesh init_device_mesh",
    "tensor": "DTensor distribute_tensor",
    "tensor.parallel": "ColwiseParallel RowwiseParallel parallelize_module",
    "tensor.parallel.style": "SequenceParallel",
    "_tensor": "DTensor",
    "fsdp": "FullyShardedDataParallel FSDPModule fully_shard",
    "fsdp.fully_sharded_data_parallel": "FullyShardedDataParallel",
    "fsdp.sharded_grad_scaler": "ShardedGradScaler",
    "fsdp.wrap": "wrap",
    "checkpoint": "save load FileSystemReader",
    "checkpoint.default_planner": "DefaultLoadPlanner",
    "checkpoint.state_dict": "get_state_dict",
    "optim": "ZeroRedundancyOptimizer DistributedOptimizer",
    "pipelining": "pipeline ScheduleGPipe",
    "rpc": "rpc_sync RRef",
    "nn.functional": "all_gather all_reduce",
    "algorithms.join": "Join",
}
CALLS = [(module, name) for module, names in MODULES.items() for name in names.split()]


@pytest.mark.parametrize(("module", "name"), CALLS)
def test_calls_say_that_there_is_one_process(module, name):
    found = importlib.import_module(f"minidynamo.distributed.{module}")
    with pytest.raises(RuntimeError, match="minidynamo runs in one process"):
        getattr(found, name)(None)
    theirs = pytest.importorskip(f"torch.distributed.{module}")
    assert hasattr(theirs, name)


def test_classes_are_for_isinstance():
    d = minidynamo.distributed
    assert not isinstance(minidynamo.nn.Linear(1, 1), d.fsdp.FullyShardedDataParallel)
    assert issubclass(d.fsdp.FullyShardedDataParallel, minidynamo.nn.Module)
    assert not isinstance(minidynamo.ones(1), d.tensor.DTensor)


@pytest.mark.filterwarnings("ignore")
def test_values_as_torch():
    found = []
    for name in ("minidynamo", "torch"):
        pytest.importorskip("torch")
        fsdp = importlib.import_module(f"{name}.distributed.fsdp")
        wrap = importlib.import_module(f"{name}.distributed.fsdp.wrap")
        tensor = importlib.import_module(f"{name}.distributed.tensor")
        t = importlib.import_module(name)
        block = t.nn.Linear(2, 2)
        found.append(
            [
                [each.name for each in fsdp.ShardingStrategy],
                fsdp.MixedPrecision().cast_root_forward_inputs,
                fsdp.FullStateDictConfig(offload_to_cpu=True, rank0_only=True).rank0_only,
                fsdp.CPUOffload().offload_params,
                tensor.Shard(1) == tensor.Shard(1),
                tensor.Shard(1) == tensor.Shard(0),
                [tensor.Shard(1).is_shard(), tensor.Shard(1).is_shard(0), tensor.Replicate().is_replicate()],
                wrap.transformer_auto_wrap_policy(block, False, 1, {t.nn.Linear}),
                wrap.transformer_auto_wrap_policy(block, False, 1, {t.nn.Conv2d}),
                wrap.size_based_auto_wrap_policy(block, False, 200, min_num_params=100),
                wrap.size_based_auto_wrap_policy(block, True, 20, min_num_params=100),
            ]
        )
    assert found[0] == found[1]


def test_state_dict_of_a_model():
    state = minidynamo.distributed.checkpoint.state_dict
    model = minidynamo.nn.Linear(2, 2)
    model.bias.requires_grad_(False)
    assert list(state.get_model_state_dict(model)) == ["weight", "bias"]
    frozen = state.StateDictOptions(ignore_frozen_params=True)
    assert list(state.get_model_state_dict(model, options=frozen)) == ["weight"]
    other = minidynamo.nn.Linear(2, 2)
    state.set_model_state_dict(other, state.get_model_state_dict(model))
    assert other.weight.tolist() == model.weight.tolist()


def test_activation_checkpointing():
    from minidynamo.distributed.algorithms._checkpoint import checkpoint_wrapper as c

    minidynamo.manual_seed(0)
    model = minidynamo.nn.Sequential(minidynamo.nn.Linear(3, 3), minidynamo.nn.Tanh(), minidynamo.nn.Linear(3, 1))
    x = minidynamo.randn(4, 3)
    model(x).sum().backward()
    wanted = [each.grad.clone() for each in model.parameters()]
    model.zero_grad()
    c.apply_activation_checkpointing(model, check_fn=lambda module: isinstance(module, minidynamo.nn.Linear))
    assert [type(each).__name__ for each in model] == ["CheckpointWrapper", "Tanh", "CheckpointWrapper"]
    model(x).sum().backward()
    for each, grad in zip(model.parameters(), wanted, strict=True):
        assert minidynamo.allclose(each.grad, grad)


def test_main_functions_are_recorded():
    from minidynamo.distributed.elastic.multiprocessing.errors import record

    assert record(len) is len
