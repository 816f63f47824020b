"""no_grad, enable_grad, set_grad_enabled and inference_mode: context managers that are decorators too.

__init__, __enter__ and __exit__ are inlined by captures: they do nothing but read and write attributes of self.
"""

from __future__ import annotations

import functools

from .._C import _exchange_grad_mode, _exchange_inference_mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager
    from typing import Any, ParamSpec, TypeVar

    _P = ParamSpec("_P")
    _R = TypeVar("_R")

_GENERATOR = 0x20  # inspect.CO_GENERATOR


class _Mode:
    """As a decorator, each call of the function runs in the mode."""

    def __init__(self, func: object = None) -> None:
        self._previous: list[bool] = []
        self._func: Callable[..., Any] | None = None
        if func is not None:
            self._wrap(func)

    # `@no_grad` without parentheses: the object replaces the decorated function.
    def _wrap(self, func: object) -> None:
        if not callable(func):
            raise TypeError(f"{type(self).__name__}() takes a function to decorate, not {type(func).__name__}")
        self._func = self._decorate(func)
        functools.update_wrapper(self, func)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._func is not None:
            return self._func(*args, **kwargs)
        if len(args) != 1 or kwargs or not callable(args[0]):
            raise TypeError(f"{type(self).__name__} decorates one function")
        return self._decorate(args[0])

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if self._func is None else self._func.__get__(instance, owner)

    def _fresh(self) -> AbstractContextManager[None]:
        return type(self)()  # type: ignore[return-value]  # each subclass is one

    def _decorate(self, func: Callable[..., Any]) -> Callable[..., Any]:
        code = getattr(func, "__code__", None)
        if code is not None and code.co_flags & _GENERATOR:
            return self._decorate_generator(func)

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self._fresh():
                return func(*args, **kwargs)

        return wrapper

    # The mode is active while the generator runs, not while its consumer does.
    def _decorate_generator(
        self, func: Callable[..., Generator[Any, Any, Any]]
    ) -> Callable[..., Generator[Any, Any, Any]]:
        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            generator = func(*args, **kwargs)
            step: Callable[[Any], Any]
            value: Any
            step, value = generator.send, None
            while True:
                try:
                    with self._fresh():
                        produced = step(value)
                except StopIteration as stop:
                    return stop.value
                try:
                    step, value = generator.send, (yield produced)
                except GeneratorExit:
                    with self._fresh():
                        generator.close()
                    raise
                except BaseException as error:
                    step, value = generator.throw, error

        return wrapper


class no_grad(_Mode):
    """Results do not require grad, whatever their inputs do."""

    def __enter__(self) -> None:
        self._previous.append(_exchange_grad_mode(False))

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        _exchange_grad_mode(self._previous.pop())


class enable_grad(_Mode):
    """Undoes no_grad."""

    def __enter__(self) -> None:
        self._previous.append(_exchange_grad_mode(True))

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        _exchange_grad_mode(self._previous.pop())


class set_grad_enabled(_Mode):
    """Sets grad mode at once; as a context manager, until its end."""

    def __init__(self, mode: object) -> None:
        self._func = None
        self.mode = mode
        self._previous = [_exchange_grad_mode(mode)]

    def __enter__(self) -> None:
        pass

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        _exchange_grad_mode(self._previous.pop())

    def __call__(self, func: Callable[_P, _R]) -> Callable[_P, _R]:
        _exchange_grad_mode(self._previous.pop())
        return self._decorate(func)

    def _fresh(self) -> AbstractContextManager[None]:
        return set_grad_enabled(self.mode)


class inference_mode(_Mode):
    """no_grad, and results are marked as never requiring gradients."""

    def __init__(self, mode: object = True) -> None:
        self._previous = []
        self._func = None
        self.mode = mode
        if mode is not True and mode is not False:
            self.mode = True
            self._wrap(mode)

    def __enter__(self) -> None:
        self._previous.append(_exchange_inference_mode(self.mode))
        self._previous.append(_exchange_grad_mode(not self.mode))

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        _exchange_grad_mode(self._previous.pop())
        _exchange_inference_mode(self._previous.pop())

    def _fresh(self) -> AbstractContextManager[None]:
        return inference_mode(self.mode)
