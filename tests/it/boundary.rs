//! What a program tries to reach outside its sandbox is reported, and none of it is the host's.

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows, run};

async fn attempts(code: &str) -> Vec<Value> {
    let answer = run(code).await;
    let attempts = answer["boundary"]["attempts"].as_array().expect("a list").clone();
    // To quote the line in a traceback, Python reads the program's own file.
    attempts.into_iter().filter(|attempt| attempt["target"] != "/home/user/solution.py").collect()
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
        ("import socket; socket.socket()", refused("network", "socket", "AF_INET")),
        (
            "import socket; socket.create_connection(('example.com', 80))",
            refused("network", "getaddrinfo", "example.com:80"),
        ),
        (
            "import urllib.request; urllib.request.urlopen('https://example.com/x')",
            refused("network", "getaddrinfo", "example.com:443"),
        ),
        ("import subprocess; subprocess.run(['ls', '-l'])", refused("process", "spawn", "ls")),
        ("import os; os.system('id')", refused("process", "system", "id")),
        ("import os; os.fork()", refused("process", "fork", "")),
        ("import threading; threading.Thread(target=print, name='t').start()", refused("thread", "start", "t")),
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
        try: seen.append(open(os.path.join(root, name), 'rb').read(100_000))
        except OSError: pass
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
