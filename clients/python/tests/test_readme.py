"""The examples do what they say: those of README.md, and the files in examples/."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent.parent

EXPECTED = {
    "agent.py": "answer: {'total in USD': 81.88, 'items': ['book', 'lamp']}\n",
    "state.py": (
        "{\"a\": 1, \"b\": 2}\n[((1, 2), [3, 4])]\n{'a': 1, 'b': 2}\nZeroDivisionError at line 2 - total is 10\n"
        "step 0\nstep 1\nstep 2\n['x,y', '1,2']\n[('notes.txt', 4)]\n"
    ),
    "fork.py": (
        "sorted  999\nloop    999\nwrong   AttributeError\nafter clear: 0\nrestored: 10000\nelsewhere: 10000\n"
    ),
}


def test_the_readme(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROOFBOX_URL", url)
    text = (HERE / "README.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, flags=re.S)
    assert len(blocks) == len(re.findall(r"```python\n", text)) >= 7
    names: dict[str, object] = {"__name__": "readme"}
    for code, expected in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "README.md", "exec"), names)
        assert printed.getvalue() == expected


def test_the_table_of_integrations_counts_right() -> None:
    page = (HERE.parent.parent / "docs/reference/integrations.md").read_text("utf-8")
    told = set(re.findall(r"`(\w+\.py)` (\d+)", page))
    assert len(told) >= 9
    for name, lines in told:
        assert len((HERE / "src/proofbox" / name).read_text("utf-8").splitlines()) == int(lines), name


@pytest.mark.parametrize("name", sorted(path.name for path in (HERE / "examples").glob("*.py")))
def test_an_example(url: str, name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "examples" / name)],
        env={**os.environ, "PROOFBOX_URL": url, "HF_TOKEN": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(EXPECTED[name])
