import subprocess
import sys
from unittest import mock

import pytest

import minidynamo
from minidynamo import _C
from minidynamo._dynamo import config

ROWS = {row["name"]: row for row in _C.config_rows()}
OTHER = {bool: lambda value: not value, int: lambda value: value + 1, str: lambda value: value + "x"}


@pytest.mark.parametrize("name", ROWS)
def test_every_flag_is_read_and_set(name):
    default = ROWS[name]["default"]
    assert type(default).__name__ == ROWS[name]["type"]
    assert ROWS[name]["doc"]
    before = getattr(config, name)
    changed = OTHER[type(default)](before)
    with config.patch(name, changed):
        assert getattr(config, name) == changed
        assert type(getattr(config, name)) is type(default)
    assert getattr(config, name) == before
    assert name in dir(config)


@pytest.mark.parametrize("name", ROWS)
def test_fingerprint_follows_the_flags_that_affect_capture(name):
    before = _C.config_fingerprint()
    with config.patch({name: OTHER[type(ROWS[name]["default"])](getattr(config, name))}):
        assert (_C.config_fingerprint() != before) == ROWS[name]["affects_capture"]
    assert _C.config_fingerprint() == before


def test_unknown_name():
    message = r"minidynamo\._dynamo\.config\.zzz does not exist"
    with pytest.raises(AttributeError, match=message):
        _ = config.zzz
    with pytest.raises(AttributeError, match=message):
        config.zzz = 1
    with pytest.raises(AttributeError, match=message):
        config.zzz = object()
    with pytest.raises(AttributeError, match=message), config.patch(zzz=1):
        pass
    with pytest.raises(AttributeError, match=message):
        config.patch("zzz", 1)(lambda: None)()
    with pytest.raises(AttributeError, match=message):
        del config.zzz
    with pytest.raises(AttributeError, match="zzz"), mock.patch.object(config, "zzz", 1):
        pass
    assert not hasattr(config, "zzz")


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("verbose", 1, TypeError),
        ("verbose", None, TypeError),
        ("recompile_limit", True, TypeError),
        ("recompile_limit", 2.5, TypeError),
        ("recompile_limit", "8", TypeError),
        ("recompile_limit", -1, ValueError),
        ("recompile_limit", 2**70, OverflowError),
        ("verbose", "\ud800", (TypeError, UnicodeEncodeError)),
    ],
)
def test_wrong_value(name, value, error):
    before = getattr(config, name)
    with pytest.raises(error):
        setattr(config, name, value)
    assert getattr(config, name) == before


def test_a_failing_patch_changes_nothing():
    with pytest.raises(TypeError), config.patch(walk_limit=7, verbose=3):
        pass
    assert config.walk_limit == ROWS["walk_limit"]["default"]


def test_patch_restores_after_an_exception_and_nests():
    patch = config.patch(recompile_limit=3)
    with pytest.raises(KeyError), patch, config.patch(recompile_limit=4), patch:
        assert config.recompile_limit == 3
        raise KeyError
    assert config.recompile_limit == ROWS["recompile_limit"]["default"]


def test_patch_decorates():
    @config.patch(recompile_limit=3)
    def limit(depth=1):
        """A docstring."""
        return limit(depth - 1) if depth else config.recompile_limit

    assert limit() == 3
    assert limit.__name__ == "limit"
    assert limit.__doc__ == "A docstring."
    assert config.recompile_limit == ROWS["recompile_limit"]["default"]


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [((3,), {}), (("verbose",), {}), ((3, True), {}), ((None, True), {}), (({"verbose": True},), {"disable": True})],
)
def test_wrong_arguments_of_patch(arguments, keywords):
    with pytest.raises(AssertionError, match="argument"):
        config.patch(*arguments, **keywords)


def test_a_patch_of_nothing():
    with config.patch():
        pass


INERT = {name: default for name, default, _ in _C.inert_flag_rows()}
SAMPLES = {**{name: OTHER[type(row["default"])](row["default"]) for name, row in ROWS.items()}}
SAMPLES |= {name: object() for name in INERT}
SAMPLES |= {alias: SAMPLES[name] for alias, name in _C.config_aliases().items()} | {"debug": True}


def patched_by_mock(name, value):
    return mock.patch.object(config, name, value)


def patched_by_mock_of_names(name, value):
    return mock.patch("minidynamo._dynamo.config." + name, value)


def patched_by_name(name, value):
    return config.patch(name, value)


def patched_by_keyword(name, value):
    return config.patch(**{name: value})


def patched_by_dict(name, value):
    return config.patch({name: value})


