import unittest

import native
from _proofbox_kind_doctest import Doctests


def grade(code):
    return native.grade(Doctests, {"code": code}, code)


class Kind(unittest.TestCase):
    maxDiff = None

    def test_each_example_is_a_case_named_by_function_and_line(self):
        cases, _ = grade(
            '"""Module.\n\n>>> add(1, 2)\n3\n"""\n'
            "def add(a, b):\n"
            '    """Adds.\n\n    >>> x = add(1, 1)\n    >>> x\n    3\n    >>> print("a")\n    a\n    >>> undefined\n    """\n'
            "    return a + b\n"
            "class Stack:\n"
            "    @property\n"
            "    def top(self):\n"
            '        """\n        >>> Stack().top\n        1\n        """\n'
            "        return 1\n"
            "    @top.setter\n"
            "    def top(self, value):\n"
            '        """>>> 1 / 0"""\n'
        )
        self.assertEqual(
            cases.results,
            [
                ("<module>:3", "passed", None),
                ("Stack.top:21", "passed", None),
                ("add:9", "passed", None),
                ("add:10", "failed", "AssertionError: x\nExpected:\n    3\nGot:\n    2"),
                ("add:12", "passed", None),
                ("add:14", "error", "NameError: name 'undefined' is not defined"),
            ],
        )

    def test_exceptions_are_compared_by_type_and_message(self):
        cases, _ = grade(
            "import json\n"
            "class Odd(Exception): pass\n"
            "def f(kind=Odd):\n"
            '    """\n'
            "    >>> f()\n    Traceback (most recent call last):\n      ...\n    Odd: no\n"
            "    >>> f()\n    Traceback (most recent call last):\n      ...\n    Odd: yes\n"
            "    >>> f(KeyError)\n    Traceback (most recent call last):\n    KeyError: 'no'\n"
            "    >>> json.loads('')  # doctest: +IGNORE_EXCEPTION_DETAIL\n    Traceback (most recent call last):\n    JSONDecodeError: x\n"
            "    >>> json.loads('')  # doctest: +ELLIPSIS\n    Traceback (most recent call last):\n    json.decoder.JSONDecodeError: Expecting ...\n"
            "    >>> eval('1 +')\n    Traceback (most recent call last):\n      File x\n    SyntaxError: invalid syntax\n"
            "    >>> f(SystemExit)\n    Traceback (most recent call last):\n    SystemExit: no\n"
            "    >>> f(KeyboardInterrupt)\n    1\n"
            "    >>> f(Odd)\n    Odd: no\n"
            "    >>> 1\n    Traceback (most recent call last):\n    Odd: no\n"
            '    """\n'
            "    raise kind('no')\n"
        )
        self.assertEqual(
            [status for _, status, _ in cases.results],
            ["passed", "failed", "passed", "passed", "passed", "passed", "passed", "error", "error", "failed"],
        )

    def test_options_and_skips(self):
        cases, _ = grade(
            '"""\n'
            ">>> list(range(30))  # doctest: +ELLIPSIS\n[0, 1, ..., 29]\n"
            ">>> [1,  2]  # doctest: +NORMALIZE_WHITESPACE\n[1,\n 2]\n"
            ">>> 1 / 0  # doctest: +SKIP\n"
            ">>> print('a\\\\n\\\\nb')\na\n<BLANKLINE>\nb\n"
            ">>> print('no end of line', end='')\nno end of line\n"
            '"""\n'
        )
        self.assertEqual([status for _, status, _ in cases.results], ["passed", "passed", "skipped", "passed", "passed"])

    def test_each_docstring_has_names_of_its_own(self):
        cases, _ = grade('def f():\n    """\n    >>> mine = 1\n    """\ndef g():\n    """\n    >>> mine\n    1\n    """\n')
        self.assertEqual(cases.statuses, {"f:3": "passed", "g:7": "error"})

    def test_the_names_of_a_snippet_elsewhere(self):
        code = '''def add(a, b):
    """
    >>> class A: three = add(1, 2)
    >>> A.three, len("ab")
    (3, 2)
    """
    return a + b
def len(x): return 3
'''
        cases, _ = native.grade(Doctests, {"code": code}, code, apart=True)
        self.assertEqual(cases.statuses, {"add:3": "passed", "add:4": "passed"})

    def test_what_the_code_does_to_its_docstring_changes_nothing(self):
        cases, _ = grade('def f():\n    """\n    >>> f()\n    1\n    """\n    return 2\nf.__doc__ = ""\n')
        self.assertEqual(cases.statuses, {"f:3": "failed"})

    def test_the_death_of_the_candidate_is_no_exception_to_expect(self):
        cases, candidate = grade(
            'def f():\n    """\n    >>> die()\n    Traceback (most recent call last):\n'
            "    native.Gone: the candidate's interpreter ended\n    >>> 1\n    1\n    \"\"\"\n"
        )
        self.assertEqual(cases.statuses, {"f:3": "error", "f:6": "passed"})
        self.assertEqual(candidate.interpreters, 2)

    def test_what_cannot_be_read_is_a_failed_case(self):
        self.assertEqual(grade("x = 1")[0].statuses, {"doctest": "error"})
        cases, _ = grade('def f():\n    """\n    >>> 1\n   2\n    """\ndef g():\n    """\n    >>> 1\n    1\n    """\n')
        self.assertEqual(cases.statuses, {"f:2": "error", "g:8": "passed"})


if __name__ == "__main__":
    unittest.main()
