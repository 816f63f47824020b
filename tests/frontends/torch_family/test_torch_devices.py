"""Objects that torch makes of constants inside of captured functions: devices."""

import importlib.util

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)
import torch

import minidynamo

PROGRAMS = {
    "a name": lambda x: x + torch.ones(3, device=torch.device("cpu")),
    "a name and a number": lambda x: x + torch.ones(3, device=torch.device("cpu", 0)),
    "a keyword": lambda x: x + torch.ones(3, device=torch.device(type="cpu")),
    "another device": lambda x: x + torch.ones(3, device=torch.device(x.device)),
    "a text of a device": lambda x: x + torch.ones(3, device=torch.device(str(x.device))),
    "moved": lambda x: x.to(torch.device("cpu")) * 2,
    "compared": lambda x: x + (1 if x.device == torch.device("cpu") else 2),
    "read": lambda x: x + (1 if torch.device("cpu").type == "cpu" else 2),
    "returned": lambda x: (x * 2, torch.device("cpu")),
}


@torch.no_grad()
@pytest.mark.parametrize("name", PROGRAMS)
def test_devices(name):
    program, x = PROGRAMS[name], torch.randn(3)
    compiled = minidynamo.compile(program, fullgraph=True)
    for _ in range(2):
        expected, found = program(x), compiled(x)
        assert str(expected) == str(found)
        assert type(expected) is type(found)


@torch.no_grad()
@pytest.mark.parametrize("name", ["nothing", "cpu:x", 3.5])
def test_what_is_no_device(name):
    compiled = minidynamo.compile(lambda x: x + torch.ones(3, device=torch.device(name)))
    with pytest.raises((RuntimeError, TypeError)) as expected:
        torch.device(name)
    with pytest.raises(type(expected.value)) as found:
        compiled(torch.randn(3))
    assert str(found.value) == str(expected.value)


SPLITS = {
    "tensor_split of indices": lambda x: torch.tensor_split(x, indices=(1, 3), dim=1),
    "tensor_split of sections": lambda x: torch.tensor_split(x, sections=4, dim=-1),
    "tensor_split by a tensor": lambda x: torch.tensor_split(x, tensor_indices_or_sections=torch.tensor([2, 3]), dim=1),
    "tensor_split, a method": lambda x: x.tensor_split(dim=1, indices=(2,)),
    "tensor_split by position": lambda x: torch.tensor_split(x, 3, 1),
    "split": lambda x: torch.split(x, split_size_or_sections=2, dim=1),
    "split of a tensor": lambda x: torch.split(tensor=x, split_size_or_sections=[1, 5], dim=1),
}


@torch.no_grad()
@pytest.mark.parametrize("name", SPLITS)
def test_names_of_arguments(name):
    program, x = SPLITS[name], torch.randn(2, 6)
    compiled = minidynamo.compile(lambda x: [part + 1 for part in program(x)], fullgraph=name[-6:] != "tensor")
    for own, other in zip(compiled(x), program(x), strict=True):
        assert torch.equal(own, other + 1)
