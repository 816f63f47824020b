"""The names of torch.nn that minidynamo has."""

from . import functional

__all__ = ["functional"]
