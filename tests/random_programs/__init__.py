"""Random small programs, run as plain Python and compiled."""
