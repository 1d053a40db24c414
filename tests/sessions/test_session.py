"""Rules of sessions that a comparison with a kernel does not show, with the guest's Python run natively."""

import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

NATIVE = pathlib.Path(__file__).resolve().parent / "native.py"
# Deterministic, so that a failure can be seen again.
SEED = 5


class Session:
    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [sys.executable, NATIVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self._folder.name
        )
        return self

    def __exit__(self, *error):
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()
        self._folder.cleanup()

    def __call__(self, code, **options):
        self._process.stdin.write(json.dumps({"code": code, **options}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        self.code, self.events = answer["code"], answer["events"]
        return self

    def of(self, kind):
        return [event for event in self.events if event[0] == kind]

    @property
    def text(self):
        shown = self.of("display")
        return shown[-1][1]["text/plain"] if shown else None

    @property
    def raised(self):
        """class, name, value, traceback, line, frames"""
        (event,) = self.of("raised")
        return event[1:]


class Cells(unittest.TestCase):
    maxDiff = None

    def test_a_result_is_posted_as_data_only_where_it_is_asked_for(self):
        with Session() as run:
            self.assertEqual(run("[1]", value=True).of("result"), [["result", [1]]])
            self.assertEqual(run("None", value=True).of("result"), [["result", None]])
            self.assertEqual(run("5;", value=True).of("result"), [])
            self.assertEqual(run("x = 1", value=True).of("result"), [])
            self.assertEqual(run("[1]").of("result"), [])

    def test_what_is_printed_comes_before_what_is_displayed(self):
        with Session() as run:
            run("import sys\nprint('a', end='')\nsys.stderr.write('b')\ndisplay(1)\nprint('c', end='')\n2")
            self.assertEqual([event[0] for event in run.events], ["stdout", "stderr", "display", "stdout", "display"])

    def test_a_print_is_one_piece(self):
        with Session() as run:
            self.assertEqual(run("print('hello', 5)").events, [["stdout", "hello 5\n"]])

    def test_variables_of_a_cell_are_gone_after_it_even_when_it_fails(self):
        with Session() as run:
            run("import os\nos.environ['OLD'] = 'old'", env={"KEPT": "kept"})
            run("1/0", cell_env={"OLD": "new", "ONE": "1"})
            self.assertEqual(run("os.environ['OLD'], os.environ.get('ONE'), os.environ['KEPT']").text, "('old', None, 'kept')")
            run("del os.environ['ONE']", cell_env={"ONE": "1"})
            self.assertEqual((run.code, run("'ONE' in os.environ").text), (0, "False"))

    def test_tracebacks_quote_the_cell_where_a_function_was_made(self):
        with Session() as run:
            run("# comment\ndef f(a, *b, c=1, **d):\n    return a / 0\n")
            failure, name, value, traceback, line, frames = run("x = 1\nf(x)").raised
            self.assertEqual((failure, name, value, line), ("exception", "ZeroDivisionError", "division by zero", 3))
            self.assertEqual(
                frames, [["Cell In[2]", 2, "<module>", "f(x)"], ["Cell In[1]", 3, "f", "return a / 0"]]
            )
            self.assertEqual(
                traceback,
                "-" * 75 + "\n"
                "ZeroDivisionError                         Traceback (most recent call last)\n"
                "Cell In[2], line 2\n      1 x = 1\n----> 2 f(x)\n\n"
                "Cell In[1], line 3, in f(a, c, *b, **d)\n      1 # comment\n      2 def f(a, *b, c=1, **d):\n"
                "----> 3     return a / 0\n\nZeroDivisionError: division by zero",
            )

    def test_a_magic_keeps_the_lines_of_its_cell(self):
        with Session() as run:
            self.assertIn("----> 3 1/0", run("%%time\nx = 1\n1/0").raised[3])
            self.assertEqual(run("%%capture\n\n1/0").raised[4], 3)

    def test_long_tracebacks_are_cut_in_the_middle(self):
        with Session() as run:
            text = run("def r(): return r()\nr()").raised[3]
            self.assertRegex(text, r"\[\.\.\. skipping similar frames: r at line 1 \(\d+ times\)\]")
            self.assertLess(len(text), 2000)
            mutual = "def a(n): return b(n)\ndef b(n): return a(n) if n else 1/0\na(0) if 0 else a(5000)"
            text = run(mutual).raised[3]
            self.assertIn("[... skipping ", text)
            self.assertLess(len(text), 60_000)

    def test_exceptions_that_lie_about_themselves_are_told(self):
        lies = (
            "class E(Exception):\n    __traceback__ = property(lambda self: 1/0)\nraise E('a')",
            "class E(Exception):\n    __cause__ = property(lambda self: 1/0)\n    __suppress_context__ = property(lambda self: 1/0)\nraise E('a')",
            "class M(type):\n    __name__ = property(lambda cls: 1/0)\nclass E(Exception, metaclass=M): pass\nraise E('a')",
            "class S(str): pass\nE = type(S('E'), (Exception,), {})\nraise E(S('a'))",
            "class E(Exception):\n    def __getattribute__(self, name): raise KeyError(name)\nraise E('a')",
            "class E(SyntaxError):\n    lineno = property(lambda self: 1/0)\nraise E('a')",
        )
        with Session() as run:
            for lie in lies:
                failure, name, value, *_ = run(lie).raised
                self.assertEqual(value, "a", lie)
            self.assertEqual(run("1 + 1").text, "2")

    def test_history_and_results_are_bounded(self):
        with Session() as run:
            run("def first(): return 1/0")
            for _ in range(1100):
                run("'x' * 10")
            self.assertEqual(run("len(In), In[1], len(Out)").text, "(1103, '', 200)")
            self.assertEqual(run("'_2' in globals(), '_1101' in globals()").text, "(False, True)")
            self.assertIn("in first()", run("first()").raised[3])

    def test_large_sources_make_room_for_each_other(self):
        with Session() as run:
            for _ in range(9):
                run("x = 1 # " + "y" * 1_000_000)
            text = run("import linecache\nsum(len(e) for e in In), sum(k.startswith('Cell In[') for k in linecache.cache)").text
            size, cells = eval(text)
            self.assertLess(size, 4_100_000)
            self.assertLess(cells, 6)

    def test_outside_of_sessions_nobody_displays(self):
        code = (
            "import sys; sys.path.insert(0, %r); import native; native._set_up([])\n"
            "from IPython.display import display, HTML\nfrom IPython import get_ipython\n"
            "display(HTML('<b>'), 5); print(get_ipython())"
        ) % str(NATIVE.parent)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(done.stdout, "<IPython.core.display.HTML object>\n5\nNone\n", done.stderr)

    def test_installing_says_what_there_is_and_does_not_raise(self):
        with Session() as run:
            for cell in ("%pip install absent", "!pip install absent", "!python3 -m pip install absent", "pip install absent"):
                (written,) = ["".join(event[1] for event in run(cell).of("stdout"))]
                self.assertIn("absent: is not available and cannot be installed", written)
                self.assertEqual(run.code, 0)


class Interrupts(unittest.TestCase):
    def test_an_endless_loop_ends_and_the_namespace_stays(self):
        with Session() as run:
            run("x = 1\nwhile True: x += 1", interrupt_after=0.1)
            self.assertEqual(run.raised[1], "KeyboardInterrupt")
            self.assertEqual(run("x > 1").text, "True")

    def test_what_waits_gets_to_its_finally(self):
        with Session() as run:
            run("import asyncio\nasync def f():\n    try:\n        await asyncio.sleep(60)\n    finally:\n        print('cleaned')")
            run("t = asyncio.create_task(asyncio.sleep(0.01, 'other'))")
            run("await f()", interrupt_after=0.1)
            self.assertEqual((run.raised[1], run.of("stdout")), ("KeyboardInterrupt", [["stdout", "cleaned\n"]]))
            self.assertEqual(run("await t").text, "'other'")

    def test_a_deadlock_of_the_loop_is_interrupted(self):
        with Session() as run:
            run("import asyncio\nawait asyncio.Event().wait()", interrupt_after=0.1)
            self.assertEqual(run("await asyncio.sleep(0, 5)").text, "5")

    def test_at_any_moment_the_session_survives(self):
        cells = (
            "x = [i for i in range(50)]", "x", "print('a'); display('b'); 'c'", "1/0", "def broken(:", "%pwd",
            "import asyncio\nawait asyncio.sleep(0, 'slept')", "t = asyncio.create_task(asyncio.sleep(0))",
            "%%capture c\nprint(1)\ndisplay(2)", "class R:\n    def _repr_html_(self): return '<b>'\nR()",
            "{'a': list(range(60))}", "raise ValueError('v') from KeyError('k')", "    5",
        )  # fmt: skip
        moments = random.Random(SEED)
        interrupted = 0
        with Session() as run:
            run("import os, asyncio")
            for _ in range(1500):
                run(moments.choice(cells), interrupt_after=moments.uniform(1e-6, 3e-4), cell_env={"LENT": "1"})
                self.assertLessEqual(len(run.of("raised")), 1)
                # -1: it came before the cell's first line, or after its last.
                self.assertTrue(run.code == -1 or run.code == bool(run.of("raised")), run.events)
                interrupted += bool(run.of("raised")) and run.raised[1] == "KeyboardInterrupt"
            self.assertGreater(interrupted, 100)
            # What a task was interrupted with is told when the task goes.
            run("import gc\ndel t\ngc.collect();")
            self.assertEqual(run("os.environ.get('LENT')").text, None)
            self.assertEqual(run("await asyncio.sleep(0, 'well')").text, "'well'")
            self.assertEqual(run("print('seen'); display(1); 2").events[0], ["stdout", "seen\n"])
            self.assertEqual([event[1]["text/plain"] for event in run.of("display")], ["1", "2"])
            self.assertEqual(run("asyncio.get_running_loop().is_running()").text, "True")


class Programs(unittest.TestCase):
    """`python3 ARGUMENTS` as this Python does it: exit code, output, and the last line of stderr."""

    PRINTS = "import sys\nprint(sys.argv, __name__, sys.path[0])\n"
    COMMAND_LINES = (
        ["-c", PRINTS, "a", "-b"], ["-uc", PRINTS], ["-", "a"], [], ["prints.py", "a b", "-c"], ["--", "prints.py"], ["-bBq", "prints.py"],
        ["folder", "x"], ["-m", "folder", "x"], ["z.zip", "q"], ["-m", "json.tool", "-"], ["-m", "nothing_here"], ["nofile.py"], ["."],
        ["-c", "1/0"], ["-c", "def f(:"], ["-c", "import sys; sys.exit(3)"], ["-c", "import sys; sys.exit(300)"],
        ["-c", "import sys; sys.exit(-1)"], ["-c", "import sys; sys.exit('bye')"], ["-c", "raise SystemExit"], ["-c", ""],
        ["-O", "-c", "assert 0"], ["-c", "print(__file__)"], ["fails.py"], ["-Z"], ["--nothing"], ["-c"], ["-m"], ["-W"], ["-X"], ["-x", "skips.py"],
        ["-W", "error", "-c", "import warnings; warnings.warn('x')"], ["-Werror", "-X", "a=b", "-c", "import sys; print(sys._xoptions['a'])"],
        ["-I", "-c", "import sys; print(sys.path[0] == '')"], ["-V"], ["-c", "import __main__; print(__main__.__dict__ is globals())"],
        ["-c", "import sys; print(sys.stdin.read())"],
    )  # fmt: skip

    def test_as_python_itself(self):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            (folder / "prints.py").write_text(self.PRINTS)
            (folder / "fails.py").write_text("# -*- coding: latin-1 -*-\nimport sys\ndef f():\n    raise KeyError(sys.argv[0])\nf()\n")
            (folder / "skips.py").write_text("this is no python\nprint('skipped')\n")
            (folder / "folder").mkdir()
            (folder / "folder/__main__.py").write_text(self.PRINTS)
            import zipfile

            with zipfile.ZipFile(folder / "z.zip", "w") as archive:
                archive.writestr("__main__.py", self.PRINTS)
            for words in self.COMMAND_LINES:
                ours, theirs = (self.outcome(command, folder) for command in ([NATIVE, "program", *words], words))
                self.assertEqual(ours, theirs, words)

    @staticmethod
    def outcome(words, folder):
        text = '{"a": 1}'
        if words in ([], ["-", "a"]) or words[1:] in (["program"], ["program", "-", "a"]):
            text = Programs.PRINTS
        done = subprocess.run([sys.executable, *words], input=text, capture_output=True, text=True, cwd=folder)
        last = (done.stderr.strip().splitlines() or [""])[-1].replace(sys.executable, "python3")
        return done.returncode, done.stdout, last


if __name__ == "__main__":
    unittest.main()
