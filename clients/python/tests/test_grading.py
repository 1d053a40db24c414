"""Grading of what a session has made, through both clients, against a live service."""

from __future__ import annotations

import anyio
import pytest

import proofbox

TESTS = {"kind": "pytest", "source": "from calc import add\ndef test_add(): assert add(2, 3) == 5\n"}


def test_a_file_of_a_session_is_graded(session: proofbox.Session) -> None:
    session.files.write("calc.py", "def add(a, b): return a - b\n")
    done = session.grade(TESTS, path="calc.py")
    assert (done.status, done.tests_passed, done.tests_total) == ("failed", 0, 1)
    session.files.write("calc.py", "from helper import plus\ndef add(a, b): return plus(a, b)\n")
    session.files.write("helper.py", "def plus(a, b): return a + b\n")
    done = session.grade(TESTS, path="calc.py", visibility="hidden")
    assert (done.status, done.tests_passed) == ("passed", 1)
    assert done.integrity.level == "isolated"
    with pytest.raises(proofbox.InvalidRequest, match=r"no file `missing\.py`"):
        session.grade(TESTS, path="missing.py")


def test_the_async_client_grades_too(url: str) -> None:
    async def main() -> None:
        async with proofbox.AsyncClient(url) as client, client.session() as session:
            await session.files.write("calc.py", "def add(a, b): return a + b\n")
            assert (await session.grade(TESTS, path="calc.py")).tests_passed == 1

    anyio.run(main)
