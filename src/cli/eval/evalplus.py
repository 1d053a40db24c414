# Tests of a problem in EvalPlus' own form: the candidate's results are compared with those of the canonical solution.
import copy
import json
import math

import numpy as np


def _tuples(depth):
    """Makes tuples of the lists at this depth; 0 is the value itself."""
    return lambda value: tuple(value) if depth == 0 else [_tuples(depth - 1)(item) for item in value]


def _deep(value):
    return tuple(_deep(item) for item in value) if isinstance(value, list) else value


# Inputs are published as JSON, which has no tuples, sets and complex numbers: what MBPP's tasks take instead, by number.
_ALL_1 = lambda args: [_tuples(1)(arg) for arg in args]
_FIRST_0 = lambda args: [tuple(args[0]), *args[1:]]
_FIRST_1 = lambda args: [_tuples(1)(args[0]), *args[1:]]
_CONVERSIONS = [
    ({2, 116, 132, 143, 222, 261, 273, 394, 399, 421, 424, 429, 470, 560, 579, 596, 616, 630, 726, 740, 744, 809},
     lambda args: [tuple(arg) for arg in args]),
    ({63, 64, 70, 94, 120, 237, 272, 299, 400, 409, 417, 438, 473, 614, 780}, _ALL_1),
    ({75, 413, 444, 753}, _FIRST_1),
    ({106, 750}, lambda args: [args[0], tuple(args[1])]),
    ({115}, lambda args: [[set(item) if isinstance(item, list) and item else {} for item in args[0]]]),
    ({124}, lambda args: [float(args[0]), complex(args[1])]),
    ({250, 307, 405, 446, 617, 720, 763, 808}, _FIRST_0),
    ({259, 401, 445}, lambda args: [tuple(tuple(item) for item in arg) for arg in args]),
    ({278}, lambda args: [tuple(tuple(item) if isinstance(item, list) else item for item in args[0])]),
    ({722}, lambda args: [{key: tuple(value) for key, value in args[0].items()}, *args[1:]]),
    ({252}, lambda args: [complex(args[0])]),
    ({580, 615, 791}, _deep),
]


def _arguments(args):
    if _NUMBER is not None:
        for tasks, convert in _CONVERSIONS:
            if _NUMBER in tasks:
                return list(convert(args))
    return args


_SETS = {"similar_elements", "find_char_long", "common_in_nested_lists", "extract_singly", "larg_nnum",
         "intersection_array", "find_dissimilar", "Diff"}
_NOT_NONE = {"check_str", "text_match_three", "text_starta_endb"}


def _is_floats(value):
    if isinstance(value, float):
        return True
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(item, float) for item in value)


def _special(args, out, expected):
    """The tasks with rules of their own; None where equality decides."""
    if _NUMBER is not None:
        if _ENTRY_POINT == "are_equivalent":
            return True
        if _ENTRY_POINT == "sum_div" and out == 0:
            return True
        if _ENTRY_POINT == "surface_Area":
            edge, height = args
            slant = math.sqrt((edge / 2) ** 2 + height ** 2)
            return out == expected or abs(out - round(edge ** 2 + 2 * edge * slant)) <= _ATOL
        if _ENTRY_POINT == "digit_distance_nums":
            left, right = (str(number) for number in args)
            width = max(len(left), len(right))
            distance = sum(abs(int(a) - int(b)) for a, b in zip(left.zfill(width), right.zfill(width)))
            return out == expected or out == distance
        if _ENTRY_POINT in _SETS:
            return set(out) == set(expected)
        if _ENTRY_POINT in _NOT_NONE:
            is_there = expected is not None
            return out == is_there if isinstance(out, bool) else is_there == (out is not None)
    elif _ENTRY_POINT == "find_zero":
        return abs(sum(coefficient * math.pow(out, power) for power, coefficient in enumerate(args[0]))) <= _ATOL
    return None


def _same(args, out, expected):
    special = _special(args, out, expected)
    if special is not None:
        return special
    if out == expected:
        return True
    tolerance = _ATOL or (1e-6 if _is_floats(expected) else 0)
    if not tolerance or type(out) is not type(expected):
        return False
    if isinstance(expected, (list, tuple)) and len(out) != len(expected):
        return False
    return bool(np.allclose(out, expected, rtol=1e-07, atol=tolerance))


def check(candidate):
    names = {}
    exec(_CANONICAL, names)
    reference = names[_ENTRY_POINT]
    for args in _BASE:
        args = _arguments(args)
        expected = reference(*copy.deepcopy(args))
        assert _same(args, candidate(*copy.deepcopy(args)), expected)
    for args in _PLUS:
        args = _arguments(args)
        expected = reference(*copy.deepcopy(args))
        assert _same(args, candidate(*copy.deepcopy(args)), expected)
