"""The names of torch.fx.proxy, for isinstance() tests: there are no proxies, as capture is not of torch.fx's kind."""

from __future__ import annotations

from typing import Any

from .._missing_names import explain_missing as _explain_missing

__all__ = ["Attribute", "Proxy", "TraceError"]


class TraceError(ValueError):
    """For except clauses: nothing here raises it."""


class Proxy:
    """For isinstance() tests: there are none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("fx.Proxy cannot be constructed: minidynamo.compile captures functions without proxies")


class Attribute(Proxy):
    """For isinstance() tests: there are none."""


_explain_missing(__name__)
