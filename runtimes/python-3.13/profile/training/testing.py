"""Test cases as graders run them: unittest, bare assertions, parametrised loops, doctest, and failures to report."""

import contextlib
import doctest
import io
import unittest
from unittest import mock


class Stack:
    """
    >>> stack = Stack()
    >>> stack.push(3); stack.push(4)
    >>> stack.pop(), len(stack)
    (4, 1)
    >>> Stack().pop()
    Traceback (most recent call last):
        ...
    IndexError: pop from empty stack
    """

    def __init__(self):
        self._items = []

    def push(self, item):
        self._items.append(item)

    def pop(self):
        if not self._items:
            raise IndexError("pop from empty stack")
        return self._items.pop()

    def __len__(self):
        return len(self._items)


def slugify(title):
    return "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())


class StackTest(unittest.TestCase):
    def setUp(self):
        self.stack = Stack()

    def test_push_then_pop(self):
        for i in range(20):
            self.stack.push(i)
        self.assertEqual([self.stack.pop() for _ in range(20)], list(range(19, -1, -1)))

    def test_empty(self):
        with self.assertRaises(IndexError) as caught:
            self.stack.pop()
        self.assertIn("empty", str(caught.exception))
        self.assertFalse(self.stack)

    def test_slugs(self):
        for title, slug in (("Hello, World!", "hello-world"), ("  a  b ", "a-b"), ("", "")):
            with self.subTest(title=title):
                self.assertEqual(slugify(title), slug)

    def test_comparisons(self):
        self.assertAlmostEqual(0.1 + 0.2, 0.3)
        self.assertDictEqual({"a": 1}, {"a": 1})
        self.assertListEqual([1, 2], [1, 2])
        self.assertTrue(isinstance(self.stack, Stack))
        self.assertIsNone(None)
        self.assertGreater(3, 2)
        self.assertRegex("abc123", r"\d+")
        self.assertCountEqual([3, 1, 2], [1, 2, 3])

    def test_that_fails(self):
        self.assertEqual({"name": "a", "items": [1, 2, 3]}, {"name": "b", "items": [1, 2, 4]})

    def test_that_breaks(self):
        {}["missing"]

    @unittest.skip("not now")
    def test_skipped(self):
        self.fail()


def check(candidate):
    assert candidate("A b") == "a-b"
    assert candidate("x" * 50) == "x" * 50
    assert candidate("Ünï cödé") == "ünï-cödé", "unicode"
    assert candidate("a_b.c") == "a-b-c"


def failing(candidate):
    assert candidate("A b") == "a b", f"got {candidate('A b')!r}"


for repetition in range(6):
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(StackTest)
    result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=2).run(suite)
    assert (result.testsRun, len(result.failures), len(result.errors), len(result.skipped)) == (7, 1, 1, 1)
    for _ in range(40):
        check(slugify)
        try:
            failing(slugify)
        except AssertionError as error:
            assert "a-b" in str(error)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        test = doctest.DocTestParser().get_doctest(Stack.__doc__, {"Stack": Stack}, "Stack", None, 0)
        assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
    service = mock.Mock()
    service.fetch.return_value = {"id": 1}
    service.save.side_effect = [True, ValueError("full")]
    assert service.fetch(3)["id"] == 1 and service.save()
    try:
        service.save()
    except ValueError:
        pass
    service.fetch.assert_called_once_with(3)
    with mock.patch("builtins.len", lambda items: 7):
        assert len([]) == 7
    results = []
    for arguments, wanted in [((1, 2), 3), ((0, 0), 0), ((-1, 1), 0), ((2, 2), 5)] * 30:
        passed = sum(arguments) == wanted
        results.append("ok" if passed else f"sum{arguments} is {sum(arguments)}, not {wanted}")
    assert results.count("ok") == 90
