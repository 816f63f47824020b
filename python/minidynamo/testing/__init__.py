"""Comparisons for tests, with torch's texts."""

from .comparison import assert_close

__all__ = ["assert_close"]
