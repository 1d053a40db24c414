import unittest

import native
from _proofbox_kind_unittest import UnitTests

CODE = "import sys, unittest\ndef add(a, b): return a + b\ndef boom(): raise ValueError('boom')\n"
HINT = " (not in this image; a package without native code can be added to one)"


def grade(source, code=CODE, **request):
    cases, candidate = native.grade(UnitTests, {"source": "import unittest\n" + source, **request}, code)
    return cases, candidate


class Kind(unittest.TestCase):
    maxDiff = None

    def test_each_method_is_a_case_with_the_snippets_names(self):
        cases, _ = grade(
            "class T(unittest.TestCase):\n"
            "    def test_b(self): self.assertEqual(add(1, 2), 3)\n"
            "    def test_a(self): self.assertEqual(add(1, 2), 4)\n"
            "    def test_c(self): boom()\n"
        )
        self.assertEqual(
            cases.results,
            [
                ("T.test_a", "failed", "AssertionError: 3 != 4"),
                ("T.test_b", "passed", None),
                ("T.test_c", "error", "ValueError: boom"),
            ],
        )

    def test_the_snippet_is_imported_by_its_name(self):
        source = "from lib.bank import add\nimport lib.bank\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(lib.bank.add(1, 1), add(1, 1))\n"
        cases, _ = grade(source, module="lib.bank")
        self.assertEqual(cases.statuses, {"T.test": "passed"})

    def test_a_failed_setup_fails_each_case_of_its_class_only(self):
        cases, _ = grade(
            "class A(unittest.TestCase):\n"
            "    @classmethod\n"
            "    def setUpClass(cls): boom()\n"
            "    def test_1(self): pass\n"
            "    def test_2(self): pass\n"
            "class B(unittest.TestCase):\n"
            "    def test(self): pass\n"
            "class C(unittest.TestCase):\n"
            "    @classmethod\n"
            "    def setUpClass(cls): raise SystemExit(0)\n"
            "    def test(self): pass\n"
        )
        self.assertEqual(cases.statuses, {"A.test_1": "error", "A.test_2": "error", "B.test": "passed", "C.test": "error"})

    def test_a_failed_module_setup_fails_all(self):
        for error in ("boom()", "sys.exit(0)"):
            cases, _ = grade(
                f"def setUpModule(): {error}\n"
                "class A(unittest.TestCase):\n"
                "    def test(self): pass\n"
                "class B(unittest.TestCase):\n"
                "    def test(self): pass\n"
            )
            self.assertEqual(cases.statuses, {"A.test": "error", "B.test": "error"})

    def test_fixtures_run_in_order_and_a_failed_teardown_fails_the_last_case(self):
        source = (
            "order = []\n"
            "def setUpModule(): order.append('module')\n"
            "def tearDownModule():\n"
            "    if order != ['module', '+A', 1, 2, '-A', '+B', 3, '-B']: raise ValueError(order)\n"
            "    order.append('end')\n"
            "class A(unittest.TestCase):\n"
            "    @classmethod\n"
            "    def setUpClass(cls): order.append('+A')\n"
            "    @classmethod\n"
            "    def tearDownClass(cls): order.append('-A'); 1 / 0\n"
            "    def test_1(self): order.append(1)\n"
            "    def test_2(self): order.append(2)\n"
            "class B(unittest.TestCase):\n"
            "    @classmethod\n"
            "    def setUpClass(cls): order.append('+B'); cls.addClassCleanup(order.append, '-B')\n"
            "    def test_3(self): order.append(3)\n"
        )
        cases, candidate = grade(source)
        self.assertEqual(cases.statuses, {"A.test_1": "passed", "A.test_2": "error", "B.test_3": "passed"})
        self.assertEqual(candidate.module.order[-1], "end")

    def test_subtests_are_named(self):
        cases, _ = grade(
            "class T(unittest.TestCase):\n"
            "    def test(self):\n"
            "        for i in range(4):\n"
            "            with self.subTest('even', i=i): self.assertEqual(i % 2, 0)\n"
            "    def test_ok(self):\n"
            "        with self.subTest(i=1): pass\n"
            "    def test_skip(self):\n"
            "        with self.subTest(i=1): raise unittest.SkipTest('no')\n"
        )
        self.assertEqual(cases.statuses, {"T.test": "failed", "T.test_ok": "passed", "T.test_skip": "skipped"})
        self.assertEqual(cases.messages["T.test"], "AssertionError: 1 != 0\nsubtest [even] (i=1)\n(2 subtests failed)")

    def test_expected_failures_and_skips(self):
        cases, _ = grade(
            "class T(unittest.TestCase):\n"
            "    @unittest.expectedFailure\n"
            "    def test_a(self): self.fail()\n"
            "    @unittest.expectedFailure\n"
            "    def test_b(self): pass\n"
            "    @unittest.expectedFailure\n"
            "    def test_c(self): raise SystemExit\n"
            "    @unittest.skip('later')\n"
            "    def test_d(self): pass\n"
            "    def test_e(self): self.skipTest('now')\n"
            "@unittest.skip('all')\n"
            "class U(unittest.TestCase):\n"
            "    def test(self): pass\n"
            "class V(unittest.TestCase):\n"
            "    @classmethod\n"
            "    def setUpClass(cls): raise unittest.SkipTest('class')\n"
            "    def test_a(self): pass\n"
            "    def test_b(self): pass\n"
        )
        self.assertEqual(
            cases.statuses,
            {
                "T.test_a": "passed", "T.test_b": "failed", "T.test_c": "error", "T.test_d": "skipped",
                "T.test_e": "skipped", "U.test": "skipped", "V.test_a": "skipped", "V.test_b": "skipped",
            },
        )  # fmt: skip
        self.assertEqual(cases.messages["V.test_b"], "class")

    def test_what_ends_an_interpreter_fails_its_case_and_the_run_goes_on(self):
        for error in ("KeyboardInterrupt()", "SystemExit(0)", "GeneratorExit()", "BaseException()"):
            cases, _ = grade(
                "class T(unittest.TestCase):\n    def test_a(self): leave()\n    def test_b(self): pass\n",
                f"def leave(): raise {error}\n",
            )
            self.assertEqual(cases.statuses, {"T.test_a": "error", "T.test_b": "passed"})

    def test_the_death_of_the_candidate_is_no_exception_to_expect(self):
        cases, candidate = grade(
            "count = start()\n"
            "class T(unittest.TestCase):\n"
            "    @classmethod\n"
            "    def setUpClass(cls): cls.ready = True\n"
            "    def test_a(self):\n"
            "        with self.assertRaises(BaseException): die()\n"
            "    def test_b(self): self.assertEqual((self.ready, count), (True, 1))\n"
            "    @unittest.expectedFailure\n"
            "    def test_c(self): die()\n"
            "    def test_d(self): die()\n"
            "    def test_e(self): self.assertEqual(start(), 2)\n",
            "n = 0\ndef start():\n    global n\n    n += 1\n    return n\n",
        )
        self.assertEqual(
            cases.statuses,
            {"T.test_a": "error", "T.test_b": "passed", "T.test_c": "error", "T.test_d": "error", "T.test_e": "passed"},
        )
        self.assertEqual(candidate.interpreters, 4)

    def test_a_fresh_candidate_that_cannot_be_had_fails_the_rest(self):
        code = "import builtins\nbuiltins.starts = getattr(builtins, 'starts', 0) + 1\nif builtins.starts == 2: raise ValueError('once')\n"
        self.addCleanup(lambda: delattr(__import__("builtins"), "starts"))
        cases, _ = grade(
            "class T(unittest.TestCase):\n    def test_a(self): die()\n    def test_b(self): pass\n    def test_c(self): pass\n", code
        )
        self.assertEqual(list(cases.statuses.values()), ["error", "error", "passed"])

    def test_each_case_has_a_fresh_interpreter_when_asked_for(self):
        cases, candidate = grade(
            "class T(unittest.TestCase):\n"
            + "".join(f"    def test_{i}(self): self.assertEqual(start(), 1)\n" for i in range(3)),
            "n = 0\ndef start():\n    global n\n    n += 1\n    return n\n",
            fresh_per_case=True,
        )
        self.assertEqual(set(cases.statuses.values()), {"passed"})
        self.assertEqual(candidate.interpreters, 3)

    def test_files_import_each_other_and_are_quoted(self):
        cases, _ = native.grade(
            UnitTests,
            {
                "files": {
                    "pkg/__init__.py": "", "pkg/helper.py": "from bank import add\nFOUR = add(2, 2)\n",
                    "pkg/test_it.py": "import unittest\nfrom .helper import FOUR\nfrom plain.values import FIVE\n"
                    "class T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(FOUR, FIVE)  # here\n",
                    "plain/values.py": b"FIVE = 5\n", "data.txt": "x",
                },
                "test_module": "pkg.test_it", "module": "bank",
            },
            CODE,
        )  # fmt: skip
        self.assertEqual(cases.statuses, {"T.test": "failed"})

    def test_files_are_discovered_without_a_module_named(self):
        body = "import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n"
        cases, _ = native.grade(UnitTests, {"files": {"a_test.py": body, "test_b.py": body, "c.py": "1 / 0"}})
        self.assertEqual(cases.statuses, {"a_test.T.test": "passed", "test_b.T.test": "passed"})

    def test_what_cannot_be_loaded_is_one_failed_case(self):
        for source, message in {
            "1 / 0": "ZeroDivisionError: division by zero",
            "class T(unittest.TestCase): pass": "NoTests: there is no test method in the tests",
            "import nowhere": f"ModuleNotFoundError: No module named 'nowhere'{HINT}",
            "raise SystemExit(0)": "SystemExit: 0",
            "x = (": "SyntaxError: '(' was never closed",
        }.items():
            cases, _ = grade(source)
            self.assertEqual(cases.results, [("tests", "error", message)])
        for files, test_module, message in (
            ({"t.py": "import nowhere"}, "t", f"ModuleNotFoundError: No module named 'nowhere'{HINT}"),
            ({"t.py": ""}, "t", "NoTests: there is no test method in t"),
            ({"t.py": ""}, "u", "ImportError: Failed to import test module: u"),
            ({"u.py": ""}, None, "NoTests: there is no test method in the tests"),
        ):
            cases, _ = native.grade(UnitTests, {"files": files, "test_module": test_module})
            self.assertEqual([(status, told.split("\n")[0]) for _, status, told in cases.results], [("error", message)])
        cases, _ = grade("raise unittest.SkipTest('elsewhere')")
        self.assertEqual(cases.results, [("tests", "skipped", "elsewhere")])

    def test_the_snippets_own_tests_do_not_count(self):
        cases, _ = grade(
            "class T(unittest.TestCase):\n    def test(self): pass\nif __name__ == '__main__': unittest.main()\nunittest.main()\n",
            "import unittest\nclass Mine(unittest.TestCase):\n    def test(self): pass\n",
        )
        self.assertEqual(cases.statuses, {"T.test": "passed"})
        cases, _ = native.grade(
            UnitTests,
            {"files": {"test_t.py": "from solution import *\nimport unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n"}},
            "import unittest\nclass Mine(unittest.TestCase):\n    def test(self): pass\n",
        )
        self.assertEqual(cases.statuses, {"test_t.T.test": "passed"})

    def test_async_load_tests_and_patches_of_the_tests(self):
        cases, _ = grade(
            "from unittest import mock\n"
            "class T(unittest.IsolatedAsyncioTestCase):\n"
            "    async def asyncSetUp(self): self.ready = 1\n"
            "    async def test(self): self.assertEqual(self.ready, 1)\n"
            "    @mock.patch('tests.add', return_value=7)\n"
            "    def test_patched(self, fake): self.assertEqual(add(1, 1), 7)\n"
            "def load_tests(loader, tests, pattern):\n"
            "    tests.addTests(loader.loadTestsFromTestCase(T))\n"
            "    return tests\n"
        )
        self.assertEqual(
            cases.statuses,
            {"T.test": "passed", "T.test_patched": "passed", "T.test (2)": "passed", "T.test_patched (2)": "passed"},
        )

    def test_the_names_of_a_snippet_elsewhere(self):
        code = "def add(a, b): return a + b\ndef len(x): return 3\ndef pow(x): return 5\nclass AssertionError(Exception): pass\n"
        cases, _ = native.grade(
            UnitTests,
            {
                "source": "import unittest, unittest.mock\nclass T(unittest.TestCase):\n    three = add(1, 2)\n"
                "    def test(self): self.assertEqual((self.three, add(1, 1), len('ab'), pow(1)), (3, 2, 2, 5))\n"
                "    def test_not(self): nowhere\n"
                "    @unittest.mock.patch('tests.add', return_value=7)\n"
                "    def test_patched(self, fake): self.assertEqual(add(1, 1), 7)\n",
                "entry_point": "pow",
            },
            code,
            apart=True,
        )
        self.assertEqual(cases.results, [("T.test", "passed", None), ("T.test_not", "error", "NameError: name 'nowhere' is not defined"), ("T.test_patched", "passed", None)])

    def test_shuffled_keeps_classes_together(self):
        source = "".join(
            f"class {name}(unittest.TestCase):\n"
            f"    @classmethod\n"
            f"    def setUpClass(cls):\n"
            f"        assert not hasattr(cls, 'once'); cls.once = 1\n"
            + "".join(f"    def test_{i}(self): pass\n" for i in range(9))
            for name in "ABC"
        )
        cases, _ = grade(source, shuffle=3)
        self.assertEqual(set(cases.statuses.values()), {"passed"})
        self.assertNotEqual(cases.names, sorted(cases.names))
        self.assertEqual(grade(source, shuffle=3)[0].names, cases.names)


if __name__ == "__main__":
    unittest.main()
