//! Tests in an interpreter of their own: what crosses the bridge, what does not, and what becomes of a candidate that
//! does not behave.

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows};

async fn asserts(code: &str, asserts: &[&str]) -> Value {
    Server::shared().execute(json!({"code": code, "tests": {"kind": "asserts", "asserts": asserts}})).await
}

/// All pass, and an interpreter of their own is where they ran.
async fn hold(code: &str, checks: &[&str]) -> Value {
    let answer = asserts(code, checks).await;
    assert_shows(&answer, json!({"status": "passed", "integrity": {"level": "isolated"}}));
    answer
}

fn statuses(answer: &Value) -> Vec<&str> {
    answer["cases"].as_array().expect("cases").iter().map(|case| case["status"].as_str().expect("a word")).collect()
}

#[tokio::test]
async fn values_cross_as_what_they_are() {
    let code = "def same(x):\n    return x\ndef kind(x):\n    return type(x).__name__\n";
    let values = [
        "None",
        "True",
        "-7",
        "2**200",
        "-2**64",
        "1.5",
        "float('inf')",
        "1j",
        "'\\ud800é'",
        "b'\\0a'",
        "bytearray(b'x')",
        "[1, [2]]",
        "(1, (2,))",
        "{'a': [1], 2: {3}}",
        "{1, 2}",
        "frozenset({1})",
        "{(1, 2): 3}",
        "range(1, 9, 2)",
        "slice(1, None)",
        "...",
        "__import__('decimal').Decimal('1.10')",
        "__import__('fractions').Fraction(1, 3)",
        "__import__('datetime').datetime(2026, 1, 2, 3, 4, 5, 6)",
        "__import__('datetime').date(2026, 1, 2)",
        "__import__('datetime').timedelta(1, 2, 3)",
        "__import__('datetime').datetime(2026, 7, 1, tzinfo=__import__('zoneinfo').ZoneInfo('Europe/Berlin'))",
        "__import__('collections').deque([1, 2], maxlen=3)",
        "__import__('collections').Counter('aab')",
        "__import__('collections').OrderedDict(b=1, a=2)",
        "__import__('collections').defaultdict(list, a=[1])",
        "__import__('uuid').UUID(int=5)",
        "__import__('pathlib').Path('/a/b')",
    ];
    let checks: Vec<String> = values
        .iter()
        .map(|value| {
            format!("v = {value}; r = same(v); assert r == v and type(r) is type(v) and kind(v) == type(v).__name__, r")
        })
        .collect();
    let mut checks: Vec<&str> = checks.iter().map(String::as_str).collect();
    checks.extend([
        "r = same(float('nan')); assert r != r",
        "a = [1]; r = same([a, a]); assert r[0] is r[1]",
        "a = []; a.append(a); r = same(a); assert r is a",
        "d = __import__('collections').defaultdict(int); assert same(d).default_factory is int",
    ]);
    hold(code, &checks).await;
}

#[tokio::test]
async fn what_the_candidate_alters_is_altered_for_the_tests() {
    let code = "def change(a, b, c, d):\n    a.sort()\n    b['x'] = a\n    c.add(4)\n    d[:] = b'new'\n    return a\n\
                def deep(rows):\n    rows[0].append(rows)\n    rows[1]['k'].popleft()\n";
    hold(
        code,
        &[
            "a, b, c, d = [3, 1, 2], {}, {1}, bytearray(b'old'); r = change(a, b, c, d); \
             assert a == [1, 2, 3] and r is a and b['x'] is a and c == {1, 4} and d == b'new'",
            "from collections import deque; q = deque([1, 2]); rows = [[], {'k': q}]; deep(rows); \
             assert rows[0][0] is rows and q == deque([2])",
        ],
    )
    .await;
}

#[tokio::test]
async fn an_argument_that_was_changed_and_is_passed_again_is_noted() {
    let code = "def f(xs):\n    xs.append(1)\n    return len(xs)\n";
    let signals = async |checks: &[&str]| hold(code, checks).await["integrity"]["signals"].clone();
    let changed = json!(["argument_changed"]);
    assert_eq!(signals(&["assert f([]) == 1", "assert f([]) == 1"]).await, changed);
    let reused = json!(["argument_changed", "changed_argument_reused"]);
    assert_eq!(signals(&["xs = []; assert f(xs) == 1; assert f(xs) == 2"]).await, reused);
}

