//! Behaviour that bash can't be compared with: interpreters, the host's streams, the end by dropping.

use super::{Fake, ran, script, shown, sink};
use crate::{Writer, pipe, run, run_with_jobs};
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

#[test]
fn tree_shows_directories_as_lines() {
    let made = "mkdir -p a/b .h; echo 1 > a/b/c; echo 22 > a/d; : > .h/x; ln -s a l; ";
    let shown = |command: &str| {
        let (stdout, stderr, code) = shown(&format!("{made}{command}"));
        assert_eq!((stderr.as_str(), code), ("", 0), "{command}");
        stdout.replace('\u{a0}', " ")
    };
    let whole = ".\n├── a\n│   ├── b\n│   │   └── c\n│   └── d\n└── l -> a\n\n4 directories, 2 files\n";
    assert_eq!(shown("tree"), whole);
    assert_eq!(shown("tree -L 1"), ".\n├── a\n└── l -> a\n\n3 directories, 0 files\n");
    assert_eq!(shown("tree -d a"), "a\n└── b\n\n2 directories\n");
    assert_eq!(shown("tree -a .h"), ".h\n└── x\n\n1 directory, 1 file\n");
    assert_eq!(shown("tree -if --noreport a"), "a\na/b\na/b/c\na/d\n");
    assert_eq!(shown("tree -I 'b|l' --noreport"), ".\n└── a\n    └── d\n");
    assert_eq!(shown("tree -P 'c*' --noreport a"), "a\n└── b\n    └── c\n");
}

#[test]
fn processes_are_shown() {
    let (stdout, _, code) =
        shown("ps; ps aux | wc -l; ps -ef | head -n 1; sleep 0.01 & pgrep bash; pgrep -c nothing; wait");
    assert!(stdout.starts_with("    PID TTY          TIME CMD\n"), "{stdout}");
    assert!(stdout.contains(" ?        00:00:00 bash\n"), "{stdout}");
    assert!(stdout.contains("UID          PID    PPID  C STIME TTY          TIME CMD\n"), "{stdout}");
    assert_eq!(code, 0);
    assert_eq!(shown("free -m | awk 'NR == 2 {print $1, $2}'"), ok("Mem: 64\n"));
    assert_eq!(shown("df -h . | awk 'NR == 2 {print $1, $2, $6}'"), ok("sandbox 64M /\n"));
    assert_eq!(shown("top -b -n 1 | grep -c bash"), ok("1\n"));
    assert_eq!(
        shown("sleep 9 & sleep 0.01; ps -o args= -p $!; ps -o pid=,comm= $! | sed \"s/$!/N/\"; kill $!; wait"),
        { ok("sleep 9\n N sleep\n") }
    );
    assert_eq!(shown("ps -p $$ -o pid | grep -cw $$; ps -p 7 --no-headers; echo $?"), ok("1\n1\n"));
    assert_eq!(shown("ps -o nothing").2, 1);
    let groups =
        "for c in 'setsid sh' 'setsid -w nohup sh' sh; do $c -c '[ $(ps -o pgid= -p $$) = $$ ]; echo $?'; done";
    assert_eq!(shown(groups), ok("0\n0\n1\n"));
    let found = "(sleep 9; :) & sleep 8 & sleep 0.01; pgrep -fc 'sleep 8'; pkill -x sleep; wait $!; echo $?; kill %1; \
                 sleep 0.01; pgrep -c .";
    assert_eq!(shown(found), ("1\n143\n0\n".to_owned(), String::new(), 1));
}

/// Runs a script beside other work until that has ended, and then drops it; when it exited, in what order.
async fn beside<T>(host: &Fake, text: &str, work: impl Future<Output = T>) -> (Option<i32>, String, T) {
    let (stdout, out) = sink();
    let code = std::cell::Cell::new(None);
    let code = std::sync::Mutex::new(code);
    let exit = |exit_code| code.lock().expect("no panic").set(Some(exit_code));
    let run = run_with_jobs(host, script(text, stdout, sink().0), None, exit);
    let done = tokio::select! {
        biased;
        done = work => done,
        () = async { run.await; std::future::pending().await } => unreachable!(),
    };
    let text = String::from_utf8_lossy(&out.lock().expect("no panic")).into_owned();
    (code.lock().expect("no panic").get(), text, done)
}

