"""The output is JSON with the value of the correct answer: the order of keys and white space do not count.

Parameters:
    ignore_keys (list, []): keys of objects, at any depth, that are left out
    tolerance (number, 0): by how much numbers may differ
    unordered_lists (bool, false): whether the order of lists' elements is left out
"""

import json


def evaluate(app_params, outputs, correct_answer):
    ignored = set(app_params.get("ignore_keys", ()))
    tolerance = app_params.get("tolerance", 0)
    unordered = app_params.get("unordered_lists", False)

    def difference(got, wanted, path):
        """Returns where the first difference is, as text, or None."""
        if type(got) in (int, float) and type(wanted) in (int, float):
            return None if got == wanted or abs(got - wanted) <= tolerance else f"{path}: {got!r} is not {wanted!r}"
        if type(got) is not type(wanted):
            return f"{path}: {got!r} is not {wanted!r}"
        if isinstance(got, dict):
            for key in (got.keys() | wanted.keys()) - ignored:
                if key not in got or key not in wanted:
                    return f"{path}: {key!r} is {'missing' if key in wanted else 'too much'}"
                if found := difference(got[key], wanted[key], f"{path}.{key}"):
                    return found
            return None
        if isinstance(got, list):
            if len(got) != len(wanted):
                return f"{path}: {len(got)} elements, not {len(wanted)}"
            if not unordered:
                found = (difference(*pair, f"{path}[{at}]") for at, pair in enumerate(zip(got, wanted)))
                return next(filter(None, found), None)
            rest = list(wanted)
            for at, element in enumerate(got):
                match = next((i for i, other in enumerate(rest) if difference(element, other, "") is None), None)
                if match is None:
                    return f"{path}[{at}]: {element!r} is too much"
                del rest[match]
            return None
        return None if got == wanted else f"{path}: {got!r} is not {wanted!r}"

    try:
        got = json.loads(outputs) if isinstance(outputs, str) else outputs
    except ValueError as error:
        return {"success": False, "reason": f"the output is not JSON: {error}"}
    try:
        wanted = json.loads(correct_answer) if isinstance(correct_answer, str) else correct_answer
    except ValueError:
        wanted = correct_answer
    found = difference(got, wanted, "$")
    return {"success": found is None, "reason": found}
