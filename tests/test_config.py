import subprocess
import sys

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
    with pytest.raises(AttributeError, match=message):
        config.patch(zzz=1)
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
        """A doc string."""
        return limit(depth - 1) if depth else config.recompile_limit

    assert limit() == 3
    assert limit.__name__ == "limit"
    assert limit.__doc__ == "A doc string."
    assert config.recompile_limit == ROWS["recompile_limit"]["default"]


@pytest.mark.parametrize("arguments", [(), (3,)])
def test_patch_without_flags(arguments):
    with pytest.raises(TypeError, match="patch"):
        config.patch(*arguments)


def test_a_flag_cannot_be_deleted():
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del config.verbose


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
