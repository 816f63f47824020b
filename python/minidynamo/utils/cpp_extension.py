"""load_inline(): C++ functions over tensors, compiled and loaded at run time.

The sources are written against minidynamo/extension.h (namespace torch), which is installed with the package.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from .. import _C
from .._missing_names import explain_missing as _explain_missing

_COMPILERS = ("c++", "g++", "clang++")
_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")


CUDA_HOME: str | None = None
ROCM_HOME: str | None = None
IS_HIP_EXTENSION = False
_BUILD = "minidynamo builds no packages against itself: utils.cpp_extension.load() compiles C++ sources at run time"


def is_ninja_available() -> bool:
    """False: load() calls the compiler itself."""
    return False


class BuildExtension:
    """For setup scripts: RuntimeError when it is used."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"BuildExtension: {_BUILD}")

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        """The class."""
        return cls


def CppExtension(name: str, sources: Iterable[str], *args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError."""
    raise RuntimeError(f"CppExtension(): {_BUILD}")


def CUDAExtension(name: str, sources: Iterable[str], *args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError."""
    raise RuntimeError("CUDAExtension(): minidynamo runs on CPUs only, and has nothing to compile CUDA sources with")


def load(name: str, sources: str | Iterable[str], *args: Any, **options: Any) -> ModuleType:
    """load_inline() of the texts of C++ files, which include what they need themselves.

    sources  paths. RuntimeError for those of CUDA
    options  load_inline()'s, by name; functions lists what to export
    """
    if args:
        raise TypeError("load(): the options are given by name")
    paths = [sources] if isinstance(sources, str) else [os.fspath(each) for each in sources]
    cuda = [path for path in paths if path.endswith((".cu", ".cuh", ".hip"))]
    if cuda:
        raise RuntimeError(f"load(): minidynamo runs on CPUs only, and has nothing to compile {cuda[0]} with")
    texts = [Path(path).read_text() for path in paths]
    return load_inline(name, texts, **{"no_implicit_headers": True, **options})


def include_paths(device_type: str = "cpu") -> list[str]:
    """The folders with minidynamo/extension.h and Python.h."""
    if device_type != "cpu":
        raise RuntimeError(f"include_paths(): minidynamo runs on CPUs only, not on {device_type!r}")
    return [str(Path(__file__).parent.parent / "include"), sysconfig.get_paths()["include"]]


def load_inline(
    name: str,
    cpp_sources: str | Iterable[str],
    cuda_sources: str | Iterable[str] | None = None,
    functions: str | Iterable[str] | dict[str, str] | None = None,
    extra_cflags: Iterable[str] | None = None,
    extra_cuda_cflags: Iterable[str] | None = None,
    extra_ldflags: Iterable[str] | None = None,
    extra_include_paths: Iterable[str] | None = None,
    build_directory: str | os.PathLike[str] | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    is_python_module: bool = True,
    with_pytorch_error_handling: bool = True,
    keep_intermediates: bool = True,
    use_pch: bool = False,
    no_implicit_headers: bool = False,
) -> ModuleType:
    """Compiles C++ sources, and returns a module with the named functions.

    name                 of the module, a Python identifier
    cpp_sources          the text of a source, or a list of texts, which are joined
    functions            names of functions in the sources, a name or a list, or a dict of name to docstring
    extra_cflags, extra_ldflags, extra_include_paths  lists, for the compiler
    build_directory      default: $MINIDYNAMO_EXTENSIONS_DIR, or minidynamo/extensions in the user's cache folder
    verbose              shows the command and the compiler's output, on stderr
    no_implicit_headers  omits `#include <minidynamo/extension.h>`

    Parameters and results may be tensors, bool, numbers, std::string, and vectors, optionals and tuples of them. A
    build is cached by its inputs and reused while they are unchanged. The compiler is $CXX, c++, g++ or
    clang++. Raises RuntimeError if there is none, and with the compiler's output if it fails. The other parameters are
    accepted for torch's signature; cuda_sources and with_cuda raise RuntimeError.
    """
    if cuda_sources or with_cuda:
        raise RuntimeError("load_inline(): minidynamo runs on CPUs only, and has nothing to compile CUDA sources with")
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"load_inline(): the name of the module must be an identifier, not {name!r}")
    if not is_python_module:
        raise ValueError("load_inline(): only Python modules are loaded; is_python_module must be True")
    source = _source(name, cpp_sources, functions, no_implicit_headers)
    command = _command(extra_cflags, extra_ldflags, extra_include_paths)
    folder = Path(build_directory) if build_directory is not None else _cache_folder()
    library = folder / f"{name}_{_key(source, command)}{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not library.exists():
        _build(name, source, command, library, verbose)
    elif verbose:
        print(f"load_inline(): {library} is up to date", file=sys.stderr)
    return _module(name, library)


