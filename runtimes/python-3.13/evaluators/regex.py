"""The output matches the regular expression.

Parameters:
    pattern (str, required): the regular expression
    mode (str, "search"): "search" anywhere, "match" from the start, or "fullmatch"
    case_sensitive (bool, true): whether the case of letters counts
    should_match (bool, true): false if the output must not match
"""

import json
import re


def evaluate(app_params, outputs):
    output = outputs if isinstance(outputs, str) else json.dumps(outputs, ensure_ascii=False)
    pattern = re.compile(app_params["pattern"], 0 if app_params.get("case_sensitive", True) else re.IGNORECASE)
    find = {"search": pattern.search, "match": pattern.match, "fullmatch": pattern.fullmatch}[
        app_params.get("mode", "search")
    ]
    matches = find(output) is not None
    return {
        "success": matches == app_params.get("should_match", True),
        "reason": f"the output {'matches' if matches else 'does not match'} {pattern.pattern!r}",
    }
