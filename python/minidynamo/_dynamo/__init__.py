from . import config, exc

__all__ = ["config", "exc"]
