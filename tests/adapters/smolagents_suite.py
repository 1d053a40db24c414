"""Runs smolagents' own integration tests of remote executors, out of its source archive, over its unmodified E2BExecutor.

  pip install --require-hashes --no-deps -r tests/adapters/smolagents.txt
  E2B_API_URL=http://127.0.0.1:8080 E2B_SANDBOX_URL=http://127.0.0.1:8080 E2B_API_KEY=e2b_<40 hex> \
    python3 tests/adapters/smolagents_suite.py [pytest option ...]
"""

import importlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import types
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from smolagents import E2BExecutor
from smolagents.monitoring import AgentLogger, LogLevel

HERE = Path(__file__).parent


# Tools are sent as their source, so that it stays until the end.
SOURCE = tempfile.TemporaryDirectory()


def own_tests() -> types.ModuleType:
    """`tests.test_remote_executors` of the version that is installed: wheels leave it out."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    source = ["--no-deps", "--no-binary", ":all:", "-r", HERE / "smolagents_source.txt", "-d", SOURCE.name]
    subprocess.run([*pip, *source], check=True)
    with tarfile.open(next(Path(SOURCE.name).glob("*.tar.gz"))) as archive:
        archive.extractall(SOURCE.name, filter="data")
    # The archive has the tests without their helpers, and they import Docker's client.
    for name in ("tests", "tests.utils", "tests.utils.markers", "docker"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["tests"].__path__ = [str(next(Path(SOURCE.name).glob("*/tests")))]
    sys.modules["tests.utils.markers"].require_run_all = lambda test: test
    return importlib.import_module("tests.test_remote_executors")


def has_pillow() -> bool:
    """Returns whether an image of the service has Pillow; the default one does not."""
    with urllib.request.urlopen(os.environ["E2B_API_URL"] + "/v1/runtime") as answer:
        return any("pillow" in image["packages"] for image in json.load(answer)["images"])


class TestE2BExecutor(own_tests().CommonDockerExecutorIntegration):
    @pytest.fixture
    def custom_executor(self) -> Iterator[E2BExecutor]:
        logger = AgentLogger(LogLevel.INFO, Console(force_terminal=False, file=io.StringIO()))
        executor = E2BExecutor(additional_imports=["pillow", "numpy"], logger=logger)
        yield executor
        executor.cleanup()

    @pytest.mark.xfail(not has_pillow(), reason="no image has Pillow", strict=True)
    def test_execute_image_output(self) -> None:
        super().test_execute_image_output()


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "--disable-warnings", "-p", "no:cacheprovider", *sys.argv[1:]]))
