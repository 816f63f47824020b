"""Strides of tensors with symbolic sizes and an empty dim between them."""

import minidynamo
from minidynamo._dynamo import graph_break


def test_strides_over_an_empty_dim():
    def turned(x):
        y = x.permute(0, 2, 1)
        graph_break()
        return y.stride(), x.stride()

    compiled = minidynamo.compile(turned, dynamic=True)
    for sizes in ((6, 0, 3), (5, 0, 4), (2, 3, 4)):
        x = minidynamo.zeros(*sizes)
        assert compiled(x) == turned(x)
