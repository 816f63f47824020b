"""Importing this module puts minidynamo in torch's place, for the whole process: `import torch` gives minidynamo then.

Raises ImportError where torch itself has been imported already. Modules of torch are those of minidynamo by the same
name, one object each; of one that is not here the import raises ModuleNotFoundError. Processes that multiprocessing
starts have it in place as well. When the process ends, the names that were asked for and are missing are printed to
stderr, with the line that asked.
"""

from . import in_place

in_place.install()
