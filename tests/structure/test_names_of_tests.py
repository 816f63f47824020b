"""Names of test modules: pytest imports those outside of packages by their base names alone."""

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_no_two_modules_share_a_name():
    modules = [path for path in TESTS.rglob("test_*.py") if not (path.parent / "__init__.py").exists()]
    counts = Counter(path.name for path in modules)
    assert [str(path) for path in modules if counts[path.name] > 1] == []
