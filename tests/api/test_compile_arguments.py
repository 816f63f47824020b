"""compile(): wrong arguments, and the registry of backends."""

import pickle

import pytest

from minidynamo import _dynamo
from minidynamo._dynamo import _compile, exc
from minidynamo._dynamo._compile import compile


@pytest.fixture
def registry(monkeypatch):
    from minidynamo._dynamo import backends

    monkeypatch.setattr(backends, "_BACKENDS", dict(backends._BACKENDS))


def f(x):
    return x


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"backend": "nope"}, exc.InvalidBackend, r"Invalid backend: 'nope'.*'eager', 'onednn'.*list_backends"),
        ({"backend": 3}, TypeError, "a name or a callable, not int"),
        ({"fullgraph": 1}, TypeError, "fullgraph must be a bool, not int"),
        ({"disable": None}, TypeError, "disable must be a bool, not NoneType"),
        ({"dynamic": 3}, AssertionError, "dynamic must be True, False or None, not 3"),
        ({"mode": "fast"}, RuntimeError, "unknown mode 'fast'; the modes are default, reduce-overhead"),
        ({"mode": "default", "options": {}}, RuntimeError, "mode and options cannot both be given"),
        ({"options": {"x": 1}}, RuntimeError, "the backend 'onednn' has no option 'x'"),
        ({"options": [1]}, TypeError, "options must be a dict, not list"),
        ({"name": 3}, TypeError, "name must be a str, not int"),
        ({"recompile_limit": "8"}, TypeError, "recompile_limit must be an int, not str"),
        ({"recompile_limit": True}, TypeError, "recompile_limit must be an int, not bool"),
        ({"recompile_limit": 0}, ValueError, "recompile_limit must be at least 1, not 0"),
        ({"unknown": 1}, TypeError, "unexpected keyword argument 'unknown'"),
    ],
    ids=str,
)
def test_wrong_arguments(options, error, text):
    for call in (lambda: compile(f, **options), lambda: compile(**options)):
        with pytest.raises(error, match=text):
            call()


def test_not_callable():
    with pytest.raises(AssertionError, match="a function or another callable, not int"):
        compile(3)
    with pytest.raises(AssertionError, match="not list"):
        compile()([])


def test_only_the_callable_is_positional():
    with pytest.raises(TypeError, match="positional"):
        compile(f, True)


def test_disable_returns_the_callable():
    assert compile(f, disable=True) is f and compile(disable=True)(f) is f


def test_registry(registry):
    @_dynamo.register_backend
    def mine(gm, example_inputs):
        return gm.forward

    @_dynamo.register_backend(name="other")
    def theirs(gm, example_inputs):
        return gm.forward

    assert _dynamo.list_backends() == ["eager", "mine", "onednn", "other"]
    assert _dynamo.lookup_backend("mine") is mine and _dynamo.lookup_backend("other") is theirs
    assert _dynamo.lookup_backend(mine) is mine
    assert _dynamo.register_backend(mine) is mine
    with pytest.raises(ValueError, match="already a backend named 'mine'"):
        _dynamo.register_backend(theirs, name="mine")
    with pytest.raises(TypeError, match="must be callable, not int"):
        _dynamo.register_backend(3)
    with pytest.raises(exc.InvalidBackend, match="'eager', 'mine', 'onednn', 'other'"):
        _dynamo.lookup_backend("nope")


@pytest.mark.parametrize(
    ("torch_name", "name"),
    [("inductor", "onednn"), ("aot_eager", "eager"), ("aot_eager_decomp_partition", "eager")],
)
def test_names_that_torch_has_for_backends(registry, torch_name, name):

    def mine(gm, example_inputs):
        return gm.forward

    assert _dynamo.lookup_backend(torch_name) is _dynamo.lookup_backend(name)
    assert _compile._chosen_backend(torch_name, None, None) == name
    assert torch_name not in _dynamo.list_backends()
    with pytest.raises(RuntimeError, match=f"the backend '{torch_name}' has no option 'trace.enabled'"):
        compile(f, backend=torch_name, options={"trace.enabled": True})
    _dynamo.register_backend(mine, name=torch_name)
    assert _dynamo.lookup_backend(torch_name) is mine
    assert _compile._chosen_backend(torch_name, None, None) is mine


def test_options_reach_a_callable_backend():
    def backend(gm, example_inputs, **settings):
        return settings

    chosen = _compile._chosen_backend(backend, None, {"level": 2})
    assert chosen(None, None) == {"options": {"level": 2}} and chosen.__name__ == "backend"
    assert _compile._chosen_backend(backend, "max-autotune", None)(None, None) == {"mode": "max-autotune"}
    assert _compile._chosen_backend(backend, None, None) is backend
    assert _compile._chosen_backend("eager", "default", None) == "eager"


def test_which_function_is_captured(monkeypatch):
    class Callable:
        def __call__(self, x):
            return x + 1

        def method(self, x):
            return x + 2

    # Stands for the extension's class; no call is captured here.
    monkeypatch.setattr(_compile._C, "CompiledFunction", type("CompiledFunction", (), {}), raising=False)
    instance = Callable()
    assert _compile._function_of(f) is f
    assert _compile._function_of(instance.method) == instance.method
    assert _compile._function_of(instance) == instance.__call__
    for target, name in ((len, "len"), (list, "list"), (Callable, "Callable")):
        caller = _compile._function_of(target)
        assert caller.__name__ == name and caller.__code__.co_name == name and caller.__wrapped__ is target
    assert _compile._function_of(len)([1, 2]) == 2
    assert _compile._function_of(len).__code__ is not _compile._function_of(list).__code__


def test_backend_exceptions():
    def mine(gm, example_inputs):
        pass

    error = exc.BackendCompilerFailed(mine, ValueError("no"))
    assert str(error) == "backend='mine' raised:\nValueError: no"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert str(exc.BackendCompilerFailed("onednn", KeyError("k"))) == "backend='onednn' raised:\nKeyError: 'k'"
    assert str(pickle.loads(pickle.dumps(exc.InvalidBackend("x")))) == str(exc.InvalidBackend("x"))


@pytest.mark.parametrize(
    "name",
    "TorchDynamoException Unsupported UserError InternalTorchDynamoError BackendCompilerFailed InvalidBackend "
    "ResetRequired RecompileError SkipFrame".split(),
)
def test_names_of_exceptions(name):
    assert issubclass(getattr(exc, name), exc.DynamoException)
    assert not issubclass(exc.FailOnRecompileLimitHit, exc.DynamoException)


def test_attributes_of_what_is_compiled():
    compiled = compile(f)
    assert compiled._torchdynamo_orig_callable is f
    assert compiled.get_compiler_config() is None
    with pytest.raises(AttributeError):
        compiled._torchdynamo_orig_callable = g


def g(x):
    return x
