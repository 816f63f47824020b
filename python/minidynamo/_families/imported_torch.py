"""torch as the program imported it, for modules that depend on it."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

if "torch" not in sys.modules:
    raise ImportError(
        "imported by itself: this module depends on torch, which the program has not imported", name="torch"
    )
torch: Any = sys.modules["torch"]