WAYS = [value for name, value in dict(globals()).items() if name.startswith("patched_by_")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SAMPLES)
def test_every_way_to_set_a_flag_for_a_time(name, way):
    value, before = SAMPLES[name], getattr(config, name)
    same_flag = [name] + [alias for alias, of in _C.config_aliases().items() if of == name]

    def is_set():
        return all(getattr(config, each) is value or getattr(config, each) == value for each in same_flag)

    assert not is_set()
    with way(name, value):
        assert is_set()
    assert getattr(config, name) == before and hasattr(config, name)
    with pytest.raises(KeyError), way(name, value):
        assert is_set()
        raise KeyError
    assert getattr(config, name) == before

    @way(name, value)
    def decorated(*arguments, key=0):
        return is_set(), arguments, key

    assert decorated(1, key=2) == (True, (1,), 2) and decorated.__name__ == "decorated"
    assert getattr(config, name) == before
    if before is not None or way is not patched_by_name:  # for which None means no value
        with way(name, value), way(name, before):
            assert getattr(config, name) == before
    assert getattr(config, name) == before


@pytest.mark.parametrize("way", WAYS)
def test_a_test_case_is_patched(way):
    import unittest

    class Case(unittest.TestCase):
        def test(self):
            self.assertEqual(config.recompile_limit, 3)

    for name in ("recompile_limit", "cache_size_limit"):
        case = way(name, 3)(Case)
        result = unittest.TestResult()
        unittest.TestLoader().loadTestsFromTestCase(case).run(result)
        assert result.testsRun == 1 and result.wasSuccessful(), result.failures + result.errors
        assert case.__name__ == "Case" and config.recompile_limit == 8


@pytest.mark.parametrize("name", ["verbose", "cprofile", "cache_size_limit", "debug"])
def test_a_deleted_flag_is_missing_until_it_is_set(name):
    before = getattr(config, name)
    delattr(config, name)
    assert not hasattr(config, name)
    setattr(config, name, before)
    assert getattr(config, name) == before


@pytest.mark.parametrize("name", ["recompile_limit", "cprofile"])
def test_deleting_a_flag_restores_its_default(name):
    default = config.get_config_copy()[name]
    setattr(config, name, 7)
    delattr(config, name)
    assert config.get_config_copy()[name] == default
    setattr(config, name, default)


def test_values_that_can_change_are_kept():
    functions = config.reorderable_logging_functions
    functions.add(print)
    try:
        assert config.reorderable_logging_functions == {print} and config.get_config_copy()[
            "reorderable_logging_functions"
        ] == {print}
        assert config.get_config_copy()["reorderable_logging_functions"] is not functions
        with config.patch(reorderable_logging_functions=set()):
            assert config.reorderable_logging_functions == set()
        assert config.reorderable_logging_functions is functions
    finally:
        functions.clear()


def test_saved_and_loaded():
    saved, copied = config.save_config(), config.get_config_copy()
    assert copied.keys() == ROWS.keys() | INERT.keys()
    with config.patch(recompile_limit=3, cprofile=True):
        config.load_config(saved)
        assert (config.recompile_limit, config.cprofile) == (8, False)
    config.load_config({"recompile_limit": 5, "a flag of another version": 1})
    assert config.recompile_limit == 5
    config.load_config(copied)
    assert config.get_config_copy() == copied


# Documented difference: a break in an inlined function keeps the graphs of its callers.
DIFFERENT_DEFAULTS = {"nested_graph_breaks"}


def test_torchs_names_and_defaults():
    theirs = pytest.importorskip("torch._dynamo.config")
    paths = {"base_dir", "debug_dir_root"}
    for name, entry in theirs._config.items():
        ours = getattr(config, name)
        if entry.alias is not None:
            assert _C.config_aliases()[name] == entry.alias.rpartition(".")[2]
        elif name in paths:
            assert isinstance(ours, str)
        else:
            assert (ours == entry.default) == (name not in DIFFERENT_DEFAULTS), name
            assert type(ours) is type(entry.default), name


def import_with(environment):
    code = "import minidynamo; print(minidynamo._dynamo.config.verbose, minidynamo._dynamo.config.snapshot_stress)"
    import os

    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("word", ["1", "true", "on", "yes"])
def test_environment(word):
    result = import_with({"MINIDYNAMO_VERBOSE": word, "MINIDYNAMO_SNAPSHOT_STRESS": "12"})
    assert result.stdout == "True 12\n", result.stderr


@pytest.mark.parametrize(
    ("variable", "value"),
    [("MINIDYNAMO_VERBOSE", "maybe"), ("MINIDYNAMO_SNAPSHOT_STRESS", "1x"), ("MINIDYNAMO_SNAPSHOT_STRESS", "-1")],
)
def test_bad_environment(variable, value):
    result = import_with({variable: value})
    assert result.returncode == 1
    assert f"ValueError: {variable} must be" in result.stderr
    assert f"got '{value}'" in result.stderr


def test_config_is_the_module():
    assert minidynamo._dynamo.config is config is sys.modules["minidynamo._dynamo.config"]
