"""Programs for torch with minidynamo in its place: `import minidynamo.compat.torch`, `python -m minidynamo run`."""

from . import missing_names, script

__all__ = ["missing_names", "script"]
