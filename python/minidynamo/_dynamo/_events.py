"""Events of capture (the table is csrc/base/events.def) for listeners in this process."""

from __future__ import annotations

import json

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_listeners: list[Callable[[dict[str, Any]], object]] = []


def listen(listener: Callable[[dict[str, Any]], object]) -> None:
    """listener(event) is called with a dict for each event: time, kind, frame, compile_id, payload."""
    _listeners.append(listener)
    _C._set_event_listener(_dispatch)


def stop_listening(listener: Callable[[dict[str, Any]], object]) -> None:
    _listeners.remove(listener)
    if not _listeners:
        _C._set_event_listener(None)


def _dispatch(kind: object, line: str) -> None:
    event = json.loads(line)
    for listener in tuple(_listeners):
        listener(event)