async fn seconds(count: f64) {
    tokio::time::sleep(Duration::from_secs_f64(count)).await;
}

#[tokio::test(start_paused = true)]
async fn a_script_exits_when_nothing_holds_its_output_and_its_jobs_go_on() {
    let host = Fake::new();
    let exited = async |text: &str, after: f64| beside(&host, text, seconds(after)).await.0;
    assert_eq!(exited("(sleep 40; echo x > f) >/dev/null 2>&1 & echo started; exit 3", 1.0).await, Some(3));
    assert_eq!(exited("sleep 3 & echo hi", 2.0).await, None, "the job has its standard output");
    assert_eq!(exited("sleep 3 & echo hi", 4.0).await, Some(0));
    assert_eq!(exited("sleep 3 > /dev/null & echo hi", 2.0).await, None, "the job has its standard error");
    assert_eq!(exited("(sleep 1; exec >/dev/null 2>&1; sleep 9) &", 2.0).await, Some(0), "it closed them");
    assert_eq!(exited("bash -c 'exec >/dev/null 2>&1; sleep 9' &", 1.0).await, Some(0), "it closed them");
    assert_eq!(exited("python3 forever >/dev/null 2>&1 & exec >/dev/null 2>&1", 1.0).await, Some(0));
    assert_eq!(exited("x=$(sleep 9 >/dev/null & echo 1); echo $x", 2.0).await, None, "the job has its standard error");
    assert_eq!(exited("x=$(sleep 9 >/dev/null 2>&1 & echo 1); echo $x", 2.0).await, Some(0));
    assert_eq!(exited("cat | sleep 9 2>/dev/null | cat >/dev/null & :", 1.0).await, None, "some hold its errors");
    assert_eq!(exited("cat 2>/dev/null | sleep 9 2>/dev/null | cat >/dev/null 2>&1 &", 1.0).await, Some(0));
    assert_eq!(exited("nohup sh -c 'sleep 9' >/dev/null 2>&1 & { sleep 9; } &>/dev/null &", 1.0).await, Some(0));
    assert_eq!(exited("sleep 9", 2.0).await, None);
    assert_eq!(ran(&host, "cat f", "").await.code, 1, "those that were dropped have written nothing");
    let whole =
        run(&host, script("(sleep 40; echo x > f) >/dev/null 2>&1 & echo started", Writer::null(), Writer::null()));
    assert_eq!(whole.await, 0);
    assert_eq!(ran(&host, "cat f", "").await.stdout, "x\n");
}

#[tokio::test(start_paused = true)]
async fn processes_of_one_script_are_known_to_the_next() {
    let host = Fake::new();
    let started = "setsid sh -c 'echo $$ > leader; sleep 50 & echo $! > child; wait' >/dev/null 2>&1 & echo $! > job";
    let other = async {
        seconds(1.0).await;
        let text = "cmp leader job && kill -0 $(cat job) $(cat child) && ps aux | grep -c 'sleep 5[0]'; pgrep -fc sleep; \
                    kill -s TERM -- -$(cat leader); kill -0 $(cat child); kill -0 $(cat job); echo $?";
        ran(&host, text, "").await
    };
    let (code, _, other) = beside(&host, started, other).await;
    assert_eq!(code, Some(0));
    // The words are those of `sh -c`, too.
    assert_eq!((other.stdout.as_str(), other.code), ("2\n2\n1\n", 0), "{}", other.stderr);
    assert_eq!(other.stderr.matches("No such process").count(), 2, "{}", other.stderr);
    let alone = Fake::new();
    let (_, _, other) = beside(&host, "sleep 50", async {
        seconds(1.0).await;
        ran(&alone, "ps -o pid= | wc -l; kill -- -1; echo $?", "").await
    })
    .await;
    assert_eq!(other.stdout, "1\n1\n", "nothing of other sessions");
}

