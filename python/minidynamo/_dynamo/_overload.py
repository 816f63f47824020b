"""typing.overload. typing itself takes a while to import."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import overload as overload
else:

    def overload(function: object) -> object:
        return function
