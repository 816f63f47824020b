"""Coroutines, driven by hand and by asyncio."""

import asyncio

from differential import snippet


async def double(x):
    return x * 2


async def both(x):
    return await double(x) + await double(x + 1)


@snippet()
def driven_by_hand(x):
    coroutine = both(x)
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value


@snippet()
def asyncio_run(x):
    return asyncio.run(both(x))


@snippet()
def async_generator(x):
    async def values():
        yield x
        yield x + 1

    async def collect():
        return [y async for y in values()]

    return asyncio.run(collect())


@snippet()
def async_with(x):
    class Manager:
        async def __aenter__(self):
            return 3

        async def __aexit__(self, *args):
            return False

    async def use():
        async with Manager() as n:
            return x * n

    return asyncio.run(use())
