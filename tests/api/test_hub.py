"""hub: files from URLs (file: and a server of this process) and models of a directory with a hubconf.py."""

import functools
import hashlib
import http.server
import os
import threading
import urllib.error

import pytest

import minidynamo
from minidynamo import hub
from minidynamo.utils.model_zoo import load_url

HUBCONF = '''
dependencies = ["json"]
import helper_of_the_hub

def model(size, *, scale=1):
    """A model."""
    return helper_of_the_hub.scale * scale, size

def _hidden():
    pass

VALUE = 3
'''


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "hubconf.py").write_text(HUBCONF)
    (folder / "helper_of_the_hub.py").write_text("scale = 10\n")
    return folder


@pytest.fixture
def weights(tmp_path):
    tensors = {"a": minidynamo.arange(5.0)}
    path = tmp_path / "weights.safetensors"
    minidynamo.save(tensors, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return path.rename(tmp_path / f"weights-{digest[:8]}.pth")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    for name in ("TORCH_HOME", "XDG_CACHE_HOME", "TORCH_HUB", "TORCH_MODEL_ZOO"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(hub, "_directory", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "hub"


@pytest.fixture
def server(tmp_path):
    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(tmp_path)))
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{made.server_port}"
    made.shutdown()
    thread.join()
    made.server_close()


def test_the_directory(monkeypatch, tmp_path, cache):
    assert hub.get_dir() == str(cache)
    monkeypatch.delenv("TORCH_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert hub.get_dir() == "/cache/torch/hub"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert hub.get_dir() == os.path.expanduser("~/.cache/torch/hub")
    hub.set_dir("~/there")
    assert hub.get_dir() == os.path.expanduser("~/there")
    monkeypatch.setenv("TORCH_HUB", "x")
    with pytest.warns(UserWarning, match="TORCH_HUB is deprecated"):
        hub.get_dir()


@pytest.mark.parametrize("load", [hub.load_state_dict_from_url, load_url])
def test_weights_of_a_file(load, weights, cache, capsys):
    found = load(weights.as_uri(), check_hash=True, progress=False)
    assert found["a"].tolist() == [0, 1, 2, 3, 4]
    kept = cache / "checkpoints" / weights.name
    assert capsys.readouterr().out == f'Downloading: "{weights.as_uri()}" to {kept}\n'
    weights.unlink()
    assert load(weights.as_uri())["a"].tolist() == [0, 1, 2, 3, 4]
    assert capsys.readouterr().out == ""
    assert os.listdir(cache / "checkpoints") == [weights.name]


def test_weights_of_a_server(weights, server, tmp_path):
    url = f"{server}/{weights.name}?query=1"
    found = hub.load_state_dict_from_url(url, str(tmp_path / "m"), file_name="other.pth", progress=False)
    assert found["a"].tolist() == [0, 1, 2, 3, 4] and os.listdir(tmp_path / "m") == ["other.pth"]


def test_a_wrong_hash(weights, cache):
    wrong = weights.rename(weights.parent / "weights-0123abcd.pth")
    digest = hashlib.sha256(wrong.read_bytes()).hexdigest()
    with pytest.raises(RuntimeError) as caught:
        hub.load_state_dict_from_url(wrong.as_uri(), check_hash=True, progress=False)
    assert str(caught.value) == f'invalid hash value (expected "0123abcd", got "{digest}")'
    assert os.listdir(cache / "checkpoints") == []


def test_errors_of_the_network(server, tmp_path):
    target = tmp_path / "new" / "file"
    target.parent.mkdir()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        hub.download_url_to_file(f"{server}/missing", str(target), progress=False)
    with pytest.raises(urllib.error.URLError):
        hub.download_url_to_file((tmp_path / "missing").as_uri(), str(target))
    assert os.listdir(target.parent) == []


def test_a_local_directory(repository):
    assert hub.load(repository, "model", 3, scale=2, source="local") == (20, 3)
    assert hub.load(str(repository), "model", 3, source="LOCAL") == (10, 3)
    assert hub.list(str(repository)) == ["model"]
    assert hub.help(str(repository), "model") == "A model."


@pytest.mark.parametrize(
    "call, error, text",
    [
        (
            lambda path: hub.load(path, "model", source="web"),
            ValueError,
            'Unknown source: "web". Allowed values: "github" | "local".',
        ),
        (lambda path: hub.load(path, "other", source="local"), RuntimeError, "Cannot find callable other in hubconf"),
        (lambda path: hub.load(path, "VALUE", source="local"), RuntimeError, "Cannot find callable VALUE in hubconf"),
        (
            lambda path: hub.load(path, 3, source="local"),
            ValueError,
            "Invalid input: model should be a string of function name",
        ),
    ],
)
def test_wrong_calls(repository, call, error, text):
    with pytest.raises(error) as caught:
        call(str(repository))
    assert str(caught.value) == text


def test_missing_dependencies(repository):
    (repository / "hubconf.py").write_text("dependencies = ['json', 'not_a_package']\ndef model(): pass\n")
    with pytest.raises(RuntimeError, match="^Missing dependencies: not_a_package$"):
        hub.load(repository, "model", source="local")


@pytest.mark.parametrize("call", [lambda: hub.load("a/b", "c"), lambda: hub.list("a/b"), lambda: hub.help("a/b", "c")])
def test_code_of_github_is_not_downloaded(call):
    with pytest.raises(RuntimeError, match="source='local'"):
        call()
