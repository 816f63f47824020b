"""Another library sets the frame evaluator while frames of ours are running: they continue where they are."""

import contextlib

import pytest

import minidynamo
from minidynamo._dynamo.eval_frame import enable_everywhere

_testinternalcapi = pytest.importorskip("_testinternalcapi")


class Managed:
    def __init__(self):
        self.seen = []

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.seen.append(exception)
        return False


@contextlib.contextmanager
def managed(x):
    yield x + 1
    x.add_(1)


def displace(how):
    if how == "default":
        _testinternalcapi.set_eval_frame_default()
    elif how == "record":
        _testinternalcapi.set_eval_frame_record([])


def body(x, how):
    managers = []
    with managed(x) as y:
        displace(how)
        with Managed() as inner:
            managers.append(inner.seen)
            z = y * 2
            minidynamo._dynamo.graph_break()
            z = z + 1
    return z.tolist(), x.tolist(), managers


@pytest.fixture(autouse=True)
def restore():
    yield
    _testinternalcapi.set_eval_frame_default()


@pytest.mark.parametrize("how", ("default", "record"))
def test_running_frames_continue(how):
    expected = body(minidynamo.ones(2), None)
    compiled = minidynamo.compile(body)
    for each in (None, how, None, how, how):
        assert compiled(minidynamo.ones(2), each) == expected
    with enable_everywhere():
        for each in (None, how, how):
            assert body(minidynamo.ones(2), each) == expected
