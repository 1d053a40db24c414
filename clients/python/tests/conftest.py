"""The tests run against a live service: `PROOFBOX_URL=http://127.0.0.1:8080 pytest`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import proofbox

# Keys of the E2B SDK have this form; a service without keys takes any.
ANY_E2B_KEY = "e2b_" + "0" * 40


@pytest.fixture(scope="session")
def url() -> str:
    """The address of the service."""
    given = os.environ.get("PROOFBOX_URL")
    if not given:
        pytest.fail("PROOFBOX_URL is not set: start the service, and set it to its address", pytrace=False)
    return given.rstrip("/")


@pytest.fixture(scope="session")
def client(url: str) -> Iterator[proofbox.Client]:
    with proofbox.Client(url) as client:
        yield client


@pytest.fixture
def session(client: proofbox.Client) -> Iterator[proofbox.Session]:
    with client.session() as session:
        yield session


@pytest.fixture(scope="session")
def e2b_environment(url: str) -> Iterator[None]:
    """Points the unmodified E2B SDK at the same service."""
    settings = {
        "E2B_API_URL": url,
        "E2B_SANDBOX_URL": url,
        "E2B_API_KEY": os.environ.get("E2B_API_KEY", ANY_E2B_KEY),
    }
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    yield
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value
