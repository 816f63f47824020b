"""Snippets of Python, one construct each, by topic. Importing this package registers them all."""

import importlib
import pkgutil
import sys

# Modules with syntax that older versions cannot read.
_SINCE = {"syntax_312": (3, 12), "syntax_314": (3, 14)}

for _module in pkgutil.iter_modules(__path__):
    if sys.version_info >= _SINCE.get(_module.name, (3,)):
        importlib.import_module(f"{__name__}.{_module.name}")
