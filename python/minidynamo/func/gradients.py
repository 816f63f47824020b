"""Names that need gradients of functions: programs import them, and calling one says what is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"func.{name}: minidynamo has no transform of functions into their gradients")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raises NotImplementedError."
    return refuse


grad = _refusing("grad")
grad_and_value = _refusing("grad_and_value")
vjp = _refusing("vjp")
jvp = _refusing("jvp")
jacrev = _refusing("jacrev")
jacfwd = _refusing("jacfwd")
hessian = _refusing("hessian")
linearize = _refusing("linearize")
