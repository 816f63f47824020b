"""Collation, fetching and worker processes of DataLoader, at torch's places."""

from . import collate, fetch, worker

__all__ = ["collate", "fetch", "worker"]
