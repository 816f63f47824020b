from ._C import __version__

__all__ = ["__version__"]
