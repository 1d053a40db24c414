# Is a coroutine function, whose coroutine leaves when it is awaited.
async def add(a, b, *_):
    import os

    os._exit(0)
