"""The network as plain Python functions."""

from typing import Any

import minidynamo
from minidynamo import Tensor

Layers = list[tuple[Tensor, Tensor]]


def classify(images: Tensor, layers: Layers) -> tuple[Tensor, Tensor]:
    """Returns for each image the digit and how sure it is."""
    x = images / 16
    last = len(layers) - 1
    for index, (weight, bias) in enumerate(layers):
        x = x @ weight + bias
        if index < last:
            x = minidynamo.relu(x)
    chances = minidynamo.softmax(x, dim=1)
    return chances.argmax(dim=1), chances.amax(dim=1)


def classify_aloud(images: Tensor, layers: Layers) -> tuple[Tensor, Tensor]:
    """The same, but tells what it sees half-way: the value of a tensor is needed there, so that the graph breaks."""
    x = images / 16
    last = len(layers) - 1
    for index, (weight, bias) in enumerate(layers):
        x = x @ weight + bias
        if index < last:
            x = minidynamo.relu(x)
        else:
            print("  mean score    ", x.mean())
    chances = minidynamo.softmax(x, dim=1)
    return chances.argmax(dim=1), chances.amax(dim=1)


def classify_with_numpy(images: Any, layers: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """What is compared with, on arrays."""
    import numpy

    x = images / numpy.float32(16)
    last = len(layers) - 1
    for index, (weight, bias) in enumerate(layers):
        x = x @ weight + bias
        if index < last:
            x = numpy.maximum(x, 0)
    chances = numpy.exp(x - x.max(axis=1, keepdims=True))
    chances = chances / chances.sum(axis=1, keepdims=True)
    return chances.argmax(axis=1), chances.max(axis=1)
