//! What a snippet is given, how it ends, and what comes back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::harness::{Server, assert_shows, run};

async fn execute(request: Value) -> Value {
    Server::shared().execute(request).await
}

#[tokio::test]
async fn a_program_reads_its_input() {
    let code = "import sys\nprint(input(), sys.stdin.readline().strip(), list(sys.stdin))\ntry: input()\nexcept EOFError: print('end')";
    let answer = execute(json!({"code": code, "stdin": "é\n2\n3\n4"})).await;
    assert_shows(&answer, json!({"status": "ok", "stdout": "é 2 ['3\\n', '4']\nend\n"}));
}

#[tokio::test]
async fn a_program_has_its_arguments_and_is_the_main_module() {
    let code = "import os, sys\nprint(sys.argv[1:], __name__, __file__ == sys.argv[0], os.getcwd(), os.path.basename(__file__))";
    let answer = execute(json!({"code": code, "args": ["-x", "é ü", ""]})).await;
    assert_shows(&answer, json!({"stdout": "['-x', 'é ü', ''] __main__ True /home/user solution.py\n"}));
}

#[tokio::test]
async fn the_environment_is_exactly_what_is_given() {
    let code = "import os\nprint(sorted(os.environ.items()), os.getenv('PATH'), os.environb[b'K'])";
    let answer = execute(json!({"code": code, "env": {"K": "v=1", "LANG": "ü"}})).await;
    assert_shows(&answer, json!({"stdout": "[('K', 'v=1'), ('LANG', 'ü')] None b'v=1'\n"}));
    assert_shows(&run("import os\nprint(dict(os.environ))").await, json!({"stdout": "{}\n"}));
}

#[tokio::test]
async fn files_go_in_and_come_out() {
    let code = "\
import os, pathlib
import helper
print(helper.double(open('data/in.txt').read()), open('x.bin', 'rb').read())
os.makedirs('out/deep')
pathlib.Path('out/a.bin').write_bytes(b'\\x00\\xff')
pathlib.Path('out/b.txt').write_text('é')
pathlib.Path('out/deep/c.txt').write_text('c')
pathlib.Path('/tmp/t').write_text('t')";
    let answer = execute(json!({
        "code": code,
        "files": {"data/in.txt": "ab", "x.bin": {"base64": "AAH/"}, "helper.py": "def double(x):\n    return x * 2\n"},
        "fetch_files": ["out/*", "/tmp/t", "none/*"],
    }))
    .await;
    assert_shows(&answer, json!({"status": "ok", "stdout": "abab b'\\x00\\x01\\xff'\n"}));
    assert_eq!(
        answer["files"],
        json!({"out/a.bin": {"base64": "AP8="}, "out/b.txt": {"base64": "w6k="}, "/tmp/t": {"base64": "dA=="}})
    );
}

/// Large answers are made apart from small ones.
#[tokio::test]
async fn a_large_answer_is_as_a_small_one() {
    let code = "open('large', 'wb').write(bytes(range(256)) * 40_000)\nprint('so')\nx = ['é' * 1000] * 2000";
    let asked = json!({"code": code, "fetch_files": ["large"], "result": {"variable": "x"}});
    let answer = execute(asked).await;
    assert_shows(&answer, json!({"status": "ok", "stdout": "so\n", "files_error": null}));
    let content = answer["files"]["large"]["base64"].as_str().and_then(|text| STANDARD.decode(text).ok());
    assert_eq!(content.expect("base64"), (0..=255).collect::<Vec<u8>>().repeat(40_000));
    assert!(answer["result"].as_array().is_some_and(|items| items.len() == 2000 && items[7] == "é".repeat(1000)));
}

#[tokio::test]
async fn files_are_fetched_from_a_program_that_fails() {
    let answer = execute(json!({"code": "open('log', 'w').write('so far')\n1 / 0", "fetch_files": ["**"]})).await;
    assert_shows(&answer, json!({"stderr_class": "exception", "files": {"log": {"base64": "c28gZmFy"}}}));
    let stopped = execute(json!({"code": "open('log', 'w').write('so far')\nwhile True: pass", "fetch_files": ["*"], "limits": {"fuel": 100_000_000}})).await;
    assert_shows(&stopped, json!({"stderr_class": "fuel_exhausted", "files": {"log": {"base64": "c28gZmFy"}}}));
}

#[tokio::test]
async fn the_code_is_taken_out_of_a_completion() {
    let completions = [
        ("Sure!\n```python\nprint('fenced')\n```\nThat prints.", "fenced\n"),
        ("```py\nprint('open')\n", "open\n"),
        ("print('bare')", "bare\n"),
        ("~~~\nprint('tilde')\n~~~", "tilde\n"),
        ("```sh\nls\n```\n```python\nprint('second')\n```", "second\n"),
        ("```\r\nprint('crlf')\r\n```\r\n", "crlf\n"),
    ];
    for (completion, stdout) in completions {
        assert_shows(&execute(json!({"completion": completion})).await, json!({"status": "ok", "stdout": stdout}));
    }
}

