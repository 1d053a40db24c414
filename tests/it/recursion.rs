//! Recursion too deep ends in Python's own error, whatever recurses; never in a crash of the interpreter.

use serde_json::{Value, json};

use crate::harness::{assert_shows, run};

/// Depth of a stack that programs in contests ask for.
const RAISED: &str = "import sys\nsys.setrecursionlimit(50000)\n";

/// Whether Python itself said that it is too deep.
fn says_too_deep(answer: &Value) -> bool {
    answer["stderr_class"] == "recursion_limit"
        && ["RecursionError", "MemoryError"].contains(&answer["error"]["type"].as_str().unwrap_or(""))
}

#[tokio::test]
async fn functions_call_themselves_900_times_and_not_without_end() {
    assert_shows(&run("def f(n): return n and 1 + f(n - 1)\nprint(f(900))").await, json!({"stdout": "900\n"}));
    let endless = run("def f(): return f()\nf()").await;
    assert_shows(
        &endless,
        json!({"stderr_class": "recursion_limit", "exit_code": 1, "error": {"type": "RecursionError", "line": 1}}),
    );
    assert!(endless["stderr"].as_str().expect("text").contains("maximum recursion depth exceeded"), "{endless}");
}

#[tokio::test]
async fn a_raised_limit_is_kept() {
    let deep = run(&format!("{RAISED}def f(n): return n and 1 + f(n - 1)\nprint(f(40000))")).await;
    assert_shows(&deep, json!({"status": "ok", "stdout": "40000\n"}));
    let endless =
        run(&format!("{RAISED}def f(n=0): return f(n + 1)\ntry: f()\nexcept RecursionError: print('caught')")).await;
    assert_shows(&endless, json!({"status": "ok", "stdout": "caught\n"}));
    let uncaught = run(&format!("{RAISED}def f(): return f()\nf()")).await;
    assert!(says_too_deep(&uncaught), "{uncaught:#}");
}

#[tokio::test]
async fn a_limit_beyond_all_measure_ends_in_an_error_of_its_own_kind() {
    for limit in ["10**6", "2**31 - 1"] {
        let answer = run(&format!("import sys\nsys.setrecursionlimit({limit})\ndef f(): return f()\nf()")).await;
        let class = answer["stderr_class"].as_str().expect("a word");
        assert!(["recursion_limit", "memory_limit"].contains(&class), "{limit}: {class} {}", answer["error"]);
    }
}

#[tokio::test]
async fn memoised_functions_recurse_3000_times() {
    let code = format!(
        "{RAISED}import functools\n@functools.lru_cache(None)\ndef f(n): return n and 1 + f(n - 1)\nprint(f(3000))"
    );
    assert_shows(&run(&code).await, json!({"status": "ok", "stdout": "3000\n"}));
}

/// Statements that recurse in C, over `x`: a list in a list in a list, DEPTH deep.
const NESTED: [(&str, &str); 32] = [
    ("repr", "repr(x)"),
    ("compare", "x == nest(DEPTH)"),
    ("order", "x < nest(DEPTH)"),
    ("deallocation", "del x"),
    ("json.dumps", "json.dumps(x)"),
    ("json.dumps indented", "json.dumps(x, indent=1)"),
    ("json.loads", "json.loads('[' * DEPTH + ']' * DEPTH)"),
    ("json.loads objects", "json.loads('{\"a\":' * DEPTH + '1' + '}' * DEPTH)"),
    ("pickle", "pickle.loads(pickle.dumps(x))"),
    ("pickle in Python", "pickle._loads(pickle._dumps(x))"),
    ("marshal", "marshal.loads(marshal.dumps(x))"),
    ("copy.deepcopy", "copy.deepcopy(x)"),
    ("str of dicts", "d = {}\n    for _ in range(DEPTH): d = {1: d}\n    str(d)"),
    ("hash", "t = ()\n    for _ in range(DEPTH): t = (t,)\n    hash(t)"),
    ("isinstance", "t = int\n    for _ in range(DEPTH): t = (t,)\n    isinstance('', t)"),
    ("map", "i = iter([1])\n    for _ in range(DEPTH): i = map(int, i)\n    next(i)"),
    ("chain", "i = iter([1])\n    for _ in range(DEPTH): i = itertools.chain(i)\n    next(i)"),
    ("filter", "i = iter([1])\n    for _ in range(DEPTH): i = filter(None, i)\n    next(i)"),
    ("partial", "f = int\n    for _ in range(DEPTH): f = functools.partial(f.__call__)\n    f()"),
    ("regex groups", "re.compile('(' * DEPTH + ')' * DEPTH)"),
    ("regex alternatives", "re.match('(a|b)*c', 'a' * DEPTH)"),
    ("ast.literal_eval", "with contextlib.suppress(ValueError): ast.literal_eval('-' * DEPTH + '1')"),
    ("ast.parse", "ast.parse('not ' * DEPTH + '1')"),
    ("ast.dump", "ast.dump(ast.parse('1' + '+1' * DEPTH))"),
    ("ast.unparse", "ast.unparse(ast.parse('1' + '+1' * DEPTH))"),
    ("attributes", "compile('a' + '.b' * DEPTH, '', 'eval')"),
    ("calls", "compile('a' + '()' * DEPTH, '', 'eval')"),
    ("subscripts", "compile('a' + '[0]' * DEPTH, '', 'eval')"),
    ("sums", "eval('1' + '+1' * DEPTH)"),
    ("powers", "compile('1' + '**1' * DEPTH, '', 'eval')"),
    ("lambdas", "compile('lambda:' * DEPTH + '1', '', 'eval')"),
    ("conditions", "compile('1 if 1 else ' * DEPTH + '1', '', 'eval')"),
];