#[tokio::test]
async fn objects_stay_where_they_are_and_are_used_from_here() {
    let code = "class Stack(list):\n    def push(self, x):\n        self.append(x)\n\
                class Point:\n    count = 0\n    def __init__(self, x):\n        self.x = x\n        Point.count += 1\n\
                \x20   def __eq__(self, other):\n        return isinstance(other, Point) and self.x == other.x\n\
                \x20   def __add__(self, other):\n        return Point(self.x + (other.x if isinstance(other, Point) else other))\n\
                \x20   def __len__(self):\n        return self.x\n    def __repr__(self):\n        return f'P{self.x}'\n\
                \x20   @property\n    def double(self):\n        return 2 * self.x\n    @classmethod\n    def one(cls):\n        return cls(1)\n\
                class Error(ValueError):\n    def __init__(self, text, code):\n        super().__init__(text)\n        self.code = code\n\
                def fail():\n    raise Error('no', 7)\n\
                def count(n):\n    while True:\n        yield n\n        n += 1\n\
                async def later(x):\n    import asyncio\n    await asyncio.sleep(0)\n    return x\n\
                from collections import namedtuple\nPair = namedtuple('Pair', 'a b')\ndef pair():\n    return Pair(1, 2)\n";
    hold(
        code,
        &[
            "s = Stack(); s.push(1); s.push(2); assert len(s) == 2 and s[1] == 2 and list(s) == [1, 2] and s == [1, 2]",
            "assert isinstance(Stack(), list)",
            "p = Point(3); assert p.x == 3 and p.double == 6 and len(p) == 3 and repr(p) == 'P3' and isinstance(p, Point)",
            "assert Point(1) == Point.one() and Point(1) != Point(2) and Point(1) + Point(2) == Point(3)",
            "assert Point(1) + 2 == Point(3)",
            "p = Point(1); p.x = 5; assert p.x == 5 and Point.count > 0",
            "try:\n    fail()\nexcept ValueError as e:\n    assert type(e) is Error and e.args == ('no',) and e.code == 7 and str(e) == 'no'",
            "g = count(5); assert next(g) == 5 and next(g) == 6 and [x for x, _ in zip(g, range(2))] == [7, 8]",
            "import asyncio; assert asyncio.run(later(4)) == 4",
            "assert pair() == (1, 2) and pair().b == 2 and isinstance(pair(), tuple)",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_callback_runs_where_the_tests_are() {
    let code = "def each(f, xs):\n    return [f(x) for x in xs]\n\
                def look(f):\n    told = f.__code__.co_consts, f.__code__.co_names, f.__defaults__\n    return [hasattr(f, n) for n in ('__globals__', '__closure__')], *told\n\
                def catch(f):\n    try:\n        f()\n    except KeyError as e:\n        return e.args, e.__traceback__.tb_frame.f_back is None or True\n";
    let answer = hold(
        code,
        &[
            "seen = []; assert each(lambda x: seen.append(x) or x * 2, [1, 2]) == [2, 4] and seen == [1, 2]",
            "assert each(each, []) == []",
            "secret = 42; assert look(lambda: secret + 43) == ([False] * 2, (None,), (), None)",
            "def f(): raise KeyError('k')\nassert catch(f)[0] == ('k',)",
        ],
    )
    .await;
    assert!(answer["integrity"]["signals"].to_string().contains("looked_into_the_tests"), "{}", answer["integrity"]);
}

#[tokio::test]
async fn an_object_of_the_candidate_does_not_decide_comparisons() {
    let code = "class Liar:\n    def __eq__(self, o): return True\n    def __ne__(self, o): return False\n\
                \x20   def __lt__(self, o): return True\n    __le__ = __gt__ = __ge__ = __lt__\n    def __sub__(self, o): return 0.0\n\
                \x20   __rsub__ = __sub__\n    def __contains__(self, o): return True\n    def __hash__(self): return hash(3)\n\
                class Int(int):\n    def __eq__(self, o): return True\n    def __hash__(self): return 3\n\
                def f():\n    return Liar()\ndef g():\n    return Int(5)\ndef stop():\n    raise StopIteration\n\
                def len(x):\n    return 3\n";
    let checks = [
        "assert f() == 3",
        "assert 3 == f()",
        "assert not f() != 3",
        "assert f() in [3]",
        "assert [f()] == [3]",
        "assert f() < 3",
        "assert abs(f() - 3) < 1e-6",
        "assert 3 in f()",
        "assert {f(): 1} == {3: 1}",
        "assert g() == 3",
        "assert g() in (3,)",
        "assert all(map(lambda x: stop(), [1]))",
        "assert len([1]) == 3 and f() is not None",
    ];
    let answer = asserts(code, &checks).await;
    assert_eq!(answer["tests_passed"], 0, "{:?}", statuses(&answer));
}

#[tokio::test]
async fn one_crash_does_not_hide_the_rest() {
    let code = "import os, sys\ncalls = []\ndef f(x):\n    calls.append(x)\n    if x == 1: os._exit(0)\n    if x == 2: sys.exit(0)\n\
                \x20   if x == 3: raise KeyboardInterrupt\n    return x + len(calls)\n";
    let answer = asserts(
        code,
        &["assert f(0) == 1", "assert f(1)", "assert f(0) == 1", "assert f(2)", "assert f(3)", "assert f(9) > 9"],
    )
    .await;
    assert_eq!(statuses(&answer), ["passed", "error", "passed", "error", "error", "passed"]);
    assert_shows(&answer, json!({"status": "failed", "grader": {"candidates": 2}}));
    assert_shows(&answer["cases"][1], json!({"stderr_class": "exception"}));
}

#[tokio::test]
async fn what_is_used_up_is_used_up_for_all_cases() {
    let request = json!({
        "code": "def f(x):\n    while x: pass\n    return x\n", "limits": {"fuel": 300_000_000},
        "tests": {"kind": "asserts", "asserts": ["assert f(0) == 0", "f(1)", "assert f(0) == 0"]},
    });
    let answer = Server::shared().execute(request).await;
    assert_shows(
        &answer,
        json!({"status": "failed", "tests_passed": 1, "tests_total": 3, "stderr_class": "fuel_exhausted"}),
    );
    assert_shows(&answer["cases"][1], json!({"status": "error", "stderr_class": "fuel_exhausted"}));
}

#[tokio::test]
async fn a_candidate_that_can_not_be_imported_passes_nothing() {
    for (code, class) in [("import sys; sys.exit(0)", "exception"), ("x = (", "syntax_error"), ("1 / 0", "exception")] {
        for tests in [
            json!({"kind": "asserts", "asserts": ["assert f() == 1", "assert True"]}),
            json!({"kind": "unittest", "source": "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def test_a(self):\n        f()\n    def test_b(self):\n        pass\n"}),
        ] {
            let answer = Server::shared().execute(json!({"code": code, "tests": tests})).await;
            let shown = json!({"status": "failed", "stderr_class": class, "tests_passed": 0, "tests_total": 2, "compiled": false});
            assert_shows(&answer, shown);
        }
    }
}

#[tokio::test]
async fn the_tests_own_files_do_not_exist_for_the_candidate() {
    let code = "import os\ndef look():\n    out = [os.path.exists('/tests'), 'tests' in os.listdir('/')]\n\
                \x20   for do in (lambda: open('/tests/secret.py').read(), lambda: os.mkdir('/tests'), lambda: os.listdir('/tests'),\n\
                \x20              lambda: open('/tests/unittest.py', 'w'), lambda: os.rename('/tests', '/t'), lambda: os.symlink('/tests', 'l') or os.listdir('l')):\n\
                \x20       try:\n            do()\n            out.append(True)\n        except OSError:\n            out.append(False)\n    return out\n\
                def read(path):\n    return open(path).read()\n";
    let tests = json!({
        "kind": "pytest",
        "files": {
            "secret.py": "ANSWER = 42\n",
            "test_it.py": "import secret, solution\ndef test_hidden():\n    assert solution.look() == [False] * 8\n\
                           def test_shared(tmp_path):\n    (tmp_path / 'x').write_text('hello')\n    assert solution.read(str(tmp_path / 'x')) == 'hello'\n\
                           def test_mine():\n    assert secret.ANSWER == 42 and open('/tests/secret.py').read()\n",
        },
    });
    let answer = Server::shared().execute(json!({"code": code, "tests": tests})).await;
    assert_shows(&answer, json!({"status": "passed", "tests_total": 3}));
}

#[tokio::test]
async fn what_the_candidate_prints_is_where_the_tests_look_for_it() {
    let code = "def hello():\n    print('hello')\n";
    let tests = json!({"kind": "pytest", "source": "import solution\ndef test_capsys(capsys):\n    solution.hello()\n    assert capsys.readouterr().out == 'hello\\n'\n\
        def test_redirect():\n    import io, contextlib\n    out = io.StringIO()\n    with contextlib.redirect_stdout(out):\n        solution.hello()\n    assert out.getvalue() == 'hello\\n'\n"});
    let answer = Server::shared().execute(json!({"code": code, "tests": &tests})).await;
    assert_shows(&answer, json!({"status": "passed", "stdout": "hello\nhello\n"}));
    assert_eq!(answer["cases"][1]["stdout"], "hello\n");
    // However the candidate has set its streams.
    let code = "import sys\ndef hello():\n    sys.stdout.reconfigure(write_through=False)\n    print('hello')\n";
    let answer = Server::shared().execute(json!({"code": code, "tests": tests})).await;
    assert_shows(&answer, json!({"status": "passed", "stdout": "hello\nhello\n"}));
}

#[tokio::test]
async fn the_same_submission_costs_the_same() {
    let request = json!({
        "code": "def f(xs):\n    return sorted(xs)\n", "deterministic": {"seed": 1},
        "tests": {"kind": "asserts", "asserts": ["assert f([3, 1, 2]) == [1, 2, 3]", "import random; x = [random.random() for _ in range(50)]; assert f(x) == sorted(x)"]},
    });
    let server = Server::shared();
    let busy: Vec<_> =
        (0..4).map(|_| tokio::spawn(server.execute(json!({"code": "for i in range(10**6): pass"})))).collect();
    let first = server.execute(request.clone()).await;
    for task in busy {
        task.await.expect("it does not panic");
    }
    let second = server.execute(request).await;
    assert_shows(&first, json!({"status": "passed"}));
    let figures = |answer: &Value| {
        (answer["fuel_used"].clone(), answer["grader"]["fuel_used"].clone(), answer["cases"][1]["fuel_used"].clone())
    };
    assert_eq!(figures(&first), figures(&second));
}

#[tokio::test]
async fn calls_are_compared_where_nobody_else_is() {
    let tests = json!({
        "kind": "function_cases", "entry_point": "Solution().f",
        "cases": [
            {"args": [[3, 1]], "expected": [1, 3]},
            {"kwargs": {"xs": [1.0]}, "expected": [1.0000001], "compare": {"close": {}}},
            {"args": [[2, 1]], "expected": [2, 1], "compare": "unordered"},
            {"args": [null], "raises": "TypeError"},
            {"args": [[]], "expected": null},
        ],
    });
    let code = "class Solution:\n    def f(self, xs):\n        return sorted(xs) or [0]\n";
    let answer = Server::shared().execute(json!({"code": code, "tests": tests})).await;
    assert_eq!(statuses(&answer), ["passed", "passed", "passed", "passed", "failed"]);
    let message = answer["cases"][4]["message"].as_str().expect("a message");
    assert!(message.contains("expected"), "{message}");
}

#[tokio::test]
async fn a_result_that_can_not_cross_is_what_no_test_expects() {
    let code = "def huge():\n    return 1 << 150_000_000\n";
    let answer = asserts(
        code,
        &[
            "try:\n    huge()\nexcept Exception:\n    pass",
            "import unittest; unittest.TestCase().assertRaises(Exception, huge)",
            "assert True",
        ],
    )
    .await;
    assert_eq!(statuses(&answer), ["error", "error", "passed"]);
    assert_shows(&answer["cases"][0], json!({"stderr_class": "serialization_error"}));
}

#[tokio::test]
async fn modules_and_dataclasses_of_the_candidate_are_used_as_elsewhere() {
    let request = json!({
        "code": "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int = 2\n",
        "files": {"lib/__init__.py": "", "lib/deep.py": "def f():\n    return 5\n", "flat.py": "N = 3\n"},
        "tests": {"kind": "unittest", "source": "import unittest, dataclasses\nimport lib.deep, flat\nfrom lib.deep import f\nfrom solution import P\n\
            class T(unittest.TestCase):\n    def test_modules(self):\n        self.assertEqual((lib.deep.f(), f(), flat.N), (5, 5, 3))\n\
            \x20   def test_dataclass(self):\n        self.assertEqual(dataclasses.asdict(P(1)), {'x': 1, 'y': 2})\n        self.assertEqual([f.name for f in dataclasses.fields(P)], ['x', 'y'])\n\
            \x20       self.assertEqual(P(1), P(1, 2))\n"},
    });
    let answer = Server::shared().execute(request).await;
    assert_shows(&answer, json!({"status": "passed", "tests_total": 2}));
}

#[tokio::test]
async fn auto_runs_in_process_what_can_not_be_said_apart() {
    let source = "import unittest\nimport solution\nclass Square(solution.Shape):\n    def area(self):\n        return 9\n\
                  class T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(Square().double(), 18)\n";
    let request = |grading: &str| {
        json!({"code": "class Shape:\n    def double(self):\n        return 2 * self.area()\n", "grading": grading,
               "tests": {"kind": "unittest", "source": source}})
    };
    let isolated = Server::shared().execute(request("isolated")).await;
    assert_shows(&isolated, json!({"status": "failed", "integrity": {"level": "isolated"}}));
    assert!(isolated["integrity"]["signals"].to_string().contains("inexpressible: "), "{}", isolated["integrity"]);
    let auto = Server::shared().execute(request("auto")).await;
    assert_shows(&auto, json!({"status": "passed", "integrity": {"level": "in_process"}}));
    assert!(auto["integrity"]["basis"]["notes"].as_u64() > Some(0), "{}", auto["integrity"]);
}

#[tokio::test]
async fn hidden_tests_are_not_given_away() {
    let tests = json!({"kind": "asserts", "asserts": ["assert f(17) == 'expected'", "assert f(1) == 1"]});
    let code = "def f(x):\n    print('got', x)\n    raise ValueError(f'got {x}')\n";
    let answer = Server::shared().execute(json!({"code": code, "tests": tests, "visibility": "hidden"})).await;
    assert_shows(
        &answer,
        json!({"status": "failed", "tests_passed": 0, "tests_total": 2, "stderr_class": "exception"}),
    );
    let text = answer.to_string();
    assert!(!text.contains("expected") && !text.contains("got"), "{text}");
}

#[tokio::test]
async fn what_does_not_always_end_the_same_is_named() {
    let code = "import random\ndef f():\n    return random.random() < 0.5\ndef g():\n    return 1\n";
    let tests = json!({"kind": "asserts", "asserts": ["assert f()", "assert g() == 1"]});
    let answer = Server::shared().execute(json!({"code": code, "tests": tests, "repeat": 40})).await;
    assert_eq!(answer["flaky"], json!(["assert f()"]));
}

#[tokio::test]
async fn growth_is_measured_in_fuel() {
    for (body, least, most) in [("sum(xs)", 0.8, 1.2), ("[x for x in xs for y in xs]", 1.7, 2.2)] {
        let request = json!({
            "code": format!("def f(xs):\n    return {body}\n"),
            "complexity": {"generator": "def generate(n):\n    return (list(range(n)),)\n", "entry_point": "f", "sizes": [200]},
        });
        let answer = Server::shared().execute(request.clone()).await;
        let exponent = answer["complexity"]["exponent"].as_f64().unwrap_or_else(|| panic!("{}", answer["complexity"]));
        assert!((least..most).contains(&exponent), "{body}: {}", answer["complexity"]);
        assert_eq!(Server::shared().execute(request).await["complexity"], answer["complexity"]);
    }
}

#[tokio::test]
async fn evaluators_score() {
    let server = Server::shared();
    let preset = json!({"kind": "evaluator", "preset": "exact_match", "outputs": "a", "correct_answer": "a"});
    let answer = server.execute(json!({"tests": preset})).await;
    assert_shows(&answer, json!({"status": "passed", "evaluation": {"passed": true, "score": 1.0}}));
    let source = "def get_assert(output, context):\n    return {'pass': False, 'score': 0.2, 'reason': context['vars']['name']}\n";
    let own = json!({"kind": "evaluator", "source": source, "output": "x", "inputs": {"name": "why"}});
    let answer = server.execute(json!({"tests": own})).await;
    assert_shows(&answer, json!({"status": "failed", "evaluation": {"passed": false, "score": 0.2, "reason": "why"}}));
    let (status, presets) = server.get("/v1/evaluators/presets").await;
    let presets: Value = serde_json::from_str(&presets).expect("JSON");
    assert_eq!(status, 200);
    for preset in presets["presets"].as_array().expect("a list") {
        assert!(preset["description"].as_str().is_some_and(|text| text.len() > 20), "{preset}");
    }
}

#[tokio::test]
async fn a_fresh_interpreter_for_each_case_on_request() {
    let code = "calls = 0\ndef f():\n    global calls\n    calls += 1\n    return calls\n";
    let source = "import unittest, solution\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(solution.f(), 1)\n    def test_b(self):\n        self.assertEqual(solution.f(), 1)\n";
    let tests = |fresh: bool| json!({"kind": "unittest", "source": source, "fresh_per_case": fresh});
    let server = Server::shared();
    assert_eq!(server.execute(json!({"code": code, "tests": tests(false)})).await["tests_passed"], 1);
    assert_eq!(server.execute(json!({"code": code, "tests": tests(true)})).await["tests_passed"], 2);
}

/// The unittest source of one test, after these lines.
fn one_test(before: &str, body: &str) -> Value {
    let source =
        format!("import unittest\n{before}class T(unittest.TestCase):\n    def test_a(self):\n        {body}\n");
    json!({"kind": "unittest", "source": source})
}

#[tokio::test]
async fn a_candidate_can_not_force_auto_into_its_own_process() {
    // In process each of these passes whatever is asserted.
    let forge = "import unittest.case\nunittest.case.TestCase.assertEqual = lambda *a: None\n";
    for (code, before, body) in [
        // A name that only the tests have.
        ("def f():\n    return helper()\n", "def helper(): return 1\n", "self.assertEqual(f(), 5)"),
        (
            "def f():\n    raise NameError(\"name 'helper' is not defined\", name='helper')\n",
            "def helper(): return 1\n",
            "self.assertEqual(f(), 5)",
        ),
        // A target of a patch that the candidate chooses.
        (
            "import random\ndef f():\n    return random\n",
            "from unittest import mock\n",
            "with mock.patch.object(f(), 'randint'): self.assertEqual(f(), 5)",
        ),
        ("import os\ndef f():\n    os._exit(0)\n", "", "self.assertEqual(f(), 5)"),
        ("def f():\n    raise BaseException('mock.patch of random.randint')\n", "", "self.assertEqual(f(), 5)"),
    ] {
        let request = json!({"code": format!("{forge}{code}"), "tests": one_test(before, body), "grading": "auto"});
        let answer = Server::shared().execute(request).await;
        assert_shows(&answer, json!({"status": "failed", "integrity": {"level": "isolated"}}));
    }
}

/// Whether in the end they run isolated or in process.
#[tokio::test]
async fn honest_tests_that_replace_the_library_pass_with_auto() {
    let code = "import random, os, time\ndef f():\n    return random.randint(1, 6), os.environ.get('A')\n";
    for (kind, source) in [
        (
            "unittest",
            "import unittest\nfrom unittest.mock import patch\nclass T(unittest.TestCase):\n    @patch('random.randint', return_value=7)\n    def test_a(self, m):\n        self.assertEqual(f()[0], 7)\n",
        ),
        (
            "pytest",
            "import random\nfrom unittest import mock\nfrom solution import f\ndef test_a():\n    with mock.patch.object(random, 'randint', lambda a, b: 7):\n        assert f()[0] == 7\n",
        ),
        (
            "pytest",
            "import os, solution\nfrom unittest import mock\ndef test_a():\n    with mock.patch('solution.random.randint', return_value=7), mock.patch.dict(os.environ, A='b'):\n        assert solution.f() == (7, 'b')\n",
        ),
        (
            "pytest",
            "from solution import f\ndef test_a(monkeypatch):\n    monkeypatch.setenv('A', 'b')\n    assert f()[1] == 'b'\n",
        ),
    ] {
        let request = json!({"code": code, "tests": {"kind": kind, "source": source}, "grading": "auto"});
        let answer = Server::shared().execute(request).await;
        assert_shows(&answer, json!({"status": "passed"}));
    }
}

#[tokio::test]
async fn a_basis_counts_what_the_host_compared() {
    let cases =
        json!([{"args": [1], "expected": 1}, {"args": [2], "expected": 3}, {"args": [0], "raises": "ValueError"}]);
    let request = json!({"code": "def f(x):\n    if not x: raise ValueError\n    return x\n",
        "tests": {"kind": "function_cases", "entry_point": "f", "cases": cases}});
    let answer = Server::shared().execute(request).await;
    assert_shows(&answer, json!({"tests_passed": 2, "integrity": {"basis": {"values_compared": 2, "notes": 0}}}));
    let cases = json!([{"stdin": "1", "expected_stdout": "1"}, {"stdin": "", "expected_stdout": "1"}]);
    let request = json!({"code": "print(input())", "tests": {"kind": "stdin_stdout", "cases": cases}});
    let answer = Server::shared().execute(request).await;
    let basis = json!({"values_compared": 1, "handles_asked": 0, "notes": 0});
    assert_shows(&answer, json!({"tests_passed": 1, "integrity": {"basis": basis}}));
}

#[tokio::test]
async fn integers_of_cases_keep_their_digits() {
    let body = br#"{"code": "def f(n, k=0):\n    return [n + 1, type(n).__name__, type(k).__name__]", "tests": {"kind": "function_cases", "entry_point": "f", "cases": [
        {"args": [36893488147419103232], "expected": [36893488147419103233, "int", "int"]},
        {"args": [-36893488147419103232], "kwargs": {"k": 1e30}, "expected": [-36893488147419103231, "int", "float"]},
        {"args": [36893488147419103232], "expected": [36893488147419103232, "int", "int"]}]}}"#;
    let (status, answer) = Server::shared().post_bytes("/v1/execute", body.to_vec()).await;
    let cases = json!([{"status": "passed"}, {"status": "passed"}, {"status": "failed"}]);
    assert_shows(&json!([status, answer]), json!([200, {"tests_passed": 2, "cases": cases}]));
    let mut item = body.to_vec();
    item.retain(|byte| *byte != b'\n');
    let (status, answer) = Server::shared()
        .post_bytes("/v1/suites", [&b"{\"items\": [{\"id\": \"a\", "[..], &item[1..], b"]}"].concat())
        .await;
    let line = answer.as_str().and_then(|lines| lines.lines().next()).expect("a line an item");
    let item: Value = serde_json::from_str(line).expect("JSON");
    assert_shows(&json!([status, item]), json!([200, {"tests_passed": 2}]));
}

