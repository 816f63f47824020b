"""How the parts of a distributed tensor lie: values for arguments and comparisons."""

from __future__ import annotations

from dataclasses import dataclass

from ..._missing_names import explain_missing as _explain_missing

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """A base class."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is a Shard, of this dim if one is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether it is a Partial, of this operation if one is given."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Split along a dim."""

    dim: int


@dataclass(frozen=True)
class Replicate(Placement):
    """Whole in each process."""


@dataclass(frozen=True)
class Partial(Placement):
    """A part of a sum, or of another reduction."""

    reduce_op: str = "sum"


_explain_missing(__name__)
