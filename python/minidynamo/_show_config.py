"""Describes this installation and its settings."""

import platform

from . import _C
from ._dynamo import config


def show_config() -> str:
    """Returns the versions, the processor's instruction set, the threads and the flags as text."""
    version = platform.python_version()
    facts = {"minidynamo": _C.__version__, "Python": version, **_C.build_info()}
    facts["frame evaluation"] = "yes" if _C.frame_evaluation else f"no, Python {version} is not supported"
    width = max(map(len, facts))
    lines = [f"{name:<{width}}  {value}" for name, value in facts.items()]
    lines.append("flags (minidynamo._dynamo.config)")
    rows = _C.config_rows()
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        value = getattr(config, row["name"])
        origin = "default" if value == row["default"] else f"default {row['default']}"
        lines.append(f"  {row['name']:<{width}}  {value} ({origin})")
    return "\n".join(lines)
