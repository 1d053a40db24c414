"""asyncio: tasks, queues, locks, timeouts, asynchronous iteration."""

import asyncio
import contextlib
import selectors


class NoFiles(selectors._BaseSelectorImpl):
    """The sandbox has nothing that a loop could wait for but time."""

    def select(self, timeout=None):
        return []


class Loop(asyncio.SelectorEventLoop):
    def __init__(self):
        super().__init__(NoFiles())

    def _make_self_pipe(self):
        pass

    def _close_self_pipe(self):
        pass

    def _write_to_self(self):
        pass


async def produce(queue, count):
    for i in range(count):
        await queue.put(i)
        if i % 4 == 0:
            await asyncio.sleep(0)
    await queue.put(None)


async def consume(queue):
    total = 0
    while (item := await queue.get()) is not None:
        total += item
        queue.task_done()
    return total


async def fetch(i):
    await asyncio.sleep(0)
    if i % 10 == 9:
        raise ConnectionError(i)
    return i * i


async def limited(semaphore, i):
    async with semaphore:
        await asyncio.sleep(0)
        return i


async def ticks(count):
    for i in range(count):
        yield i
        await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def session():
    await asyncio.sleep(0)
    try:
        yield {"open": True}
    finally:
        await asyncio.sleep(0)


async def countdown(n):
    return 0 if n == 0 else 1 + await countdown(n - 1)


async def main():
    queue = asyncio.Queue(maxsize=8)
    _, total = await asyncio.gather(produce(queue, 200), consume(queue))
    assert total == 19900
    results = await asyncio.gather(*(fetch(i) for i in range(100)), return_exceptions=True)
    assert sum(isinstance(result, ConnectionError) for result in results) == 10
    semaphore = asyncio.Semaphore(4)
    assert sum(await asyncio.gather(*[limited(semaphore, i) for i in range(80)])) == 3160
    assert [i async for i in ticks(60) if i % 2][0] == 1
    for _ in range(25):
        async with session() as opened:
            assert opened["open"]
    assert await countdown(60) == 60
    lock, event, counter = asyncio.Lock(), asyncio.Event(), 0

    async def increment():
        nonlocal counter
        await event.wait()
        async with lock:
            value = counter
            await asyncio.sleep(0)
            counter = value + 1

    async with asyncio.TaskGroup() as group:
        for _ in range(50):
            group.create_task(increment())
        event.set()
    assert counter == 50
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), timeout=0.001)
    task = asyncio.create_task(asyncio.sleep(60))
    await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    done, pending = await asyncio.wait([asyncio.create_task(fetch(i)) for i in range(8)])
    assert len(done) == 8 and not pending


for repetition in range(8):
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(main())
