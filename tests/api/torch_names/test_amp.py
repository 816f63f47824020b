"""amp: autocast of other devices, which leaves dtypes as they are, and a scaler that leaves gradients as they are."""

import warnings

import pytest

import minidynamo


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


def outcome(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args)
        except Exception as error:
            return type(error), str(error)


FORMS = [
    lambda t: t.autocast("cuda"),
    lambda t: t.autocast("cpu", enabled=False),
    lambda t: t.autocast("cpu", dtype=t.bfloat16, enabled=False),
    lambda t: t.autocast(device_type="cuda", dtype=t.float16, cache_enabled=True),
    lambda t: t.amp.autocast("cuda", enabled=False),
    lambda t: t.cuda.amp.autocast(enabled=False),
    lambda t: t.cuda.amp.autocast(),
    lambda t: t.cpu.amp.autocast(False),
]


@pytest.mark.parametrize("number", range(len(FORMS)))
def test_float32_stays(number):
    def run(t):
        def inside(x):
            with FORMS[number](t):
                assert not t.is_autocast_enabled()
                return x @ x

        @FORMS[number](t)
        def decorated(x):
            return x @ x

        return [str(f(t.ones(2, 2)).dtype).rpartition(".")[2] for f in (inside, decorated)], decorated.__name__

    torch = pytest.importorskip("torch")

    assert outcome(run, minidynamo) == outcome(run, torch) == (["float32", "float32"], "decorated")


@pytest.mark.parametrize("number", range(len(FORMS)))
@pytest.mark.filterwarnings("ignore")
def test_one_graph(number):
    def run(x):
        with FORMS[number](minidynamo):
            return x @ x + 1

    assert minidynamo.compile(run, fullgraph=True)(minidynamo.ones(2, 2)).tolist() == [[3.0, 3.0], [3.0, 3.0]]


CALLS = [
    lambda t: t.autocast(3),
    lambda t: t.autocast("fpga"),
    lambda t: t.autocast("cpu", enabled=False)(3),
    lambda t: t.is_autocast_enabled(),
    lambda t: t.is_autocast_enabled("cpu"),
    lambda t: t.is_autocast_cpu_enabled(),
    lambda t: t.is_autocast_cache_enabled(),
    lambda t: str(t.get_autocast_dtype("cpu"))[-8:],
    lambda t: str(t.get_autocast_gpu_dtype())[-7:],
    lambda t: t.clear_autocast_cache(),
    lambda t: t.amp.is_autocast_available("cpu"),
    lambda t: t.amp.is_autocast_available("fpga"),
    lambda t: t.set_autocast_enabled(False),
    lambda t: t.set_autocast_enabled("cpu", False),
    lambda t: t.cuda.amp.GradScaler().is_enabled(),
    lambda t: t.amp.GradScaler("cuda").scale(3.5),
    lambda t: t.amp.GradScaler("cuda").get_scale(),
    lambda t: t.amp.GradScaler("cpu", enabled=False).state_dict(),
    lambda t: t.GradScaler("cuda").update(),
    lambda t: t.cuda.amp.GradScaler().load_state_dict({}),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_as_torch(number):
    torch = pytest.importorskip("torch")
    assert outcome(CALLS[number], minidynamo) == outcome(CALLS[number], torch)


def test_functions_of_autograd_functions():
    class Context:
        pass

    def forward(ctx, x):
        return x + 1

    context = Context()
    assert minidynamo.cuda.amp.custom_fwd(forward)(context, 1) == 2
    assert minidynamo.cuda.amp.custom_bwd(forward)(context, 2) == 3
    assert minidynamo.amp.custom_bwd(device_type="cpu")(forward)(context, 2) == 3
    assert minidynamo.amp.custom_fwd(forward, device_type="cpu").__name__ == "forward"
    assert context._fwd_used_autocast is False
