"""torch.jit's names: what programs ask of TorchScript in passing."""

import importlib
import logging

import pytest

import minidynamo
from minidynamo import jit, nn


def outcome(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error).__name__, str(error).replace("minidynamo", "torch")


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(minidynamo.ones(2))

    def forward(self, x):
        if jit.is_scripting() or jit.is_tracing():
            return x
        return jit.annotate(minidynamo.Tensor, x * self.weight)


def test_nothing_scripts_or_traces():
    assert jit.is_scripting() is False
    assert jit.is_tracing() is False


def test_functions_classes_and_modules_stay():
    @jit.script
    def double(x: minidynamo.Tensor, n: int = 2):
        return x * n

    @jit.script
    class Point:
        def __init__(self, x: int):
            self.x = x

    assert double(minidynamo.ones(1)).item() == 2
    assert Point(3).x == 3
    for make in (jit.script, lambda m: jit.trace(m, minidynamo.ones(2)), lambda m: jit.freeze(m.eval())):
        module = make(Scale())
        assert isinstance(module, Scale)
        assert list(module.state_dict()) == ["weight"]
        assert module(minidynamo.ones(2)).tolist() == [1, 1]
        assert minidynamo.compile(module, fullgraph=True)(minidynamo.ones(2)).tolist() == [1, 1]
    assert jit.optimize_for_inference(module) is module
    assert jit.trace_module(module, {"forward": minidynamo.ones(2)}) is module


def test_decorators():
    torch = pytest.importorskip("torch")
    for library in (minidynamo, torch):

        class Model(library.jit.ScriptModule if library is minidynamo else library.nn.Module):
            size: library.jit.Final[int]

            @library.jit.ignore
            def ignored(self):
                return 1

            @library.jit.ignore(drop=True)
            def dropped(self):
                return 2

            @library.jit.unused
            def unused(self):
                return 3

            @library.jit.export
            def exported(self):
                return 4

            @library.jit._overload_method
            def forward(self, x: int):
                pass

            @library.jit._overload_method
            def forward(self, x: str):  # noqa: F811
                pass

            def forward(self, x):  # noqa: F811
                return x

        model = Model()
        assert (model.ignored(), model.dropped(), model.unused(), model.exported(), model(5)) == (1, 2, 3, 4, 5)
    assert isinstance(Scale(), jit.ScriptModule) is False


def test_the_log_says_once_that_nothing_is_scripted(caplog, monkeypatch):
    monkeypatch.setattr(jit, "_noted", set())
    with caplog.at_level(logging.INFO, "minidynamo.jit"):
        for _ in range(3):
            jit.script(Scale())
        jit.trace(Scale(), minidynamo.ones(2))
    assert [record.message.split("(")[0] for record in caplog.records] == ["jit.script", "jit.trace"]


WRONG = [
    lambda t: t.jit.script(3),
    lambda t: t.jit.script("a"),
    lambda t: t.jit.script(t.nn.Linear)[:1],
    lambda t: t.jit.ignore(3),
    lambda t: t.jit.freeze(3),
    lambda t: t.jit.freeze(t.jit.script(t.nn.Linear(1, 1))),
    lambda t: t.jit.optimize_for_inference(3),
    lambda t: t.jit.trace_module(t.nn.Linear(1, 1), 3),
    lambda t: t.jit.interface(lambda: 3),
    lambda t: t.jit.load("/nowhere"),
    lambda t: t.jit.fuser("x").__enter__(),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
@pytest.mark.filterwarnings("ignore")
def test_wrong_calls(number):
    torch = pytest.importorskip("torch")
    ours, theirs = (outcome(WRONG[number], library) for library in (minidynamo, torch))
    if number == 2:  # names the class, which is elsewhere
        assert ours[0] == theirs[0]
    else:
        assert ours == theirs


CHECKS = [
    ([1], lambda t: list[int]),
    ([1], lambda t: list[str]),
    ([], lambda t: list[int]),
    ({1: "a"}, lambda t: dict[int, str]),
    ({1: "a"}, lambda t: dict[int, int]),
    ((1, "a"), lambda t: tuple[int, str]),
    (None, lambda t: int | None),
    (1, lambda t: int | None),
    ("a", lambda t: int | None),
    (1, lambda t: (int, float)),
    ([[1]], lambda t: list[list[int]]),
    (1.0, lambda t: int),
    ([1, "a"], lambda t: list[int]),
]


@pytest.mark.parametrize("number", range(len(CHECKS)))
def test_isinstance(number):
    torch = pytest.importorskip("torch")
    value, kind = CHECKS[number]
    ours, theirs = (outcome(library.jit.isinstance, value, kind(library)) for library in (minidynamo, torch))
    assert ours == theirs
    assert jit.isinstance([minidynamo.ones(1)], list[minidynamo.Tensor])


def test_save_and_load_say_what_to_use(tmp_path):
    with pytest.raises(RuntimeError, match="state_dict"):
        jit.save(Scale(), tmp_path / "x.pt")
    (tmp_path / "y.pt").write_bytes(b"x")
    with pytest.raises(RuntimeError, match="load_state_dict"):
        jit.load(str(tmp_path / "y.pt"))
    with pytest.raises(RuntimeError):
        jit.CompilationUnit("def f(): return 1")


def test_fork_and_others():
    assert jit.wait(jit.fork(lambda a, b: a + b, 1, b=2)) == 3
    with jit.fuser("fuser1"), jit.optimized_execution(True), jit.strict_fusion():
        pass
    assert jit.Attribute(3, int).value == 3
    internal = importlib.import_module("minidynamo._jit_internal")
    chosen = internal.boolean_dispatch(
        "flag", 1, False, lambda x, flag=False: "yes", lambda x, flag=False: "no", "m", "f"
    )
    assert (chosen(1), chosen(1, True), chosen(1, flag=True), chosen.__name__) == ("no", "yes", "yes", "f")


@pytest.mark.parametrize("name", ["jit", "jit.annotations", "_jit_internal"])
def test_public_names_are_torchs(name):
    pytest.importorskip("torch")
    ours, theirs = (importlib.import_module(f"{library}.{name}") for library in ("minidynamo", "torch"))
    assert [each for each in ours.__all__ if not hasattr(theirs, each)] == []
    if name == "jit":
        assert [each for each in theirs.__all__ if not hasattr(ours, each)] == ["export_opnames"]
