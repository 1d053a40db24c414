"""The output is the correct answer.

Parameters:
    case_sensitive (bool, true): whether the case of letters counts
    strip (bool, true): whether white space around the output and the answer is left out
"""


def evaluate(app_params, outputs, correct_answer):
    def plain(value):
        if isinstance(value, str):
            value = value.strip() if app_params.get("strip", True) else value
            value = value if app_params.get("case_sensitive", True) else value.casefold()
        return value

    success = plain(outputs) == plain(correct_answer)
    return {"success": success, "reason": None if success else f"{outputs!r} is not {correct_answer!r}"}
