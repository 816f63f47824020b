"""Runs work in several threads at the same time."""

import threading


def at_once(work, count):
    """Calls work(number) for each number below count, each in its own thread, and raises the exception of one that
    raised."""
    errors = []

    def run(number):
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
