"""Interrupts a test after a time."""

import contextlib
import signal


@contextlib.contextmanager
def alarm(seconds, handler):
    """SIGALRM calls handler(number, frame) once, after the seconds; outside of the block it is as before."""
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