#[tokio::test]
async fn labels_come_back() {
    let labels = json!({"model": "m/1", "task": "é\u{0}\n", "": ""});
    let answer = execute(json!({"code": "", "labels": labels})).await;
    assert_eq!(answer["labels"], labels);
}

#[tokio::test]
async fn exit_codes_are_those_of_a_shell() {
    let ends = [
        ("print()", 0, "none", Value::Null),
        ("import sys\nsys.exit()", 0, "none", Value::Null),
        ("import sys\nsys.exit(3)", 3, "nonzero_exit", json!("SystemExit")),
        ("import sys\nsys.exit('msg')", 1, "nonzero_exit", json!("SystemExit")),
        ("raise SystemExit(-1)", 255, "nonzero_exit", json!("SystemExit")),
        ("exit(5)", 5, "nonzero_exit", json!("SystemExit")),
        ("import os\nos._exit(7)", 7, "nonzero_exit", json!("SystemExit")),
        ("import os\nos._exit(0)", 0, "none", Value::Null),
        ("1 / 0", 1, "exception", json!("ZeroDivisionError")),
        ("raise KeyboardInterrupt", 1, "exception", json!("KeyboardInterrupt")),
        ("import os\nos.abort()", 134, "exception", json!("InterpreterCrash")),
    ];
    for (code, exit_code, class, kind) in ends {
        let answer = run(code).await;
        let status = if class == "none" { "ok" } else { "error" };
        assert_shows(&answer, json!({"status": status, "exit_code": exit_code, "stderr_class": class}));
        assert_eq!(answer["error"]["type"], kind, "{code}");
    }
    assert_shows(&run("import sys\nsys.exit('msg')").await, json!({"stderr": "msg\n"}));
}

#[tokio::test]
async fn every_way_to_fail_has_its_class() {
    let ways = [
        ("def f(:", "syntax_error", "SyntaxError"),
        ("if 1:\nx", "syntax_error", "IndentationError"),
        ("assert 1 == 2, 'no'", "assertion_failure", "AssertionError"),
        ("{}['k']", "exception", "KeyError"),
        ("import pandas", "missing_dependency", "ModuleNotFoundError"),
        ("import readline", "missing_dependency", "ModuleNotFoundError"),
        ("raise PermissionError('no')", "permission_denied", "PermissionError"),
        ("import socket\nsocket.socket().connect(('8.8.8.8', 53))", "unsafe_operation", "OSError"),
        ("import signal\nsignal.alarm(1)", "unsupported_operation", "OSError"),
        ("import os\nos.fork()", "unsafe_operation", "OSError"),
        ("def f(): return f()\nf()", "recursion_limit", "RecursionError"),
        ("raise ExceptionGroup('g', [ValueError(1)])", "exception", "ExceptionGroup"),
        ("raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})", "exception", "Odd"),
    ];
    for (code, class, kind) in ways {
        let answer = run(code).await;
        assert_shows(
            &answer,
            json!({"status": "error", "exit_code": 1, "stderr_class": class, "error": {"class": class, "type": kind}}),
        );
    }
}

#[tokio::test]
async fn a_traceback_has_the_frames_of_the_user_and_no_others() {
    let code = "import json\n\ndef f():\n    return g()\n\ndef g():\n    return json.loads('{')\n\nf()\n";
    let answer = run(code).await;
    let frame =
        |line, function, source| json!({"file": "solution.py", "line": line, "function": function, "source": source});
    assert_eq!(
        answer["error"],
        json!({
            "fingerprint": answer["error"]["fingerprint"],
            "class": "exception", "type": "JSONDecodeError", "line": 7,
            "message": "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
            "traceback": [frame(9, "<module>", "f()"), frame(4, "f", "return g()"), frame(7, "g", "return json.loads('{')")],
        })
    );
    let stderr = answer["stderr"].as_str().expect("text");
    assert!(
        stderr
            .starts_with("Traceback (most recent call last):\n  File \"/home/user/solution.py\", line 9, in <module>"),
        "{stderr}"
    );
    assert!(
        stderr.ends_with(
            "JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)\n"
        ),
        "{stderr}"
    );
}