#[tokio::test]
async fn output_is_compared_as_numbers_and_as_utf8() {
    for (code, expected, compare, status) in [
        ("print(0)", "INF", json!({"close": {}}), "failed"),
        ("print(0)", "1e999", json!({"close": {}}), "failed"),
        ("print(float('inf'))", "INF", json!({"close": {}}), "passed"),
        ("import sys; sys.stdout.buffer.write(b'a\\xff')", "a\u{fffd}", json!("exact"), "failed"),
        ("print('a\u{fffd}', end='')", "a\u{fffd}", json!("exact"), "passed"),
    ] {
        let tests = json!({"kind": "stdin_stdout", "cases": [{"expected_stdout": expected}], "compare": compare});
        let answer = Server::shared().execute(json!({"code": code, "tests": tests})).await;
        assert_shows(&answer, json!({"status": status}));
    }
    let case = json!({"args": [], "expected": "-inf", "compare": {"close": {"rtol": 1e-6}}});
    let tests = json!({"kind": "function_cases", "entry_point": "f", "cases": [case]});
    let answer = Server::shared().execute(json!({"code": "def f(): return '0'", "tests": tests})).await;
    assert_shows(&answer, json!({"status": "failed"}));
}

#[tokio::test]
async fn tolerances_that_are_none_are_refused() {
    for (close, field) in
        [(json!({"rtol": -1e-9}), "tests.compare.close"), (json!({"atol": -1}), "tests.compare.close")]
    {
        let tests = json!({"kind": "stdin_stdout", "cases": [{"expected_stdout": ""}], "compare": {"close": close}});
        let (status, answer) = Server::shared().post("/v1/execute", &json!({"code": "", "tests": tests})).await;
        assert_eq!((status, answer["error"]["field"].as_str()), (422, Some(field)), "{answer}");
    }
    let cases = json!([{"expected": 1}, {"expected": 1, "compare": {"close": {"atol": -1}}}]);
    let tests = json!({"kind": "function_cases", "entry_point": "f", "cases": cases});
    let (status, answer) = Server::shared().post("/v1/execute", &json!({"code": "", "tests": tests})).await;
    assert_eq!((status, answer["error"]["field"].as_str()), (422, Some("tests.cases[1].compare.close")), "{answer}");
    // JSON has no such numbers.
    for number in ["NaN", "Infinity", "1e999"] {
        let body = format!(
            r#"{{"code": "", "tests": {{"kind": "stdin_stdout", "cases": [{{"expected_stdout": ""}}], "compare": {{"close": {{"rtol": {number}}}}}}}}}"#
        );
        let (status, answer) = Server::shared().post_bytes("/v1/execute", body.into_bytes()).await;
        assert!(status == 400 || status == 422, "{status} {answer}");
    }
}

