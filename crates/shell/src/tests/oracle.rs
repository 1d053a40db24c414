//! The same scripts, run by the real bash and by ours: same output, errors and exit code.
//!
//! Where they differ on purpose, the script is in [`DIFFERENT`] with the reason.

use super::{Fake, ran};
use regex::Regex;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

/// Selection of what is compared with bash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compared {
    All,
    /// Standard output and exit code only.
    NotErrors,
}

fn real(script: &str, input: &str) -> (String, String, i32) {
    let directory = tempfile::tempdir().expect("a directory");
    let home = directory.path().to_str().expect("a path").to_owned();
    // Signals that whoever runs the tests ignores (nohup) would be ignored in it, too.
    let mut child = Command::new("/usr/bin/env")
        .args(["--default-signal", "bash", "-c", script])
        .env_clear()
        .env("HOME", &home)
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LC_ALL", "C.UTF-8")
        .env("USER", "user")
        .current_dir(&home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("bash is there");
    let mut stdin = child.stdin.take().expect("a pipe");
    // It may have ended without reading.
    let _ = std::io::Write::write_all(&mut stdin, input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&home, "/home/user");
    (text(&output.stdout), text(&output.stderr), output.status.code().unwrap_or(-1))
}

fn ours(script: &str, input: &str) -> (String, String, i32) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let host = Fake::new();
    let ran =
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(20), ran(&host, script, input)).await });
    match ran {
        Ok(ran) => (ran.stdout, ran.stderr, ran.code),
        Err(_) => (String::new(), "it does not end".to_owned(), -1),
    }
}

static TIME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\d+m\d+\.\d{3}s").expect("a pattern"));

/// Compares scripts that are separated by lines of `---`.
fn compare(scripts: &str, compared: Compared) {
    let different = differences(scripts, compared);
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n\n"));
}

/// Returns what the real bash and ours give for the scripts where they differ.
fn differences(scripts: &str, compared: Compared) -> Vec<String> {
    let mut different = Vec::new();
    for script in scripts.split("\n---\n") {
        let script = script.trim_start_matches('\n');
        let input = "first line\nsecond  line\nthird\n";
        let (mut real, mut ours) = (real(script, input), ours(script, input));
        // The same quotes as without a locale.
        real.1 = real.1.replace(['\u{2018}', '\u{2019}'], "'");
        for errors in [&mut real.1, &mut ours.1] {
            // What `time` tells differs from run to run.
            *errors = TIME.replace_all(errors, "0m0.000s").into_owned();
        }
        if compared == Compared::NotErrors {
            real.1.clear();
            ours.1.clear();
        }
        if real != ours {
            different.push(format!("{script}\n  bash: {real:?}\n  ours: {ours:?}"));
        }
    }
    different
}

#[test]
fn language() {
    compare(include_str!("language.txt"), Compared::All);
}

#[test]
fn expansions() {
    compare(include_str!("expansions.txt"), Compared::All);
}

#[test]
fn programs() {
    compare(include_str!("programs.txt"), Compared::All);
}

/// Each section is headed by `=== ` and the program that this machine must have for it, or a command that must succeed.
#[test]
fn gnu_programs() {
    let gnu = include_str!("gnu.txt");
    let mut different = Vec::new();
    for section in gnu.split("=== ").skip(1) {
        let (program, scripts) = section.split_once('\n').expect("a heading");
        let condition = if program.contains(' ') { program.to_owned() } else { format!("command -v {program}") };
        if real(&condition, "").2 == 0 {
            different.extend(differences(scripts.trim_end_matches('\n'), Compared::All));
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n\n"));
}

#[test]
fn jq() {
    if real("command -v jq", "").2 == 0 {
        compare(include_str!("jq.txt").trim_end_matches('\n'), Compared::All);
    }
}

#[test]
fn files() {
    compare(include_str!("files.txt"), Compared::All);
}

#[test]
fn mistakes() {
    compare(include_str!("mistakes.txt"), Compared::All);
}

#[test]
fn mistakes_told_in_other_words() {
    compare(include_str!("mistakes_codes.txt"), Compared::NotErrors);
}

/// Scripts, what ours gives, and why that is not what bash gives.
const DIFFERENT: &[(&str, &str, i32, &str)] = &[
    (
        "echo x > f; chmod 0 f; cat f; echo y > f; [ -r f ] || [ -w f ] || echo neither; sudo cat f",
        "neither\nx\n",
        0,
        "what it is compared with may run as root, whom no mode binds",
    ),
    (
        "mkdir d; touch d/f; chmod 500 d; rm -rf d; touch d/g; mv d/f h; ls d; chmod 0 d; ls d; cd d",
        "f\n",
        1,
        "as above",
    ),
    (
        "touch g; chown root g; chmod 600 /tmp; sudo chown root g; stat -c '%U %u' g; chmod 600 g; echo $?; ls -ln g | cut -c12-18",
        "root 0\n1\n1 0 0 0\n",
        0,
        "as above",
    ),
    ("whoami; id -u; hostname", "user\n1000\nsandbox\n", 0, "the one user of a sandbox"),
    ("[ $$ -ge 1000 ]; echo $? ${PPID-none}", "0 none\n", 0, "there is no process above a script"),
    ("sleep 0.01 & echo $(($! - $$))", "1\n", 0, "jobs are numbered by the shell"),
    ("uname -m", "wasm32\n", 0, "what its programs run on"),
    (
        "(sleep 0.02; echo late) & echo soon",
        "soon\nlate\n",
        0,
        "as a reader of the output sees it: jobs are waited for",
    ),
    ("ssh; vim", "", 127, "not there"),
    ("echo x | tee >(cat)", "", 2, "process substitution for output is not supported"),
    ("echo <(echo x)", "/tmp/.sh-1\n", 0, "a file, as commands within have ended before the one around begins"),
    ("x=<(echo x); cat $x 2>&1", "cat: /tmp/.sh-1: No such file or directory\n", 1, "the same, under its name"),
    ("declare -A m; echo $?", "2\n", 0, "arrays by name are not supported"),
    ("select x in a b; do :; done", "", 2, "not supported"),
    ("[[ a == ]]", "", 2, "bash says 0 after a syntax error, or 1 below: 2 for all of them"),
    ("x=(1 2", "", 2, "as above"),
    ("echo k=v | grep -oP '\\w+(?==)'", "", 2, "expressions that look around are not supported"),
    ("mkdir -pv q/r", "mkdir: created directory 'q/r'\n", 0, "only the last of several is told"),
    ("{ while :; do echo x; done; } | head -n 1", "x\n", 0, "the same, and it ends"),
];

#[test]
fn what_differs_on_purpose() {
    for (script, stdout, code, why) in DIFFERENT {
        let (out, err, ended) = ours(script, "");
        assert_eq!((out.as_str(), ended), (*stdout, *code), "{script} ({why}): {err}");
    }
}