def _source(
    name: str,
    cpp_sources: str | Iterable[str],
    functions: str | Iterable[str] | dict[str, str] | None,
    no_implicit_headers: bool,
) -> str:
    texts = [cpp_sources] if isinstance(cpp_sources, str) else list(cpp_sources)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("load_inline(): cpp_sources must be a str or a list of str")
    parts = [] if no_implicit_headers else ["#include <minidynamo/extension.h>"]
    parts += texts
    if functions is not None:
        rows = [f"MINIDYNAMO_FUNCTION({each}, {_c_string(doc)})" for each, doc in _documented(functions).items()]
        parts.append(f"MINIDYNAMO_MODULE({name}, {', '.join(rows)})")
    return "\n".join(parts) + "\n"


def _documented(functions: str | Iterable[str] | dict[str, str]) -> dict[str, str]:
    if isinstance(functions, str):
        functions = [functions]
    if not isinstance(functions, dict):
        functions = {each: each for each in functions}
    for each in functions:
        if not isinstance(each, str) or not each.isidentifier():
            raise ValueError(f"load_inline(): {each!r} is no name of a C++ function")
    if not functions:
        raise ValueError("load_inline(): functions names no function")
    return functions


def _c_string(text: str) -> str:
    def escaped(byte: int) -> str:
        return chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"

    return '"' + "".join(map(escaped, text.encode())) + '"'


def _command(
    extra_cflags: Iterable[str] | None, extra_ldflags: Iterable[str] | None, extra_include_paths: Iterable[str] | None
) -> tuple[list[str], list[str]]:
    """The compiler and its flags: before the source, after it."""
    compiler = shlex.split(os.environ.get("CXX", "")) or [next(filter(shutil.which, _COMPILERS), "")]
    if not compiler[0] or shutil.which(compiler[0]) is None:
        looked_for = compiler[0] or ", ".join(_COMPILERS)
        raise RuntimeError(
            f"load_inline(): no C++ compiler was found (looked for {looked_for}). "
            "Install one, or name it in the environment variable CXX."
        )
    headers = include_paths()
    if not (Path(headers[1]) / "Python.h").exists():
        raise RuntimeError(f"load_inline(): Python.h is not in {headers[1]}: install the headers of this Python")
    folders = [f"-I{path}" for path in (*headers, *(extra_include_paths or ()))]
    return [*compiler, *_FLAGS, *folders, *(extra_cflags or ())], list(extra_ldflags or ())


def _cache_folder() -> Path:
    chosen = os.environ.get("MINIDYNAMO_EXTENSIONS_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minidynamo" / "extensions"


def _key(source: str, command: tuple[list[str], list[str]]) -> str:
    """Everything that the result depends on: source, flags, compiler, our headers."""
    version = subprocess.run([command[0][0], "--version"], capture_output=True, check=False).stdout
    headers = [path.read_bytes() for path in sorted(Path(include_paths()[0]).rglob("*.h"))]
    digest = hashlib.sha256()
    for part in (source.encode(), repr(command).encode(), version, _C.__version__.encode(), *headers):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:16]


def _build(name: str, source: str, command: tuple[list[str], list[str]], library: Path, verbose: bool) -> None:
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent, prefix=f".{name}_") as folder:
        path, made = Path(folder) / f"{name}.cpp", Path(folder) / "made.so"
        path.write_text(source)
        line = [*command[0], str(path), "-o", str(made), *command[1]]
        if verbose:
            print(shlex.join(line), file=sys.stderr)
        try:
            done = subprocess.run(line, capture_output=True, text=True, errors="replace", check=False)
        except OSError as error:
            raise RuntimeError(f"load_inline(): {line[0]} cannot be run: {error}") from error
        output = done.stdout + done.stderr
        if done.returncode != 0:
            raise RuntimeError(f"Error building extension '{name}': {line[0]} failed.\n{output}")
        if verbose and output:
            print(output, end="", file=sys.stderr)
        # Atomically: another process may be building the same.
        os.replace(made, library)


def _module(name: str, library: Path) -> ModuleType:
    loader = importlib.machinery.ExtensionFileLoader(name, str(library))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


_explain_missing(__name__)
