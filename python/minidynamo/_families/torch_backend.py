"""torch.compile(backend="minidynamo"): an entry point of the group torch_dynamo_backends."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def minidynamo(gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
    """Returns a callable for a torch.fx.GraphModule.

    While grad mode is on and an input requires grad the graph is run by torch, which then records it.
    """
    import minidynamo as library

    return library.compile(gm.forward)
