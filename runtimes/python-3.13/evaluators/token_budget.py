"""The trace used no more tokens than allowed.

Parameters:
    max_tokens (number, 1000): the largest count that passes
"""


def evaluate(app_params, trace):
    tokens = total_tokens(trace)
    if tokens is None:
        return {"success": False, "reason": "the trace tells of no tokens"}
    allowed = app_params.get("max_tokens", 1000)
    return {
        "success": tokens <= allowed,
        "reason": f"{tokens:g} tokens of {allowed:g}",
        "named_scores": {"tokens": tokens},
    }


def total_tokens(trace):
    """The root's cumulative count where there is one (Agenta), else the sum over all spans (OpenTelemetry)."""
    found = None
    for span in all_spans(trace):
        attributes = span.get("attributes") or {}
        metrics = (attributes.get("ag") or {}).get("metrics") or span.get("metrics") or {}
        for tokens in ((metrics.get("tokens") or {}).get("cumulative"), (metrics.get("acc") or {}).get("tokens")):
            if isinstance(tokens, dict) and isinstance(tokens.get("total"), (int, float)):
                return tokens["total"]
        own = (metrics.get("unit") or {}).get("tokens") or {}
        parts = [attributes.get("gen_ai.usage.input_tokens"), attributes.get("gen_ai.usage.output_tokens")]
        parts = [part for part in parts if isinstance(part, (int, float))]
        for count in (own.get("total"), attributes.get("gen_ai.usage.total_tokens"), sum(parts) if parts else None):
            if isinstance(count, (int, float)):
                found = (found or 0) + count
                break
    return found


def all_spans(trace):
    """Agenta nests spans, by name or in lists; promptfoo and OpenTelemetry list them."""
    spans = (trace or {}).get("spans") or []
    for span in list(spans.values()) if isinstance(spans, dict) else spans:
        for one in span if isinstance(span, list) else [span]:
            yield one
            yield from all_spans(one)