/// What a hidden answer says of the run, without what differs between any two runs.
fn told(mut answer: Value) -> Value {
    for field in ["id", "labels", "policy", "queue_seconds", "lint"] {
        answer.as_object_mut().expect("an object").remove(field);
    }
    for field in ["id", "time", "code_sha256"] {
        if let Some(payload) = answer["receipt"]["payload"].as_object_mut() {
            payload.remove(field);
        }
    }
    answer["receipt"].as_object_mut().map(|receipt| receipt.remove("signature"));
    answer
}

#[tokio::test]
async fn what_a_candidate_saw_does_not_show_in_a_hidden_answer() {
    // Each does something else in the case whose argument it looks for, and is wrong in all.
    let branches = [
        "for _ in range(20000): pass",
        "big = bytearray(8 << 20)",
        "raise KeyError(x)",
        "raise MemoryError(x)",
        "import os; os._exit(x)",
        "import sys; sys.exit(x)",
        "print(x)",
        "f(x + 100)",
        "open('/etc/passwd').read()",
        "return Plain()",
    ];
    let requests = [
        json!({"tests": {"kind": "asserts", "asserts": ["assert f(17) == 'a'", "assert f(18) == 'b'", "assert f(19) == 'c'"]}}),
        json!({"tests": {"kind": "function_cases", "entry_point": "f", "cases": [
            {"args": [17], "expected": "a"}, {"args": [18], "expected": "b"}, {"args": [19], "expected": "c"}]}}),
    ];
    for branch in branches {
        let code = |argument: u32| {
            format!("class Plain: pass\ndef f(x):\n    if x == {argument}:\n        {branch}\n    return None\n")
        };
        for request in &requests {
            let mut answers = Vec::new();
            for argument in [17, 18] {
                let mut request = request.clone();
                request["code"] = json!(code(argument));
                request["visibility"] = json!("hidden");
                request["receipt"] = json!(true);
                answers.push(told(Server::shared().execute(request).await));
            }
            let [first, second] = <[Value; 2]>::try_from(answers).expect("two");
            assert_eq!(first["cases"], second["cases"], "{branch}");
            for case in first["cases"].as_array().expect("cases") {
                assert_shows(
                    case,
                    json!({"status": "failed", "fuel_used": 0, "execution_seconds": 0.0, "peak_memory_bytes": 0,
                           "stderr_class": "none", "message": null, "stdout": ""}),
                );
            }
            // The class of the whole is that of the first case that failed.
            for field in
                ["exit_code", "fuel_used", "peak_memory_bytes", "grader", "integrity", "files_error", "boundary"]
            {
                if field != "exit_code" {
                    assert_eq!(first[field], second[field], "{branch}: {field}");
                }
                assert!(first[field].as_i64().is_none_or(|code| code != 17), "{branch}: {field}");
            }
        }
    }
}

