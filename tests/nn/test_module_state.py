"""state_dict and load_state_dict: hooks, extra state, classes that load themselves; other methods of Module."""

import pytest

import minidynamo as md
from minidynamo import nn


def test_hooks_of_state_dict():
    module, seen = nn.Sequential(nn.Linear(2, 2)), []
    module.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append((type(m).__name__, prefix, keep)))
    module[0].register_state_dict_post_hook(lambda m, state, prefix, local: state.update({prefix + "more": local}))
    state = module.state_dict(prefix="a.")
    assert seen == [("Sequential", "a.", False)] and list(state) == ["a.0.weight", "a.0.bias", "a.0.more"]
    assert state["a.0.more"] == {"version": 1} and state._metadata["a.0"] == {"version": 1}


def test_a_post_hook_of_state_dict_returns_nothing():
    module = nn.Linear(2, 2)
    module.register_state_dict_post_hook(lambda *args: {})
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        module.state_dict()


def test_hooks_of_load_state_dict():
    module, seen = nn.Linear(1, 1), []

    def rename(module, state_dict, prefix, local, strict, missing, unexpected, errors):
        seen.append((type(module).__name__, prefix, strict))
        state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")

    handle = module.register_load_state_dict_pre_hook(rename)
    module.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    given = {"w": md.ones(1, 1)}
    assert module.load_state_dict(given).missing_keys == [] and list(given) == ["w"]
    assert module.weight.item() == 1 and seen == [("Linear", "", True)]
    handle.remove()
    with pytest.raises(RuntimeError, match="Unexpected key"):
        module.load_state_dict(given)


def test_extra_state():
    class Counted(nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    a, b = nn.Sequential(Counted()), nn.Sequential(Counted())
    a[0].count = 3
    state = a.state_dict()
    assert list(state) == ["0._extra_state"]
    b.load_state_dict(state)
    assert b[0].count == 3
    with pytest.raises(RuntimeError, match='Missing key.*"0._extra_state"'):
        b.load_state_dict({})
    with pytest.raises(RuntimeError, match='Unexpected key.*"_extra_state"'):
        nn.Linear(1, 1).load_state_dict({**nn.Linear(1, 1).state_dict(), "_extra_state": 1})


def test_a_class_loads_itself():
    class Old(nn.Linear):
        _version = 2

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
            if local_metadata.get("version", 1) < 2:
                state_dict[prefix + "weight"] = state_dict[prefix + "weight"].t()
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    module = nn.Sequential(Old(3, 2, bias=False))
    module.load_state_dict({"0.weight": md.arange(6.0).reshape(3, 2)})
    assert module[0].weight.tolist() == [[0, 2, 4], [1, 3, 5]]
    module.load_state_dict(module.state_dict())
    assert module[0].weight.tolist() == [[0, 2, 4], [1, 3, 5]]


def test_nothing_is_written_if_something_does_not_fit():
    module = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
    before = {key: value.clone() for key, value in module.state_dict().items()}
    with pytest.raises(RuntimeError, match=r"size mismatch for 1\.weight"):
        module.load_state_dict(
            {**{k: md.ones(1) * 9 for k in before}, "0.weight": md.ones(1, 1), "1.weight": md.ones(2)}
        )
    assert all(md.equal(before[key], value) for key, value in module.state_dict().items())


def test_set_submodule():
    module = nn.Sequential(nn.Sequential(nn.Linear(1, 1)))
    new = nn.Identity()
    module.set_submodule("0.0", new)
    assert module[0][0] is new
    module.set_submodule("0.added", new)
    for name, value, kind, text in (
        ("", new, ValueError, "without a target name"),
        ("0", 3, ValueError, "is not an nn.Module, found"),
        ("7.x", new, AttributeError, "has no attribute `7`"),
    ):
        with pytest.raises(kind, match=text):
            module.set_submodule(name, value)
    with pytest.raises(AttributeError, match="Sequential has no attribute `b`"):
        module.set_submodule("0.b", new, strict=True)


def test_to_empty_type_and_cuda():
    module = nn.BatchNorm1d(3)
    assert module.to_empty(device="cpu") is module and tuple(module.weight.shape) == (3,)
    assert module.type(md.float64).weight.dtype is md.float64
    with pytest.raises(RuntimeError):
        module.cuda()
