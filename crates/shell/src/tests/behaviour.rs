//! Behaviour that bash can't be compared with: interpreters, the host's streams, the end by dropping.

use super::{Fake, ran, shown};
use crate::{Reader, Script, Writer, pipe, run};
use std::time::Duration;

fn ok(text: &str) -> (String, String, i32) {
    (text.to_owned(), String::new(), 0)
}

#[tokio::test]
async fn an_interpreter_gets_arguments_variables_directory_and_streams() {
    let host = Fake::new();
    host.put("d/x", "");
    let ran = ran(&host, "cd d; export VALUE='x y'; python3 -c 'a b' -m \"$VALUE\"; python -W 3", "").await;
    assert_eq!(ran.stdout, "[\"-c\", \"a b\", \"-m\", \"x y\"] /home/user/d Some(\"x y\")\n");
    assert_eq!((ran.stderr.as_str(), ran.code), ("e\n", 3));
}

#[test]
fn pytest_is_an_interpreter_that_looks_for_no_modules_where_it_is_called() {
    let (stdout, _, code) = shown("mkdir d; cd d; pytest -q t");
    assert!(stdout.starts_with("[\"-P\", \"-c\", \"import sys, pytest; "), "{stdout}");
    assert!(stdout.ends_with("\", \"-q\", \"t\"] /home/user/d None\n"), "{stdout}");
    assert_eq!(code, 0);
    assert_eq!(shown("/usr/bin/pytest 5 || echo $?; py.test 1; which pytest"), ok("5\n/usr/bin/pytest\n"));
}

#[test]
fn programs_are_where_they_are_looked_for() {
    let found =
        "for p in /usr/bin/env /bin/sh /bin/bash $(which python3); do test -x $p && [[ -f $p ]] && echo $p; done";
    assert_eq!(shown(found), ok("/usr/bin/env\n/bin/sh\n/bin/bash\n/usr/bin/python3\n"));
    let missing =
        "for p in /usr/bin/nothing /usr/bin/ /bin env /usr/bin/cd; do test -x $p || echo $p; done; test -d /bin/sh";
    assert_eq!(shown(missing).2, 1);
    assert!(shown(missing).0.contains("/usr/bin/nothing\n") && shown(missing).0.ends_with("env\n/usr/bin/cd\n"));
}

#[test]
fn an_interpreter_stands_in_pipelines_and_redirections() {
    assert_eq!(shown("echo a | python3 upper | cat"), ok("A\n"));
    assert_eq!(shown("python3 - upper <<'EOF'\nx $y\nEOF"), ok("X $Y\n"));
    assert_eq!(shown("echo a > f; python3 upper < f > g; cat g; python3 0 && echo yes || echo no"), ok("A\nyes\n"));
    assert_eq!(shown("VALUE=1 python3 x 2>&1 >/dev/null | cat; python3 7; echo $?"), ok("e\n7\n"));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_script_ends_interpreters_jobs_and_pipelines() {
    let host = Fake::new();
    let (writer, mut reader) = pipe(100);
    let script = Script {
        text: "python3 forever & cat | python3 forever & echo x; python3 forever".to_owned(),
        args: Vec::new(),
        cwd: String::new(),
        env: Vec::new(),
        stdin: Reader::empty(),
        stdout: writer,
        stderr: Writer::null(),
    };
    assert!(tokio::time::timeout(Duration::from_secs(60), run(&host, script)).await.is_err());
    let mut bytes = [0; 10];
    assert_eq!(reader.read(&mut bytes).await, 2);
    // All its writers are gone.
    assert_eq!(reader.read(&mut bytes).await, 0);
}

#[tokio::test]
async fn a_reader_that_is_gone_ends_the_writer() {
    let (writer, reader) = pipe(4);
    drop(reader);
    assert!(writer.write_all(b"x").await.is_err());
    let host = Fake::new();
    assert_eq!(ran(&host, "while true; do echo x; done | head -n 2; echo $?", "").await.stdout, "x\nx\n0\n");
}
