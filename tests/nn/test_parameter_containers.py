"""ParameterList and ParameterDict: as in torch where it is installed, and the documented behaviour itself."""

import copy
import pickle

import pytest

import minidynamo

MODULES = [minidynamo]
try:
    import torch

    MODULES.append(torch)
except ImportError:
    torch = None


def outcome(function):
    try:
        value = function()
    except Exception as error:
        return type(error)
    return value


def list_story(lib):
    nn, out = lib.nn, []
    held = nn.ParameterList([lib.zeros(2, 3), nn.Parameter(lib.ones(2)), 5, "x"])
    out.append([len(held), list(held.state_dict()), [name for name, _ in held.named_parameters()], held[-1]])
    out.append([outcome(lambda: held[4]), outcome(lambda: held["a"]), len(held[1:3]), held[1:3][1]])
    held[0] = lib.ones(1)
    held += [lib.zeros(4)]
    held.append(None).extend(nn.ParameterList([lib.zeros(2)]))
    out.append([type(held[0]).__name__, tuple(held[0].shape), len(held), [type(value).__name__ for value in held]])
    out.append([outcome(lambda: held.extend(3)), outcome(held), str(held), str(nn.ParameterList())])
    return out


def dict_story(lib):
    nn, out = lib.nn, []
    held = nn.ParameterDict({"b": lib.zeros(2), "a": nn.Parameter(lib.ones(1)), "n": 3})
    out.append([list(held), list(held.state_dict()), "a" in held, "q" in held, len(held), held["n"]])
    out.append(
        [tuple(held.pop("a").shape), list(held.keys()), [key for key, _ in held.items()], len(list(held.values()))]
    )
    out.append([held.get("q"), held.get("q", 5), tuple(held.setdefault("s", lib.zeros(1)).shape), held.popitem()[0]])
    held.update({"z": lib.zeros(1), "y": lib.ones(1)})
    held.update([("m", lib.zeros(1))])
    held |= {"u": lib.zeros(1)}
    out.append([list(held), list(reversed(held)), list(held | {"w": lib.zeros(1)}), list({"w": 1} | held)])
    out.append([outcome(lambda: held.update(3)), outcome(lambda: held.update([1])), list(held.copy())])
    out.append([list(held.fromkeys(["k", "j"], lib.zeros(1))), outcome(lambda: held.__delitem__("nowhere"))])
    held.clear()
    out.append([len(held), list(held.state_dict())])
    return out


def describe(story):
    return str(story).replace("torch.", "").replace("minidynamo.", "")


@pytest.mark.parametrize("story", [list_story, dict_story])
def test_as_torch(story):
    if torch is None:
        pytest.skip("torch is not installed")
    assert describe(story(minidynamo)) == describe(story(torch))


class Weighted(minidynamo.nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = minidynamo.nn.ParameterList([minidynamo.full((2,), float(i + 2)) for i in range(3)])
        self.named = minidynamo.nn.ParameterDict({"clear": minidynamo.ones(2), "bias": minidynamo.full((2,), 0.5)})

    def forward(self, x):
        for weight in self.weights:
            x = x * weight
        return x + self.weights[-1] + self.named["clear"] * self.named["bias"]


def test_in_a_module():
    model = Weighted()
    assert list(model.state_dict()) == ["weights.0", "weights.1", "weights.2", "named.bias", "named._clear"]
    assert model(minidynamo.ones(2)).tolist() == [28.5, 28.5]
    compiled = minidynamo.compile(model, fullgraph=True)
    assert compiled(minidynamo.ones(2)).tolist() == [28.5, 28.5]
    model.weights[0] = minidynamo.zeros(2)
    assert compiled(minidynamo.ones(2)).tolist() == model(minidynamo.ones(2)).tolist() == [4.5, 4.5]
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other(minidynamo.ones(2)).tolist() == [4.5, 4.5]
        assert list(other.state_dict()) == list(model.state_dict())


def test_bad_keys():
    held = minidynamo.nn.ParameterDict()
    with pytest.raises(TypeError, match="a key of a ParameterDict is a str, not int"):
        held[3] = minidynamo.zeros(1)
    assert list(held) == []
    with pytest.raises(KeyError, match="zz"):
        held["zz"]
    with pytest.raises(ValueError, match="element 0 has length 3"):
        held.update([(1, 2, 3)])
