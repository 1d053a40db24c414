"""The trace took no longer than allowed.

Parameters:
    max_seconds (number, 5): the longest time that passes
"""

import datetime


def evaluate(app_params, trace):
    seconds = duration(trace)
    if seconds is None:
        return {"success": False, "reason": "the trace tells of no times"}
    allowed = app_params.get("max_seconds", 5)
    return {
        "success": seconds <= allowed,
        "reason": f"{seconds:.3f} s of {allowed:g} s",
        "named_scores": {"seconds": seconds},
    }


def duration(trace):
    """From the first start to the last end of all spans; else what the root's metrics say, in milliseconds."""
    spans = list(all_spans(trace))
    starts = [moment(span, "start_time", "startTime") for span in spans]
    ends = [moment(span, "end_time", "endTime") for span in spans]
    starts, ends = [t for t in starts if t is not None], [t for t in ends if t is not None]
    if starts and ends:
        return max(ends) - min(starts)
    for span in spans:
        attributes = span.get("attributes") or {}
        metrics = (attributes.get("ag") or {}).get("metrics") or span.get("metrics") or {}
        for total in (
            (metrics.get("duration") or {}).get("cumulative"),
            (metrics.get("acc") or {}).get("duration"),
            (metrics.get("unit") or {}).get("duration"),
        ):
            total = total.get("total") if isinstance(total, dict) else total
            if isinstance(total, (int, float)):
                return total / 1000
    return None


def all_spans(trace):
    """Agenta nests spans, by name or in lists; promptfoo and OpenTelemetry list them."""
    spans = (trace or {}).get("spans") or []
    for span in list(spans.values()) if isinstance(spans, dict) else spans:
        for one in span if isinstance(span, list) else [span]:
            yield one
            yield from all_spans(one)


def moment(span, *names):
    """Seconds, from a number of milliseconds or an ISO 8601 text."""
    for name in names:
        value = span.get(name)
        if isinstance(value, (int, float)):
            return value / 1000
        if isinstance(value, str):
            moment = datetime.datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()
    return None
