"""Makes the packages beside the tests importable."""
