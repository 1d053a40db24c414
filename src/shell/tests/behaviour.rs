//! What bash cannot be asked: interpreters, the host's streams, the end by dropping.

use super::{Fake, ran, shown};
use crate::shell::{Reader, Script, Writer, pipe, run};
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
