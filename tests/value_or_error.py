"""What a call does, as a value that tests compare."""


def value_or_error(function, *args):
    """What the function returns, or (the name of the exception's type, its text)."""
    try:
        return function(*args)
    except Exception as error:
        return type(error).__name__, str(error)
