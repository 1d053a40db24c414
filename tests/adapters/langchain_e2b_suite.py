"""Runs langchain-tests' standard suite for sandboxes over langchain_e2b's unmodified E2BSandbox.

  pip install --require-hashes --no-deps -r tests/adapters/langchain_e2b.txt
  E2B_API_URL=http://127.0.0.1:8080 E2B_SANDBOX_URL=http://127.0.0.1:8080 E2B_API_KEY=e2b_<40 hex> \
    python3 tests/adapters/langchain_e2b_suite.py [pytest option ...]
"""

import sys
from collections.abc import Iterator

import e2b
import pytest
from langchain_e2b import E2BSandbox
from langchain_tests.integration_tests import SandboxIntegrationTests


class TestE2BSandbox(SandboxIntegrationTests):
    @pytest.fixture(scope="class")
    def sandbox(self) -> Iterator[E2BSandbox]:
        sandbox = e2b.Sandbox.create(timeout=600)
        try:
            yield E2BSandbox(sandbox=sandbox)
        finally:
            sandbox.kill()


if __name__ == "__main__":
    plugins = ["-p", "no:cacheprovider", "-p", "no:benchmark", "--asyncio-mode=auto"]
    sys.exit(pytest.main([__file__, "-q", "--disable-warnings", *plugins, *sys.argv[1:]]))
