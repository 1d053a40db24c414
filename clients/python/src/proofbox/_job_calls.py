"""Requests of jobs and statistics, and readers of their answers."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ._calls import NDJSON, Answer, Call, _nothing, _record, _records, source, suite_head, suite_lines, to_json
from .types import JobInfo, Stats, SuiteReport


def _name(idempotency_key: str | None) -> dict[str, str]:
    """A call that has a name of its own can be sent again: it is the same job."""
    return {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}


def submit(
    code: str | None,
    completion: str | None,
    options: Mapping[str, Any],
    callback_url: str | None,
    idempotency_key: str | None,
) -> Call[JobInfo]:
    body = {**source(code, completion), **options}
    if callback_url is not None:
        body["callback_url"] = callback_url
    return Call(
        "POST",
        "/v1/jobs",
        _record(JobInfo),
        True,
        body=to_json(body),
        content_type="application/json",
        extra_headers=_name(idempotency_key),
    )


def submit_suite(
    items: Iterable[Mapping[str, Any]],
    defaults: Mapping[str, Any] | None,
    k: Sequence[int] | None,
    callback_url: str | None,
    idempotency_key: str | None,
) -> Call[JobInfo]:
    head = suite_head(defaults, k)
    if callback_url is not None:
        head["callback_url"] = callback_url
    return Call(
        "POST",
        "/v1/suites",
        _record(JobInfo),
        True,
        params={"async": "true"},
        body=b"".join(suite_lines(items, head)),
        content_type=NDJSON,
        extra_headers=_name(idempotency_key),
    )


def _job(job_id: str, rest: str = "") -> str:
    return f"/v1/jobs/{quote(job_id, safe='')}{rest}"


def get(job_id: str) -> Call[JobInfo]:
    return Call("GET", _job(job_id), _record(JobInfo), True)


def list_jobs(state: str | None, limit: int | None, after: str | None) -> Call[tuple[list[JobInfo], str | None]]:
    given = {"state": state, "limit": None if limit is None else str(limit), "next": after}

    def read(answer: Answer) -> tuple[list[JobInfo], str | None]:
        return _records(JobInfo, "jobs")(answer), answer.json().get("next")

    return Call("GET", "/v1/jobs", read, True, params={name: text for name, text in given.items() if text is not None})


def cancel(job_id: str) -> Call[JobInfo]:
    return Call("DELETE", _job(job_id), _record(JobInfo), True)


def purge(job_id: str) -> Call[None]:
    return Call("DELETE", _job(job_id), _nothing, True, params={"purge": "true"})


def results(job_id: str, after: int, follow: bool) -> Call[None]:
    params = {"after": str(after), "follow": "true" if follow else "false"}
    return Call("GET", _job(job_id, "/results"), _nothing, True, params=params, accept=NDJSON)


def report(job_id: str) -> Call[SuiteReport]:
    def read(answer: Answer) -> SuiteReport:
        return SuiteReport.of(answer.json().get("report"))

    return Call("GET", _job(job_id, "/report"), read, True, params={"format": "json"})


def page(job_id: str) -> Call[str]:
    def read(answer: Answer) -> str:
        return answer.body.decode("utf-8", "replace")

    return Call("GET", _job(job_id, "/report"), read, True, params={"format": "html"}, accept="text/html")


def stats(
    group_by: Sequence[str],
    labels: Mapping[str, str],
    since: datetime.datetime | None,
    until: datetime.datetime | None,
    interval: str | None,
) -> Call[Stats]:
    params = {f"label.{name}": value for name, value in labels.items()}
    if group_by:
        params["group_by"] = ",".join(group_by)
    for name, time in (("since", since), ("until", until)):
        if time is not None:
            # A time without a zone is one of this machine.
            params[name] = time.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    if interval is not None:
        params["interval"] = interval
    return Call("GET", "/v1/stats", _record(Stats), True, params=params)
