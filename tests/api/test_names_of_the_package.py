"""Each module of the package: what dir() lists is there, and a name of torch's that is missing is explained."""

import importlib
import importlib.util
import pkgutil

import pytest

import minidynamo

# They run when they are imported.
PROGRAMS = {"minidynamo.compat.torch"}
if importlib.util.find_spec("tensorboard") is None:
    PROGRAMS.add("minidynamo.utils.tensorboard")


def modules_below(package):
    for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if info.name.rpartition(".")[2].startswith("_") or info.name in PROGRAMS:
            continue
        yield info.name
        if info.ispkg:
            yield from modules_below(importlib.import_module(info.name))


MODULES = ["minidynamo", "minidynamo._dynamo", *modules_below(minidynamo), *modules_below(minidynamo._dynamo)]


@pytest.mark.parametrize("name", MODULES)
def test_what_is_listed_is_there(name):
    module = importlib.import_module(name)
    listed = dir(module)
    assert len(set(listed)) == len(listed) and {*vars(module), *getattr(module, "__all__", ())} <= set(listed)
    assert [each for each in listed if not hasattr(module, each)] == []
    below = {info.name for info in pkgutil.iter_modules(getattr(module, "__path__", []))}
    reached = {each for each in below if not each.startswith("_") and hasattr(module, each)}
    assert reached <= set(dir(module))


def stands_at_a_place_of_torch(name):
    try:
        return importlib.import_module(name.replace("minidynamo", "torch", 1)) is not None
    except ImportError:
        return False


# torch's config module has texts of its own.
@pytest.mark.parametrize("name", [each for each in MODULES if each != "minidynamo._dynamo.config"])
def test_missing_names_are_explained(name):
    pytest.importorskip("torch")
    if not stands_at_a_place_of_torch(name):
        pytest.skip("torch has no such module")
    module = importlib.import_module(name)
    with pytest.raises(AttributeError, match=f"^module {name!r} has no attribute 'no_such_name': not in minidynamo; "):
        module.no_such_name  # noqa: B018
    with pytest.raises(AttributeError, match=f"^module {name!r} has no attribute '__no_such__'$"):
        module.__no_such__  # noqa: B018