#[tokio::test(start_paused = true)]
async fn a_script_is_ended_by_a_signal_of_another() {
    let host = Fake::new();
    let killed = async |text: &str, signal: &str| {
        let other = async {
            seconds(1.0).await;
            let ran = ran(&host, &format!("kill {signal} $(pgrep -f 'sleep 7[0]'); sleep 0.1"), "").await;
            assert_eq!((ran.stderr.as_str(), ran.code), ("", 0));
        };
        let (code, text, ()) = beside(&host, text, other).await;
        (code, text)
    };
    let text = |code, text: &str| (Some(code), text.to_owned());
    assert_eq!(killed("echo a; sleep 70; echo b", "").await, text(143, "a\n"));
    assert_eq!(killed("trap 'echo bye' EXIT; { sleep 70 > f; } > g; echo b", "-INT").await, text(130, "bye\n"));
    assert_eq!(killed("trap 'echo bye' EXIT TERM; sleep 70; echo b", "-9").await, text(137, ""));
    assert_eq!(killed("trap 'kill $$; echo no' EXIT; sleep 70", "").await, text(143, ""));
    assert_eq!(killed("trap 'echo t; exit 5' TERM; sleep 70 & wait; echo b", "").await, text(5, "t\n"));
    assert_eq!(killed("trap '' TERM; sleep 70", "").await.0, None);
}

#[test]
fn a_signal_to_a_group_ends_the_program_that_its_leader_waits_for() {
    let script = "trap 'echo term' TERM; (sleep 0.05; kill 0) & (exec bash -c 'sleep 5; echo no'); echo $?; wait";
    assert_eq!(shown(script), ok("term\n143\n"));
    let script = "trap 'echo term' TERM; (sleep 0.05; kill 0) & sleep 5 | cat; echo $?; setsid sleep 5 & sleep 0.01; kill -- -$$; \
                  sleep 0.01; kill -0 $! && kill -- -$!; wait $!; echo $?";
    assert_eq!(shown(script), ok("term\n143\nterm\n143\n"));
}

#[test]
fn what_is_cut_short_leaves_the_streams_as_they_were() {
    assert_eq!(shown("timeout 0.01 eval '{ sleep 5 > f; } > g' > h; echo $?"), ok("124\n"));
    assert_eq!(shown("timeout 0.01 eval '{ sleep 5 > f; } > g'; echo $?"), ok("124\n"));
}

#[test]
fn limits_are_shown_and_not_changed() {
    assert_eq!(shown("ulimit -f; ulimit -c 0; ulimit -n unlimited; ulimit -a | grep -c -e -f"), ok("unlimited\n1\n"));
    let refused = "bash: line 1: ulimit: file size: cannot modify limit: Operation not permitted\n";
    assert_eq!(shown("ulimit -f 100"), (String::new(), refused.to_owned(), 1));
    assert_eq!(shown("ulimit -v x; ulimit -Z").2, 2);
}

