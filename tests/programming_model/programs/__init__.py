"""Short programs with breaks in each place, policies that nest in each way, controls and errors.

Each takes a tensor and a list that it may write to. The line at which capture first ends is marked `# break`; if a policy
inside the program makes another one the error, that is marked `# error`.
The programs use names that torch has too, so that torch_counts.py can run them there.
"""

import importlib
import pkgutil

from .registry import PROGRAMS, Program

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["PROGRAMS", "Program"]
