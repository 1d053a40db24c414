"""Follows the tutorial of the coding agent: the agents of two frameworks, with a model that is scripted, and the cheat.

  pip install --require-hashes --no-deps -r tests/adapters/coding_agent.txt
  PROOFBOX_URL=http://127.0.0.1:8080 PYTHONPATH=clients/python/src \
    python3 tests/adapters/coding_agent_suite.py [pytest option ...]
"""

import sys
from pathlib import Path

import pytest
from pages import follow


def test_the_tutorial_shows_what_its_programs_print(tmp_path: Path) -> None:
    assert follow("tutorials/coding-agent.md", tmp_path) == 3


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "--disable-warnings", "-p", "no:cacheprovider", *sys.argv[1:]]))
