"""Models of a directory with a hubconf.py, and files from the network that are kept in a cache."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from ._missing_names import explain_missing as _explain_missing
from ._serialization.saving import load as _load_file

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
READ_DATA_CHUNK = 128 * 1024
_HUBCONF = "hubconf.py"

_directory: str | None = None


def get_dir() -> str:
    """The directory of the cache: that of set_dir(), else $TORCH_HOME/hub.

    $TORCH_HOME is $XDG_CACHE_HOME/torch by default, and that ~/.cache. Source: torch.hub.get_dir.
    """
    if os.getenv("TORCH_HUB"):
        warnings.warn("TORCH_HUB is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    if _directory is not None:
        return _directory
    return os.path.join(_get_torch_home(), "hub")


def _get_torch_home() -> str:
    """The directory above that of the cache; torchvision asks for it."""
    default = os.path.join(os.getenv("XDG_CACHE_HOME", "~/.cache"), "torch")
    return os.path.expanduser(os.getenv("TORCH_HOME", default))


def set_dir(d: str | os.PathLike[str]) -> None:
    """Sets the directory of the cache. Source: torch.hub.set_dir."""
    global _directory
    _directory = os.path.expanduser(d)


def load(
    repo_or_dir: str | os.PathLike[str],
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str | None = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Calls the function `model` of the hubconf.py of a directory with the other arguments, and returns its result.

    source  must be "local": code of GitHub is not downloaded here, which is a RuntimeError that says what to do
    Raises ValueError for another source, RuntimeError if hubconf.py names dependencies that are not installed, or has
    no such function. Source: torch.hub.load.
    """
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        _refuse_github(repo_or_dir)
    with _on_path(repo_or_dir):
        return _entry(_hubconf(repo_or_dir), model)(*args, **kwargs)


def list(
    github: str | os.PathLike[str],
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = "check",
    verbose: bool = True,
) -> Any:
    """The names of the functions that the hubconf.py of a local directory offers. Source: torch.hub.list.

    Anything but a directory is a RuntimeError: code of GitHub is not downloaded here.
    """
    if not os.path.isdir(github):
        _refuse_github(github)
    with _on_path(github):
        module = _hubconf(github)
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(
    github: str | os.PathLike[str],
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = "check",
) -> str | None:
    """The docstring of a function of the hubconf.py of a local directory. Source: torch.hub.help.

    Anything but a directory is a RuntimeError: code of GitHub is not downloaded here.
    """
    if not os.path.isdir(github):
        _refuse_github(github)
    with _on_path(github):
        return _entry(_hubconf(github), model).__doc__


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Downloads to a file, which appears when it is whole; its permissions are those of any new file.

    hash_prefix  the first digits of the content's SHA-256: RuntimeError if they differ
    progress     shows a bar where tqdm is installed
    Errors of the network are urllib's. Source: torch.hub.download_url_to_file.
    """
    dst = os.path.expanduser(dst)
    part = f"{dst}.{uuid.uuid4().hex}.partial"
    digest = hashlib.sha256()
    try:
        with open(part, "xb") as file, urlopen(Request(url, headers={"User-Agent": "minidynamo.hub"})) as response:
            size = response.headers.get("Content-Length")
            with _bar(progress, None if size is None else int(size)) as bar:
                while chunk := response.read(READ_DATA_CHUNK):
                    file.write(chunk)
                    digest.update(chunk)
                    bar.update(len(chunk))
        found = digest.hexdigest()
        if hash_prefix is not None and not found.startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')
        shutil.move(part, dst)
    finally:
        if os.path.exists(part):
            os.remove(part)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """minidynamo.load() of a file that is downloaded once, to model_dir or the cache's `checkpoints`.

    check_hash    whether the file's name has the first digits of its SHA-256, as in `name-0123abcd.pth`
    file_name     the name in the cache, by default that in the URL
    weights_only  as of minidynamo.load, which runs no code of a file either way
    Source: torch.hub.load_state_dict_from_url.
    """
    if os.getenv("TORCH_MODEL_ZOO"):
        warnings.warn("TORCH_MODEL_ZOO is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    if model_dir is None:
        model_dir = os.path.join(get_dir(), "checkpoints")
    os.makedirs(model_dir, exist_ok=True)
    name = os.path.basename(urlparse(url).path) if file_name is None else file_name
    cached = os.path.join(model_dir, name)
    if not os.path.exists(cached):
        sys.stdout.write(f'Downloading: "{url}" to {cached}\n')
        match = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, cached, match[1] if match else None, progress)
    return _load_file(cached, map_location=map_location, weights_only=weights_only)


class tqdm:
    """A bar of progress where the package tqdm is missing: shows nothing."""

    def __init__(self, total: int | None = None, disable: bool = False, unit: str | None = None, **_: Any) -> None:
        self.total = total
        self.disable = disable
        self.n = 0

    def update(self, n: int) -> None:
        self.n += n

    def __enter__(self) -> tqdm:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _bar(progress: bool, total: int | None) -> Any:
    try:
        from tqdm import tqdm as bar  # type: ignore[import-untyped]  # has no types
    except ImportError:
        bar = tqdm
    return bar(total=total, disable=not progress, unit="B", unit_scale=True, unit_divisor=1024)


def _refuse_github(repository: object) -> None:
    raise RuntimeError(
        f"minidynamo.hub downloads no code: clone {repository!r} and pass the directory with source='local' "
        "(list and help take the directory)"
    )


@contextmanager
def _on_path(directory: str | os.PathLike[str]) -> Iterator[None]:
    path = os.fspath(directory)
    sys.path.insert(0, path)
    try:
        yield
    finally:
        sys.path.remove(path)


def _hubconf(directory: str | os.PathLike[str]) -> ModuleType:
    spec = importlib.util.spec_from_file_location(_HUBCONF, os.path.join(directory, _HUBCONF))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _entry(module: ModuleType, model: Any) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    needed = getattr(module, "dependencies", None) or ()
    missing = [each for each in needed if importlib.util.find_spec(each) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    found = getattr(module, model, None)
    if found is None or not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def _validate_not_a_forked_repo(*args: Any) -> None:
    """Does nothing: programs put a function of their own in its place."""


_explain_missing(__name__)
