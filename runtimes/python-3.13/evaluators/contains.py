"""The output contains the text, or all of several texts.

Parameters:
    substring (str or list, the correct answer): what is looked for
    case_sensitive (bool, true): whether the case of letters counts
"""

import json


def evaluate(app_params, outputs, correct_answer):
    wanted = app_params.get("substring", correct_answer)
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if not wanted or not all(isinstance(text, str) and text for text in wanted):
        raise ValueError("name what is to be contained: app_params.substring or correct_answer")
    fold = (lambda text: text) if app_params.get("case_sensitive", True) else str.casefold
    output = fold(outputs if isinstance(outputs, str) else json.dumps(outputs, ensure_ascii=False))
    missing = [text for text in wanted if fold(text) not in output]
    return {
        "score": 1 - len(missing) / len(wanted),
        "success": not missing,
        "reason": f"missing: {', '.join(map(repr, missing))}" if missing else None,
    }
