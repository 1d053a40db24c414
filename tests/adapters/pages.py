"""Pages of docs as programs: saves the files that a page shows, runs its commands, and compares what they print.

A file is a block after "Save this as `NAME`:". A command is a block of shell followed by a block of text, its output;
after "Shortened:", the lines shown must be printed in that order, among others. Other blocks of shell are left out, as
they install packages.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
# Text, language, content.
BLOCK = re.compile(r"(.*?)^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SAVED = re.compile(r"Save this as `([\w.]+)`:\s*\Z")
# What differs from run to run.
VARYING = re.compile(r"\b\d+\.\d\ds\b")
# Commands of a page are this Python's.
PROGRAMS = """
python() { "$PYTHON" "$@"; }
inspect() { "$PYTHON" -m inspect_ai "$@"; }
"""


def follow(page: str, folder: Path, **environment: str) -> int:
    """Does in `folder` what a page says, and returns the number of commands whose output it has compared."""
    compared = 0
    command = None
    for text, language, content in BLOCK.findall((DOCS / page).read_text("utf-8")):
        if saved := SAVED.search(text):
            (folder / saved[1]).write_text(content, "utf-8")
        elif language == "text" and command is not None:
            printed = run(command, folder, environment)
            shortened = text.strip().lower().endswith("shortened:")
            assert shows(printed, content, shortened), f"{page}: {command}prints\n{printed}\nnot\n{content}"
            compared += 1
        command = content if language == "sh" else None
    return compared


def run(command: str, folder: Path, environment: dict[str, str]) -> str:
    """Runs a block of shell with the packages of this Python, and returns all that it prints."""
    search = os.pathsep.join(os.path.abspath(path) for path in sys.path)
    done = subprocess.run(
        ["bash", "-ec", PROGRAMS + command],
        cwd=folder,
        env={**os.environ, "PYTHON": sys.executable, "PYTHONPATH": search, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}{done.stdout}"
    return done.stdout


def shows(printed: str, shown: str, shortened: bool) -> bool:
    """Returns whether a page shows what was printed."""
    lines, wanted = (
        [VARYING.sub("…", " ".join(line.split())) for line in text.strip().splitlines()] for text in (printed, shown)
    )
    rest = iter(lines)
    return all(line in rest for line in wanted) if shortened else lines == wanted