#[tokio::test]
async fn a_traceback_names_the_files_of_the_request() {
    let answer = execute(
        json!({"code": "import helper\nhelper.f()", "files": {"helper.py": "def f():\n    raise ValueError(1)\n"}}),
    )
    .await;
    let frames = json!([
        {"file": "solution.py", "line": 2, "function": "<module>", "source": "helper.f()"},
        {"file": "helper.py", "line": 2, "function": "f", "source": "raise ValueError(1)"},
    ]);
    assert_shows(&answer, json!({"error": {"type": "ValueError", "line": 2, "traceback": frames}}));
}

#[tokio::test]
async fn a_syntax_error_is_told_as_python_tells_it() {
    let answer = run("x = 1\nprint('a'\n").await;
    let frames = json!([{"file": "solution.py", "line": 2, "function": "<module>", "source": "print('a'"}]);
    let error = json!({"class": "syntax_error", "type": "SyntaxError", "message": "'(' was never closed", "line": 2, "traceback": frames});
    let stderr =
        "  File \"/home/user/solution.py\", line 2\n    print('a'\n         ^\nSyntaxError: '(' was never closed\n";
    assert_shows(&answer, json!({"compiled": false, "stdout": "", "error": error, "stderr": stderr}));
}

#[tokio::test]
async fn a_message_of_any_length_is_bounded() {
    let answer = run("raise ValueError('x' * 10_000_000)").await;
    let length = answer["error"]["message"].as_str().expect("text").len();
    assert!((1000..10_000).contains(&length), "{length}");
    let deep = run("def f(n): return f(n - 1) if n else 1 / 0\nf(900)").await;
    let frames = deep["error"]["traceback"].as_array().expect("frames");
    assert!((10..=64).contains(&frames.len()), "{}", frames.len());
    assert_eq!((&frames[0]["line"], &frames[0]["function"]), (&json!(2), &json!("<module>")));
}

#[tokio::test]
async fn output_is_text_whatever_is_written() {
    let answer = run("import sys\nsys.stdout.buffer.write(b'a\\xff\\x00\\x1b[31m')\nprint('\\ud800'.encode('utf-8', 'surrogatepass'))").await;
    assert_shows(
        &answer,
        json!({"status": "ok", "stdout": "a\u{FFFD}\u{0}\u{1b}[31mb'\\xed\\xa0\\x80'\n", "stdout_bytes": 24}),
    );
}

#[tokio::test]
async fn the_exit_functions_of_a_program_run() {
    let answer = run("import atexit\natexit.register(print, 'bye')\nprint('hello', end=' ')").await;
    assert_shows(&answer, json!({"status": "ok", "stdout": "hello bye\n"}));
    let failed = run("import atexit\natexit.register(print, 'bye')\n1 / 0").await;
    assert_shows(&failed, json!({"stderr_class": "exception", "stdout": "bye\n"}));
}

#[tokio::test]
async fn one_run_leaves_nothing_for_the_next() {
    let spoil = "\
import builtins, json, os, sys, random
builtins.print = json.dumps = len = sys.exit
builtins.OWNED = json.OWNED = True
sys.modules['math'] = sys.path = None
os.environ['OWNED'] = '1'
os.chdir('/tmp')
open('/home/user/owned', 'w').write('x'); open('/tmp/owned', 'w').write('x')
random.seed(1)
OWNED = True";
    let look = "\
import builtins, json, os, sys
print('OWNED' in globals(), hasattr(builtins, 'OWNED'), hasattr(json, 'OWNED'), json.dumps([1]), 'OWNED' in os.environ)
print(os.getcwd(), os.listdir('.'), os.listdir('/tmp'), sys.path, __import__('math').sqrt(4))";
    // More of them than there are places, so that some place is used again.
    let spoiled = futures_util::future::join_all((0..200).map(|_| run(spoil))).await;
    assert!(spoiled.iter().all(|answer| answer["exit_code"] == 0), "{:?}", spoiled[0]);
    let expected = "False False False [1] False\n/home/user ['solution.py'] [] ['/home/user', '/lib/python3.13/site-packages'] 2.0\n";
    for answer in futures_util::future::join_all((0..50).map(|_| run(look))).await {
        assert_shows(&answer, json!({"stdout": expected}));
    }
}

#[tokio::test]
async fn what_a_run_cost_is_told() {
    let answer = run("import time\ntime.sleep(0.05)\nx = bytearray(20_000_000)\nfor i in range(100_000): pass").await;
    let number = |name: &str| answer[name].as_f64().expect(name);
    assert!(number("execution_seconds") >= number("cpu_seconds") + 0.049, "{answer}");
    assert!(number("cpu_seconds") > 0.0 && number("fuel_used") > 1_000_000.0, "{answer}");
    assert!(number("peak_memory_bytes") >= 80_000_000.0, "{answer}");
    assert!(number("queue_seconds") >= 0.0 && number("queue_seconds") < 5.0, "{answer}");
}
