"""Compares what a checkpoint holds with what torch reads of it."""

import math

import minidynamo


def values_of(tensor):
    return tensor.detach().flatten().tolist()


def assert_same_tensors(ours, theirs, path):
    import torch

    assert isinstance(ours, minidynamo.Tensor), path
    assert isinstance(ours, minidynamo.nn.Parameter) == isinstance(theirs, torch.nn.Parameter), path
    assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2], path
    layout = (tuple(ours.shape), tuple(ours.stride()), ours.storage_offset(), ours.requires_grad)
    assert layout == (tuple(theirs.shape), theirs.stride(), theirs.storage_offset(), theirs.requires_grad), path
    if ours.numel() > 10_000:
        # Of large ones the bytes are compared.
        assert (ours.detach().numpy() == theirs.detach().numpy()).all(), path
        return
    for one, other in zip(values_of(ours), values_of(theirs), strict=True):
        assert one == other or (math.isnan(one) and math.isnan(other)), path


def assert_same(ours, theirs, path="value"):
    """Tensors by dtype, layout and values; containers by type, order and contents."""
    import torch

    if isinstance(theirs, torch.Tensor):
        assert_same_tensors(ours, theirs, path)
    elif isinstance(theirs, torch.Size):
        assert type(ours) is minidynamo.Size and tuple(ours) == tuple(theirs), path
    elif isinstance(theirs, (torch.dtype, torch.device)):
        assert str(ours).rpartition(".")[2] == str(theirs).rpartition(".")[2], path
    else:
        assert type(ours) is type(theirs), path
        if isinstance(theirs, dict):
            assert list(ours) == list(theirs), path
            for key in theirs:
                assert_same(ours[key], theirs[key], f"{path}[{key!r}]")
            assert getattr(ours, "__dict__", None) == getattr(theirs, "__dict__", None), path
        elif isinstance(theirs, (list, tuple)):
            assert len(ours) == len(theirs), path
            for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
                assert_same(one, other, f"{path}[{index}]")
        else:
            assert ours == theirs, path
