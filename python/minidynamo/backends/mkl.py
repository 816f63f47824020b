"""MKL is not here."""


def is_available() -> bool:
    return False
