"""The version of torch that minidynamo follows, which programs compare when it stands in torch's place.

minidynamo.__version__ is minidynamo's own version, the one that pip shows. Where sys.modules has minidynamo as "torch",
it is the TorchVersion "2.13.0+minidynamo" instead: programs that import torch ask for torch's version, and compare it,
parse it or split it at "+" and ".".
"""

from __future__ import annotations

import re
import sys
from typing import Any

from . import _C
from ._missing_names import explain_missing as _explain_missing

__all__ = ["TorchVersion"]

_FORM = re.compile(
    r"""v? (?:(?P<epoch>\d+)!)? (?P<release>\d+(?:\.\d+)*)
    (?:[-_.]? (?P<pre>alpha|a|beta|b|preview|pre|c|rc) [-_.]? (?P<pre_number>\d*))?
    (?P<post>-\d+ | [-_.]?(?:post|rev|r)[-_.]?\d*)? (?:[-_.]? dev [-_.]? (?P<dev>\d*))?
    (?:\+ (?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?""",
    re.VERBOSE | re.IGNORECASE,
)
_PRE = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
# Before all pre-releases, and after them.
_FIRST, _LAST = (-1, 0), (3, 0)


def _key(text: str) -> tuple[Any, ...] | None:
    """What orders versions as PEP 440 says; None for a text that is no version."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        return None
    release = [int(part) for part in found["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    has_dev = re.search(r"dev", text.partition("+")[0], re.IGNORECASE) is not None
    pre = _LAST
    if found["pre"]:
        pre = _PRE[found["pre"].lower()], int(found["pre_number"] or 0)
    elif has_dev and not found["post"]:
        pre = _FIRST
    post = int(re.sub(r"\D", "", found["post"]) or 0) if found["post"] else -1
    dev = int(found["dev"] or 0) if has_dev else sys.maxsize
    parts = re.split(r"[-_.]", found["local"].lower()) if found["local"] else []
    local = [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts]
    return int(found["epoch"] or 0), release, pre, post, dev, local


def _text(other: Any) -> str | None:
    """The version that an iterable of parts says, or an object of packaging's class; None for other things."""
    if hasattr(other, "__iter__"):
        return ".".join(str(part) for part in other)
    return str(other) if type(other).__name__ == "Version" else None


class TorchVersion(str):
    """A text that compares as a version: with a text, with a tuple of its parts, (1, 8), or with packaging's Version.

    Texts that are no versions compare as texts. TypeError for other things.
    """

    def _compared(self, other: Any, name: str) -> Any:
        text = other if isinstance(other, str) else _text(other)
        mine, its = _key(self), None if text is None else _key(text)
        if text is not None and mine is not None and its is not None:
            return getattr(mine, name)(its)
        return getattr(str, name)(self, other)

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, "__lt__")

    def __le__(self, other: Any) -> Any:
        return self._compared(other, "__le__")

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, "__gt__")

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, "__ge__")

    def __eq__(self, other: object) -> Any:
        return self._compared(other, "__eq__")

    __hash__ = str.__hash__


_IN_PLACE = TorchVersion("2.13.0+minidynamo")


def _version() -> str:
    """minidynamo.__version__."""
    package = sys.modules[__name__.partition(".")[0]]
    return _IN_PLACE if sys.modules.get("torch") is package else _C.__version__


_explain_missing(__name__)
