"""Random small programs, run eagerly and compiled."""
