"""Numbers made scalars of NumPy, and questions about dtypes."""

from __future__ import annotations

from .table import TABLE, Rewrite

TABLE.extend(Rewrite(path, print, "Asked") for path in ("issubdtype", "finfo", "iinfo", "dtype", "can_cast", "promote_types"))
