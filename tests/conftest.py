"""Makes the packages beside the tests importable."""

from minidynamo import _C

# These need the engine.
if not hasattr(_C, "engine_counters"):
    collect_ignore = ["differential", "language", "programming_model", "seeds", "test_safetensors.py"]
