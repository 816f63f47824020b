"""pandas: its own code runs as Python, with all that it calls. Arrays at its border are NumPy's."""

from __future__ import annotations

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def load(pandas: Any) -> str | None:
    _C._leave_files(f"{pandas.__path__[0]}/")
    return None
