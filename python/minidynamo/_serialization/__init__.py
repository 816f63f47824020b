"""save() and load(), and how files are read."""
