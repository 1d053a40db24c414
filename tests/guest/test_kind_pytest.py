"""Needs the wheels that runtime.toml pins, unpacked into a directory that PYTHONPATH names."""

import os
import shutil
import sys
import tempfile
import unittest

import native
import _proofbox_grading as grading
import _proofbox_kind_pytest as kind

CODE = "def add(a, b): return a + b\ndef boom(): raise ValueError('boom')\n"


def grade(source, code=CODE, **request):
    return native.grade(kind.PyTests, {"source": source, **request}, code)


class Kind(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = grading.FOLDER = os.path.realpath(tempfile.mkdtemp())
        kind.TEMPORARY = self.folder + "-tmp"
        self.addCleanup(shutil.rmtree, self.folder)
        self.addCleanup(shutil.rmtree, kind.TEMPORARY, ignore_errors=True)
        self.before = list(sys.path), list(sys.meta_path)

    def tearDown(self):
        self.assertEqual((sys.path, sys.meta_path), self.before)

    def test_each_item_is_a_case_and_messages_explain(self):
        cases, _ = grade(
            "import pytest, solution\n"
            "from solution import add\n"
            "def test_ok(): assert add(1, 2) == 3\n"
            "def test_wrong(): assert add(1, 2) == 4\n"
            "@pytest.mark.parametrize('a,b', [(1, 2), (3, 4)])\n"
            "def test_many(a, b): assert solution.add(a, b) == 3\n"
            "class TestIt:\n"
            "    def test_error(self): solution.boom()\n"
            "    def test_raises(self):\n"
            "        with pytest.raises(ValueError, match='boom'): solution.boom()\n"
            "    def test_did_not(self):\n"
            "        with pytest.raises(ValueError): add(1, 1)\n"
            "def test_approx(): assert add(0.1, 0.2) == pytest.approx(0.3)\n"
            "def test_fail(): pytest.fail('so')\n"
            "import unittest\n"
            "class Unit(unittest.TestCase):\n"
            "    def test(self): self.assertEqual(add(1, 1), 3)\n"
        )
        self.assertEqual(
            cases.results,
            [
                ("test_solution.py::test_ok", "passed", None),
                ("test_solution.py::test_wrong", "failed", "AssertionError: assert 3 == 4\n +  where 3 = add(1, 2)"),
                ("test_solution.py::test_many[1-2]", "passed", None),
                (
                    "test_solution.py::test_many[3-4]",
                    "failed",
                    f"AssertionError: assert 7 == 3\n +  where 7 = {cases.messages['test_solution.py::test_many[3-4]'].partition('where 7 = ')[2]}",
                ),
                ("test_solution.py::TestIt::test_error", "error", "ValueError: boom"),
                ("test_solution.py::TestIt::test_raises", "passed", None),
                ("test_solution.py::TestIt::test_did_not", "failed", "AssertionError: DID NOT RAISE <class 'ValueError'>"),
                ("test_solution.py::test_approx", "passed", None),
                ("test_solution.py::test_fail", "failed", "AssertionError: so"),
                ("test_solution.py::Unit::test", "failed", "AssertionError: 2 != 3"),
            ],
        )

    def test_the_snippets_names_are_there(self):
        cases, _ = grade("def test(): assert add(1, 1) == 2\ndef test_not(): nowhere\n")
        self.assertEqual(list(cases.statuses.values()), ["passed", "error"])
        self.assertEqual(cases.messages["test_solution.py::test_not"], "NameError: name 'nowhere' is not defined")

    def test_the_names_of_a_snippet_elsewhere(self):
        code = "def add(a, b): return a + b\ndef len(x): return 3\ndef pow(x): return 5\nclass AssertionError(Exception): pass\n"
        cases, _ = native.grade(
            kind.PyTests,
            {
                "source": "class Test:\n    three = add(1, 2)\n"
                "    def test(self): assert (self.three, add(1, 1), len('ab'), pow(1)) == (3, 2, 2, 5)\n"
                "    def test_wrong(self): assert len('ab') == 3\n",
                "entry_point": "pow",
            },
            code,
            apart=True,
        )
        self.assertEqual([status for _, status, _ in cases.results], ["passed", "failed"])

    def test_fixtures_and_their_failures(self):
        cases, candidate = grade(
            "import pytest\n"
            "log = []\n"
            "@pytest.fixture(scope='module')\n"
            "def shared():\n"
            "    log.append('up'); yield 5; 1 / 0\n"
            "@pytest.fixture\n"
            "def bad(): boom()\n"
            "def test_a(shared, tmp_path, monkeypatch, capsys):\n"
            "    (tmp_path / 'f').write_text('x'); print('out'); monkeypatch.setenv('A', 'b')\n"
            "    assert shared == 5 and capsys.readouterr().out == 'out\\n'\n"
            "def test_fd(shared, capfd): print('y'); assert capfd.readouterr().out == 'y\\n'\n"
            "def test_bad(bad): pass\n"
            "def test_missing(nothing_like_it): pass\n"
            "def test_b(shared, caplog, recwarn, request, tmpdir): assert log == ['up']\n"
        )
        self.assertEqual(list(cases.statuses.values()), ["passed", "passed", "error", "error", "error"])
        self.assertIn("fixture 'nothing_like_it' not found", cases.messages["test_solution.py::test_missing"])
        self.assertEqual(cases.messages["test_solution.py::test_b"], "ZeroDivisionError: division by zero")

    def test_marks(self):
        cases, _ = grade(
            "import pytest, unittest\n"
            "@pytest.mark.skip(reason='later')\n"
            "def test_a(): pass\n"
            "def test_b(): pytest.skip('now')\n"
            "@pytest.mark.xfail(reason='bug')\n"
            "def test_c(): assert False\n"
            "@pytest.mark.xfail\n"
            "def test_d(): pass\n"
            "@pytest.mark.xfail(strict=True, reason='bug')\n"
            "def test_e(): pass\n"
            "@pytest.mark.xfail(raises=ValueError)\n"
            "def test_f(): 1 / 0\n"
            "def test_g(): pytest.xfail('said')\n"
            "@pytest.mark.xfail(run=False)\n"
            "def test_h(): pass\n"
            "@pytest.mark.xfail\n"
            "def test_i(): raise SystemExit(0)\n"
            "def test_j(): raise unittest.SkipTest('elsewhere')\n"
            "async def test_k(): pass\n"
        )
        self.assertEqual(
            [(status, message) for _, status, message in cases.results][:-1],
            [
                ("skipped", "later"), ("skipped", "now"), ("passed", None), ("passed", None),
                ("failed", "AssertionError: [XPASS(strict)] bug"), ("error", "ZeroDivisionError: division by zero"),
                ("skipped", "xfail: said"), ("skipped", "xfail: [NOTRUN] "), ("error", "SystemExit: 0"),
                ("skipped", "elsewhere"),
            ],
        )  # fmt: skip
        self.assertEqual(cases.results[-1][1], "failed")

    def test_what_ends_an_interpreter_fails_its_case(self):
        for error in ("KeyboardInterrupt", "SystemExit", "GeneratorExit", "BaseException"):
            cases, _ = grade("def test_a(): leave()\ndef test_b(): pass\n", f"def leave(): raise {error}\n")
            self.assertEqual(list(cases.statuses.values()), ["error", "passed"])
            os.remove(f"{self.folder}/test_solution.py")
        cases, _ = grade("import pytest\ndef test_a(): pass\ndef test_b(): pytest.exit('all')\ndef test_c(): pass\n")
        self.assertEqual(list(cases.statuses.values()), ["passed", "error", "not_run"])

    def test_the_death_of_the_candidate_is_no_exception_to_expect(self):
        cases, candidate = grade(
            "import pytest\n"
            "from solution import start, die\n"
            "count = start()\n"
            "@pytest.fixture(scope='module', autouse=True)\n"
            "def shared():\n"
            "    yield\n"
            "    start()\n"
            "def test_a():\n"
            "    with pytest.raises(BaseException): die()\n"
            "def test_b(): assert count == 1\n"
            "@pytest.mark.xfail\n"
            "def test_c(): die()\n"
            "def test_d():\n"
            "    try: die()\n"
            "    except BaseException: pytest.skip('gone')\n"
            "def test_e(): assert start() == 2\n",
            "n = 0\ndef start():\n    global n\n    n += 1\n    return n\n",
        )
        self.assertEqual(list(cases.statuses.values()), ["error", "passed", "error", "error", "passed"])
        self.assertEqual(candidate.interpreters, 4)

    def test_a_fresh_candidate_that_cannot_be_had_fails_the_rest(self):
        code = "import builtins\nbuiltins.starts = getattr(builtins, 'starts', 0) + 1\nif builtins.starts == 2: raise ValueError('once')\n"
        self.addCleanup(lambda: delattr(__import__("builtins"), "starts"))
        cases, _ = grade("from solution import die\ndef test_a(): die()\ndef test_b(): pass\ndef test_c(): pass\n", code)
        self.assertEqual(list(cases.statuses.values()), ["error", "error", "passed"])

    def test_death_while_a_file_is_imported_is_that_files(self):
        cases, candidate = native.grade(
            kind.PyTests,
            {"files": {"test_a.py": "from solution import die\ndie()\ndef test(): pass\n", "test_b.py": "def test(): pass\n"}},
        )
        self.assertEqual(cases.statuses, {"test_a.py": "error", "test_b.py::test": "passed"})

    def test_each_case_has_a_fresh_interpreter_when_asked_for(self):
        cases, candidate = grade(
            "from solution import start\n" + "".join(f"def test_{i}(): assert start() == 1\n" for i in range(3)),
            "n = 0\ndef start():\n    global n\n    n += 1\n    return n\n",
            fresh_per_case=True,
        )
        self.assertEqual(list(cases.statuses.values()), ["passed"] * 3)
        self.assertEqual(candidate.interpreters, 3)

    def test_the_snippets_own_tests_do_not_count(self):
        cases, _ = grade(
            "from solution import *\ndef test(): pass\n", "def test_mine(): pass\nclass TestMine:\n    def test(self): pass\n"
        )
        self.assertEqual(cases.statuses, {"test_solution.py::test": "passed"})

    def test_files_with_conftest_packages_and_settings(self):
        cases, _ = native.grade(
            kind.PyTests,
            {
                "files": {
                    "conftest.py": "import pytest\n@pytest.fixture\ndef five(): return 5\n",
                    "pytest.ini": "[pytest]\npython_functions = check_*\naddopts = -v -ra --tb=short --strict-markers --doctest-modules --durations=3\n",
                    "helper.py": "SIX = 6\n",
                    "unit/__init__.py": "", "unit/test_x.py": "from helper import SIX\nfrom bank import add\ndef check_x(five): assert add(five, 1) == SIX\n",
                    "test_y.py": "1 / 0",
                    "test_z.py": "import pytest\npytest.skip('no', allow_module_level=True)",
                    "test_w.py": "import nowhere",
                    "test_v.py": "x = (",
                },
                "module": "bank",
            },
            CODE,
        )  # fmt: skip
        self.assertEqual(
            cases.results,
            [
                ("test_v.py", "error", "SyntaxError: '(' was never closed"),
                ("test_w.py", "error", "ModuleNotFoundError: No module named 'nowhere'"),
                ("test_y.py", "error", "ZeroDivisionError: division by zero"),
                ("test_z.py", "skipped", "no"),
                ("unit/test_x.py::check_x", "passed", None),
            ],
        )

    def test_what_cannot_be_collected_is_a_failed_case(self):
        for files, result in (
            ({"test_a.py": ""}, ("pytest", "error", "NoTests: pytest has collected no test")),
            ({"conftest.py": "1 / 0", "test_a.py": ""}, ("pytest", "error", "ZeroDivisionError: division by zero")),
            ({"test_a.py": "import sys\nsys.exit(0)"}, ("pytest", "error", "SystemExit: 0")),
            ({"pytest.ini": "[pytest]\naddopts = --nonsense"}, ("pytest", "error", None)),
        ):
            shutil.rmtree(self.folder)
            os.mkdir(self.folder)
            cases, _ = native.grade(kind.PyTests, {"files": files})
            ((name, status, message),) = cases.results
            self.assertEqual((name, status, message if result[2] else None), result)

    def test_nothing_of_the_candidates_is_read(self):
        home = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, home)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(home)
        for name, text in {"conftest.py": "1 / 0", "pytest.ini": "[pytest]\naddopts = --nonsense", "setup.cfg": "[tool:pytest]\naddopts=-x"}.items():
            with open(name, "w") as file:
                file.write(text)
        os.environ["PYTEST_ADDOPTS"] = "--nonsense"
        os.environ["PYTEST_PLUGINS"] = "nowhere"
        try:
            cases, _ = grade("def test(): pass")
            self.assertEqual(os.environ["PYTEST_PLUGINS"], "nowhere")
        finally:
            del os.environ["PYTEST_ADDOPTS"], os.environ["PYTEST_PLUGINS"]
        self.assertEqual(list(cases.statuses.values()), ["passed"])


if __name__ == "__main__":
    unittest.main()