#[tokio::test]
async fn nested_data_and_code_succeed_or_are_too_deep_for_python() {
    for depth in [500, 4000, 100_000] {
        for (name, statement) in NESTED {
            let code = format!(
                "{RAISED}import ast, contextlib, copy, functools, itertools, json, marshal, pickle, re\nDEPTH = {depth}\n\
                 def nest(depth):\n    x = []\n    for _ in range(depth): x = [x]\n    return x\nx = nest(DEPTH)\n\
                 try:\n    {statement}\nexcept (RecursionError, MemoryError): print('too deep')\n\
                 except ValueError as error: print(error)\nelse: print('done')\n"
            );
            let answer = run(&code).await;
            let seen = answer["stdout"].as_str().expect("text");
            let known = match name {
                "marshal" => seen.starts_with("object too deeply nested") || seen == "done\n" || seen == "too deep\n",
                _ => seen == "done\n" || (seen == "too deep\n" && depth > 500),
            };
            assert!(
                known && answer["status"] == "ok",
                "{name} at {depth}: {seen} {} {}",
                answer["stderr_class"],
                answer["error"]
            );
        }
    }
}

/// Programs whose own methods call each other without end.
const ENDLESS: [(&str, &str); 11] = [
    ("__getattr__", "class A:\n    def __getattr__(self, name): return getattr(self, name + 'x')\nA().b"),
    ("__repr__", "class A:\n    def __repr__(self): return repr(self)\nrepr(A())"),
    ("__eq__", "class A:\n    def __eq__(self, other): return self == other\nA() == A()"),
    ("__hash__", "class A:\n    def __hash__(self): return hash(self)\nhash(A())"),
    ("__call__", "class A:\n    pass\nA.__call__ = A()\nA()()"),
    ("__format__", "class A:\n    def __format__(self, spec): return f'{self}'\nf'{A()}'"),
    ("sort key", "import functools\ndef c(a, b): sorted([1, 2], key=functools.cmp_to_key(c)); return 0\nc(1, 2)"),
    ("generator", "def g(): yield from g()\nnext(g())"),
    ("exec", "s = 'exec(s)'\nexec(s)"),
    ("import", "open('m.py', 'w').write(\"import sys\\nsys.modules.pop('m')\\nimport m\")\nimport m"),
    ("reduce", "import copy\nclass A:\n    def __reduce__(self): return copy.copy(self)\ncopy.copy(A())"),
];

#[tokio::test]
async fn methods_that_call_each_other_without_end_are_too_deep_for_python() {
    for raised in ["", RAISED] {
        for (name, code) in ENDLESS {
            let answer = run(&format!("{raised}{code}")).await;
            assert!(says_too_deep(&answer), "{name}: {} {}", answer["stderr_class"], answer["error"]);
        }
    }
}

#[tokio::test]
async fn a_snippet_that_is_nested_itself_is_parsed_or_refused_by_python() {
    let parens = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert_shows(&run(&parens(150)).await, json!({"status": "ok"}));
    // As CPython has it everywhere: no more than 200 brackets.
    assert_shows(
        &run(&parens(5000)).await,
        json!({"stderr_class": "syntax_error", "error": {"message": "too many nested parentheses"}}),
    );
    let indented: String = (0..150).map(|depth| format!("{}if 1:\n", " ".repeat(depth))).collect();
    assert_shows(&run(&indented).await, json!({"stderr_class": "syntax_error", "error": {"type": "IndentationError"}}));
    for (name, code) in
        [("unary", format!("{}1", "-".repeat(100_000))), ("attributes", format!("a{}", ".b".repeat(100_000)))]
    {
        let answer = run(&code).await;
        assert!(says_too_deep(&answer), "{name}: {answer:#}");
    }
}

#[tokio::test]
async fn a_program_goes_on_after_it_was_too_deep() {
    let code = "def f(): return f()\nfor _ in range(20):\n    try: f()\n    except RecursionError: pass\nprint(sum(range(10)))";
    assert_shows(&run(code).await, json!({"status": "ok", "stdout": "45\n"}));
}
