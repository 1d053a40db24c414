"""Jobs and statistics against a real service."""

from __future__ import annotations

import datetime
import uuid

import anyio
import pytest

import proofbox
from proofbox.options import SuiteItem


def _items(count: int) -> list[SuiteItem]:
    return [{"id": f"item#{number}", "code": f"n = {number}\nprint(n)"} for number in range(count)]


TESTS = {"kind": "asserts", "asserts": ["assert n % 2 == 0"]}


def test_a_suite_in_the_background_is_followed_to_its_end(client: proofbox.Client) -> None:
    job = client.jobs.submit_suite(_items(20), defaults={"tests": TESTS, "labels": {"model": "jobs"}}, k=[1, 2])
    results = list(job.results())
    assert sorted(int(result.stdout) for result in results) == list(range(20))
    assert all(result.status == ("failed" if int(result.stdout) % 2 else "passed") for result in results)
    assert (job.info.state, job.info.done, job.info.by_status) == ("finished", 20, {"passed": 10, "failed": 10})
    assert [result.stdout for result in job.results(after=15)] == [result.stdout for result in results[15:]]
    report = job.report()
    assert (report.items, report.pass_rate) == (20, 0.5)
    assert job.report_page().startswith("<!doctype html>")
    stats = client.stats("model", labels={"model": "jobs"}, interval="day")
    assert stats.groups[0].labels == {"model": "jobs"}
    assert stats.groups[0].submissions >= 20
    ago = datetime.datetime(2020, 1, 1)
    assert client.stats(until=ago).groups == []


def test_one_submission_and_its_name(client: proofbox.Client) -> None:
    name = str(uuid.uuid4())
    job = client.jobs.submit("print(6 * 7)", idempotency_key=name)
    assert client.jobs.submit("print(6 * 7)", idempotency_key=name).id == job.id
    with pytest.raises(proofbox.InvalidRequest):
        client.jobs.submit("print(6 * 8)", idempotency_key=name)
    assert job.wait(60).by_status == {"ok": 1}
    assert [result.stdout for result in client.jobs.get(job.id).results()] == ["42\n"]
    assert job.id in [info.id for info in client.jobs.list(state="finished", page=2)]


def test_cancelling_and_removing(client: proofbox.Client) -> None:
    job = client.jobs.submit("while True: pass", limits={"wall_seconds": 600, "fuel": 10_000_000_000_000})
    with pytest.raises(proofbox.DeadlineExceeded):
        job.wait(1)
    assert job.cancel().state == "cancelled"
    assert list(job.results()) == []
    job.purge()
    with pytest.raises(proofbox.NotFound):
        job.refresh()


def test_the_same_awaited(url: str) -> None:
    async def main() -> None:
        async with proofbox.AsyncClient(url) as client:
            job = await client.jobs.submit_suite(_items(6), defaults={"tests": TESTS})
            results = [result async for result in job.results()]
            assert sorted(int(result.stdout) for result in results) == list(range(6))
            assert (await job.wait(60)).state == "finished"
            assert (await job.report()).passed == 3
            assert job.id in [info.id async for info in client.jobs.list()]
            assert (await client.stats()).groups[0].submissions >= 6

    anyio.run(main)
