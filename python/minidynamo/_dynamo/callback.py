"""Callbacks for the start and the end of captures.

    @on_compile_start
    def tell(args):
        print("capturing", args.compile_id)

Captures inside a capture (a backend that calls compiled functions) do not count. Exceptions of callbacks are printed to
stderr and have no effect.
"""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from .._missing_names import explain_missing as _explain_missing
from . import _events


class CallbackTrigger(enum.Enum):
    """Why a callback is called: there is one reason."""

    DYNAMO = 1


@dataclass
class CallbackArgs:
    """The argument of a callback; compile_id is `frame/capture`, as in the logs."""

    callback_trigger: CallbackTrigger
    compile_id: str


_Callback = TypeVar("_Callback", bound=Callable[[CallbackArgs], object])


class CompilationCallbackHandler:
    """The callbacks of the process; each is called once for each time that it was registered."""

    def __init__(self) -> None:
        self.start_callbacks: list[Callable[[CallbackArgs], object]] = []
        self.end_callbacks: list[Callable[[CallbackArgs], object]] = []
        self._pending = 0
        self._listening = False

    def register_start_callback(self, callback: _Callback) -> _Callback:
        self.start_callbacks.append(self._checked(callback))
        self._listen()
        return callback

    def register_end_callback(self, callback: _Callback) -> _Callback:
        self.end_callbacks.append(self._checked(callback))
        self._listen()
        return callback

    def remove_start_callback(self, callback: Callable[[CallbackArgs], object]) -> None:
        self.start_callbacks.remove(callback)
        self._listen()

    def remove_end_callback(self, callback: Callable[[CallbackArgs], object]) -> None:
        self.end_callbacks.remove(callback)
        self._listen()

    def run_start_callbacks(self, args: CallbackArgs) -> None:
        for callback in tuple(self.start_callbacks):
            callback(args)

    def run_end_callbacks(self, args: CallbackArgs) -> None:
        for callback in tuple(self.end_callbacks):
            callback(args)

    def clear(self) -> None:
        """Removes all callbacks; AssertionError during a capture."""
        if self._pending:
            raise AssertionError(f"Cannot clear callbacks while {self._pending} are pending")
        self.start_callbacks.clear()
        self.end_callbacks.clear()
        self._listen()

    @staticmethod
    def _checked(callback: _Callback) -> _Callback:
        if not callable(callback):
            raise TypeError(f"a callback must be callable, not {type(callback).__name__}")
        return callback

    def _listen(self) -> None:
        wanted = bool(self.start_callbacks or self.end_callbacks)
        if wanted and not self._listening:
            _events.listen(self._on_event)
        elif self._listening and not wanted and not self._pending:
            _events.stop_listening(self._on_event)
        else:
            return
        self._listening = wanted

    def _on_event(self, event: dict[str, Any]) -> None:
        if event["kind"] == "capture_start":
            self._pending += 1
            if self._pending == 1:
                self.run_start_callbacks(CallbackArgs(CallbackTrigger.DYNAMO, event["compile_id"]))
        elif event["kind"] == "capture_end" and self._pending:
            self._pending -= 1
            if self._pending == 0:
                self.run_end_callbacks(CallbackArgs(CallbackTrigger.DYNAMO, event["compile_id"]))
                self._listen()


callback_handler = CompilationCallbackHandler()


def on_compile_start(callback: _Callback) -> _Callback:
    """Decorator: callback(args) is called when a capture begins."""
    return callback_handler.register_start_callback(callback)


def on_compile_end(callback: _Callback) -> _Callback:
    """Decorator: callback(args) is called when a capture is done or has failed."""
    return callback_handler.register_end_callback(callback)


_explain_missing(__name__)