#[test]
fn awk_has_the_functions_of_gnu() {
    let script =
        "echo 'foo bar' | gawk '{print gensub(/(o+) (b)/, \"\\\\2-\\\\1\", 1), toupper(\"é\"), length(\"日本\")}'";
    assert_eq!(shown(script), ok("fb-ooar É 2\n"));
    let script = "awk 'BEGIN{a[1]=\"z\"; a[2]=\"b\"; n=asort(a); print n, a[1], strftime(\"%Y\", 0), and(6, 3), 2**3}'";
    assert_eq!(shown(script), ok("2 b 1970 2 8\n"));
    let script = "echo 'k=v' | awk 'match($0, /([a-z])=([a-z])/, m) {print m[2] m[1]} BEGIN{print 2^53, substr(\"hello\", -1, 3)}'";
    assert_eq!(shown(script), ok("9007199254740992 h\nvk\n"));
    assert_eq!(shown("awk 'BEGIN{a[\"x\"]; a[10]; a[2]; for (k in a) print k}'"), ok("2\n10\nx\n"));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_script_ends_interpreters_jobs_and_pipelines() {
    let host = Fake::new();
    let (writer, mut reader) = pipe(100);
    let script = script("python3 forever & cat | python3 forever & echo x; python3 forever", writer, Writer::null());
    assert!(tokio::time::timeout(Duration::from_secs(60), run(&host, script)).await.is_err());
    let mut bytes = [0; 10];
    assert_eq!(reader.read(&mut bytes).await, 2);
    // All its writers are gone.
    assert_eq!(reader.read(&mut bytes).await, 0);
}

#[test]
fn a_copy_with_all_attributes_is_the_owners_of_the_original() {
    let script = "mkdir -p d/e; echo x > d/e/f; ln -s f d/l; \
        sudo bash -c 'cp -a d all; cp -r d plain'; stat -c '%U %n' all all/e all/e/f all/l plain/e/f; \
        sudo cp -p d/e/f p; sudo chown root d/e/f; cp -p d/e/f own; stat -c '%U %n' p own";
    let expected = "user all\nuser all/e\nuser all/e/f\nuser all/l\nroot plain/e/f\nuser p\nuser own\n";
    assert_eq!(shown(script), ok(expected));
}

#[test]
fn files_of_process_substitutions_are_gone_after_their_command() {
    let none = "find /tmp -name '.sh-*'";
    for script in [
        "cat <(echo a) <(echo b) > o",
        "nothing <(echo a) 2> o; false <(echo a)",
        "cat <(echo a) < nothing 2> o",
        "(exit 3 <(echo a)); for x in <(echo a); do break; done",
        "f() { return 1; }; f <(echo a) < <(echo b)",
        "cat <(echo a) > o & wait",
        "cat <(echo a) | cat <(echo b) - > o",
        "x=<(echo a); x=$(cat <(echo a)); exec 3< <(echo a)",
        "timeout 0.01 sleep 5 <(echo a)",
        "while read x; do cat <(echo $x) > o; done < <(seq 3)",
        "cat <(echo a) <(cat $(yes)) > o; :",
    ] {
        let (stdout, _, _) = shown(&format!("{{ {script}; }} 2>/dev/null; {none}"));
        assert_eq!(stdout, "", "{script}");
    }
    assert_eq!(
        shown("f() { find /tmp -name '.sh-*'; }; f <(:); echo > /tmp/.sh-2; cat <(echo x)").0,
        "/tmp/.sh-1\nx\n"
    );
    let (_, stderr, code) = shown("echo x > >(cat)");
    assert_eq!((stderr.as_str(), code), ("bash: -c: line 1: process substitution for output is not supported\n", 2));
    assert_eq!(
        shown("rm -r /tmp/.sh-1 2> o; f() { rm $1; mkdir $1; }; f <(:); find /tmp -name '.sh-*'").0,
        "/tmp/.sh-1\n"
    );
}

#[test]
fn an_interpreter_reads_the_file_of_a_process_substitution() {
    assert_eq!(shown("python3 upper < <(echo a)").0, "A\n");
    assert_eq!(shown("python3 <(echo a) 2> o").0, "[\"/tmp/.sh-1\"] /home/user None\n");
    assert_eq!(shown("echo 1 > a; echo 2 | cmp -s - <(cat a) || echo differ"), ok("differ\n"));
}

#[test]
fn there_is_no_terminal() {
    let refused = "No such device or address\n";
    let expected =
        format!("cat: /dev/tty: {refused}bash: line 1: /dev/tty: {refused}bash: line 1: /dev/tty: {refused}");
    assert_eq!(shown("cat /dev/tty; cat < /dev/tty; echo x > /dev/tty"), (String::new(), expected, 1));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_script_removes_the_files_of_process_substitutions() {
    let host = Fake::new();
    host.put("/tmp/kept", "");
    let endless = ran(&host, "cat <(echo a) <(echo b; python3 forever) & python3 forever <(echo c)", "");
    assert!(tokio::time::timeout(Duration::from_secs(60), endless).await.is_err());
    assert_eq!(ran(&host, "ls -A /tmp", "").await.stdout, "kept\n");
}

#[tokio::test]
async fn a_reader_that_is_gone_ends_the_writer() {
    let (writer, reader) = pipe(4);
    drop(reader);
    assert!(writer.write_all(b"x").await.is_err());
    let host = Fake::new();
    assert_eq!(ran(&host, "while true; do echo x; done | head -n 2; echo $?", "").await.stdout, "x\nx\n0\n");
}