#[tokio::test]
async fn repeats_growth_and_suites_follow_what_is_hidden() {
    let tests = json!({"kind": "asserts", "asserts": ["assert f([17]) == 1", "assert f([18]) == 2"]});
    let request = json!({
        "code": "import random\ndef f(x):\n    return random.choice([1, 2])\n", "tests": tests, "visibility": "hidden",
        "repeat": 12, "receipt": true,
        "complexity": {"generator": "def generate(n):\n    return ([0] * n,)\n", "entry_point": "f", "sizes": [10, 20]},
    });
    let answer = Server::shared().execute(request.clone()).await;
    assert_shows(&answer, json!({"flaky": ["(hidden)"], "complexity": {"points": [], "error": null}}));
    let is_rounded = |figure: &Value| figure.as_u64().is_some_and(u64::is_power_of_two);
    assert!(is_rounded(&answer["fuel_used"]), "{}", answer["fuel_used"]);
    assert_eq!(answer["receipt"]["payload"]["fuel_used"], answer["fuel_used"]);
    let mut broken = request.clone();
    broken["complexity"]["generator"] = json!("def generate(n):\n    raise ValueError('secret')\n");
    let answer = Server::shared().execute(broken).await;
    assert_shows(&answer, json!({"complexity": {"error": "(hidden)"}}));
    let mut item = request;
    item["id"] = json!("a");
    let (status, suite) = Server::shared().post("/v1/suites", &json!({"items": [item]})).await;
    assert_eq!(status, 200, "{suite}");
    let text = suite.as_str().expect("lines of JSON");
    assert!(!text.contains("assert f") && text.contains("\"fuel_used\":0,"), "{text}");
}
