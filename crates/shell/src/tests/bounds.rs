//! Limits on hostile scripts: each test fails without its guard. The tests run on a thread's usual stack of 2 MiB.

use super::{Fake, Ran, ran};
use proofbox_vfs::FilesQuota;
use std::time::{Duration, Instant};

/// Runs a script, and asserts that it takes no longer than a script may.
async fn bounded(text: &str) -> Ran {
    let started = Instant::now();
    let ran = tokio::time::timeout(Duration::from_secs(60), ran(&Fake::new(), text, "")).await.expect("it ends");
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    ran
}

fn says(ran: &Ran, code: i32, part: &str) {
    let shown: String = ran.stderr.chars().take(300).collect();
    assert!(ran.code == code && ran.stderr.contains(part), "{} {shown}", ran.code);
}

#[tokio::test]
async fn what_nests_too_deep_is_refused_before_it_is_run() {
    let around =
        |open: &str, within: &str, close: &str, count| format!("{}{within}{}", open.repeat(count), close.repeat(count));
    for (open, within, close) in [
        ("(", "echo x", ")"),
        ("( (", "echo x", ") )"),
        ("{ ", "echo x", "; }"),
        ("echo $(", "echo x", ")"),
        ("echo \"$(", "echo x", ")\""),
        ("if ", "true", "; then :; fi"),
        ("while ", "false", "; do :; done"),
        ("case x in x) ", "true", ";; esac"),
        ("echo ${x:-", "y", "}"),
        ("echo \"${x:-", "y", "}\""),
        ("f() { ", "true", "; }"),
        ("[[ ( ", "x", " ) ]]"),
        ("echo $(( $((", "1", ")) ))"),
        ("echo ${x[", "1", "]}"),
        ("! ( ! ", "true", ")"),
    ] {
        for count in [60, 1000, 50_000] {
            let closed = bounded(&around(open, within, close, count)).await;
            assert_ne!(closed.stderr, "", "{open}");
            let unclosed = bounded(&open.repeat(count)).await;
            assert_ne!(unclosed.stderr, "", "{open}");
        }
    }
    says(&bounded(&around("( ", "echo x", ")", 60)).await, 2, "nested more than 50 deep");
    says(&bounded(&format!("[[ {} ]]", "! ".repeat(100_000))).await, 2, "nested more than 50 deep");
    says(&bounded(&format!("[[ x{} ]]", " && x".repeat(1000))).await, 2, "nested more than 50 deep");
    says(&bounded("echo $((((((1))))))").await, 0, "");
    let deep = format!("echo $(({}1{}))", "(".repeat(1000), ")".repeat(1000));
    says(&bounded(&deep).await, 1, "expression recursion level exceeded");
    says(&bounded(&format!("echo $(({}1))", "-".repeat(100_001))).await, 1, "");
    says(&bounded("x=x; echo $((x))").await, 1, "expression recursion level exceeded");
    says(&bounded(&format!("test {} x", "! ".repeat(1000))).await, 2, "too many arguments");
}

#[tokio::test]
async fn what_nests_as_deep_as_allowed_is_run_on_the_usual_stack() {
    let around =
        |open: &str, within: &str, close: &str, count| format!("{}{within}{}", open.repeat(count), close.repeat(count));
    for script in [
        around("( ", "echo x", " )", 48),
        around("{ ", "echo x", "; }", 48),
        around("if true; then ", "echo x", "; fi", 48),
        around("echo $(", "echo x", ")", 48),
        around("echo \"${a:-", "x", "}\"", 20),
        "f() { [ $1 -gt 0 ] && f $(($1-1)) || echo x; }; f 55".to_owned(),
        "f() { if [ $1 -gt 0 ]; then echo \"$(f $(($1-1)))\"; else echo x; fi; }; f 28".to_owned(),
        around("( echo x | ", "cat", " )", 25),
    ] {
        let ran = bounded(&script).await;
        assert!(ran.stdout.contains('x') && ran.code == 0, "{script}: {ran:?}");
    }
}

#[tokio::test]
async fn functions_and_shells_within_each_other_end() {
    says(&bounded("f() { f; }; f").await, 1, "maximum function nesting level exceeded");
    says(&bounded("f() { (f); }; f").await, 1, "nest");
    says(&bounded("f() { x=$(f); }; f").await, 1, "nest");
    says(&bounded("f() { f | f; }; f").await, 254, "nest");
    says(&bounded("eval 'x() { eval x; }; x'").await, 1, "nest");
    says(&bounded("echo '. ./a' > a; . ./a").await, 1, "nested too deeply");
    says(&bounded("echo 'bash a' > a; bash a").await, 1, "nested too deeply");
    says(
        &bounded("f() { find . -maxdepth 0 -exec $1 \\; ; }; echo . | xargs env env env env env env env env true")
            .await,
        0,
        "",
    );
    let env = format!("{} true", "env ".repeat(200));
    says(&bounded(&env).await, 1, "nested too deeply");
    says(&bounded(&format!("{} true", "command ".repeat(5000))).await, 1, "nested too deeply");
    says(&bounded(&format!("{} true", "timeout 9 ".repeat(5000))).await, 1, "nested too deeply");
}

#[tokio::test]
async fn a_script_that_never_ends_is_ended() {
    for script in [
        "while :; do :; done",
        "yes > /dev/null",
        "until false; do (:); done; echo no",
        "f() { :; }; while f; do f; done",
    ] {
        says(&bounded(script).await, 137, "more than 10000000 steps");
    }
    says(&bounded("for ((;;)); do :; done | cat; echo never").await, 137, "steps");
    says(&bounded("x=$(while :; do :; done)").await, 137, "steps");
}

#[tokio::test]
async fn others_get_their_turn() {
    let other = async {
        let mut turns = 0;
        for _ in 0..100 {
            tokio::task::yield_now().await;
            turns += 1;
        }
        turns
    };
    let host = Fake::new();
    let endless = ran(&host, "while :; do :; done", "");
    tokio::select! {
        biased;
        _ = endless => panic!("it ended first"),
        turns = other => assert_eq!(turns, 100),
    }
}

#[tokio::test]
async fn a_script_too_long_or_of_too_many_parts_is_refused() {
    says(&bounded(&" ".repeat((1 << 20) + 1)).await, 2, "longer than 1048576 bytes");
    says(&bounded(&":;".repeat(60_000)).await, 2, "more than 100000 parts");
    says(&bounded(&"$x".repeat(110_000)).await, 2, "more than 100000 parts");
}

#[tokio::test]
async fn expansions_do_not_grow_without_end() {
    says(&bounded("echo {1..1000000000}").await, 1, "too large");
    says(
        &bounded("echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}")
            .await,
        1,
        "too large",
    );
    says(&bounded("x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done").await, 1, "too large");
    says(&bounded("x=$(printf '%0100d' 1); while :; do x=${x//0/$x}; done").await, 1, "too large");
    says(&bounded("x=$(yes)").await, 1, "too large");
    says(&bounded("x=1; i=0; while :; do v=$(printf '%065000d' 1)$v; export n$((i++))=$v; done").await, 1, "");
    says(&bounded("a=(); while :; do a+=({1..50000}); done").await, 1, "too large");
    says(&bounded("x=$(yes a | head -n 200000); for i in $x; do :; done").await, 1, "too large");
    assert_eq!(
        bounded("printf '%99999999999999999999d' 1 | wc -c; printf '%9999999999d' 1 | wc -c").await.stdout,
        "1\n65535\n"
    );
}

#[tokio::test]
async fn printf_takes_any_width_and_precision() {
    for format in ["%.65536f", "%.99999999f", "%.65536e", "%.65536g", "%.65535G", "%65536s", "%065536d", "%.65536d"] {
        for value in ["1", "0.0001", "1e300", "-5e-324"] {
            let ran = bounded(&format!("printf '{format}' {value} | wc -c")).await;
            assert_eq!(ran.code, 0, "{format} {value}");
        }
    }
    assert_eq!(bounded("printf '%.65536f' 1 | wc -c").await.stdout, "65537\n");
    let many = "f=$(printf '%s' '%65535s'{1..8000}); printf \"$f\" | wc -c";
    says(&bounded(many).await, 0, "printf: the result is too large");
}

#[tokio::test]
async fn variables_that_double_each_other_are_counted() {
    let doubling: String = (0..38).map(|at| format!("a{at}=a{next}+a{next};", next = at + 1)).collect();
    says(&bounded(&format!("{doubling} a38=1; echo $((a0))")).await, 1, "expression evaluation limit exceeded");
    let few: String = (0..10).map(|at| format!("a{at}=a{next}+a{next};", next = at + 1)).collect();
    assert_eq!(bounded(&format!("{few} a10=1; echo $((a0))")).await.stdout, "1024\n");
}

#[tokio::test]
async fn words_of_braces_share_their_text() {
    let text = "x".repeat(100_000);
    says(&bounded(&format!("echo {{1..4000}}'{text}'")).await, 1, "expansion: the result is too large");
    assert_eq!(bounded("echo {a,b}'c d'\"$((1+1))\"").await.stdout, "ac d2 bc d2\n");
}

#[tokio::test]
async fn many_separators_are_as_fast_as_few() {
    let double = |name: &str| format!("for i in {{1..21}}; do {name}=${name}${name}; done;");
    let script = format!("a=a; b=b; {} {} IFS=$b; set -- $a; echo $#", double("a"), double("b"));
    assert_eq!(bounded(&script).await.stdout, "1\n");
}

#[tokio::test]
async fn others_get_their_turn_within_one_line_of_sed() {
    let host = Fake::new();
    host.put("/home/user/f", &"a".repeat(200_000));
    let other = async {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        _ = ran(&host, "sed -E 's/aa*b|a/X/g' f", "") => panic!("it ended first"),
        () = other => {}
    }
    let host = Fake::new();
    host.put("/home/user/f", &"a,".repeat(500_000));
    let honest = ran(&host, "sed 's/,/;/g' f | tr -d a | wc -c", "").await;
    assert_eq!(honest.stdout, "500000\n");
}

#[tokio::test]
async fn what_is_held_is_bounded() {
    let endless = "yes $(printf '%01000d' 1)";
    says(&bounded(&format!("{endless} | sort")).await, 1, "sort: memory exhausted");
    says(&bounded(&format!("{endless} | tac")).await, 1, "tac: memory exhausted");
    says(&bounded(&format!("{endless} | tail -n 100000000")).await, 1, "tail: memory exhausted");
    says(&bounded(&format!("{endless} | tail -c 1000M")).await, 1, "tail: memory exhausted");
    says(&bounded(&format!("{endless} | xargs")).await, 1, "xargs: memory exhausted");
    says(&bounded(&format!("{endless} | tr -d '\\n' | grep x")).await, 1, "grep: memory exhausted");
    says(&bounded(&format!("{endless} | mapfile x")).await, 1, "mapfile: cannot allocate memory");
    says(
        &bounded("i=0; while :; do eval \"v$((i++))=$(printf '%050000d' 1)\"; done").await,
        1,
        "cannot allocate memory",
    );
}

#[tokio::test]
async fn jobs_and_pipelines_are_counted() {
    let pipeline = vec!["cat"; 300].join(" | ");
    says(&bounded(&pipeline).await, 254, "Resource temporarily unavailable");
    says(&bounded("while :; do sleep 0.1 & done").await, 254, "Resource temporarily unavailable");
    says(&bounded("f() { f & f & }; f").await, 0, "more than 10000000 steps");
}

#[tokio::test]
async fn files_obey_the_quota() {
    let host = Fake::with_quota(FilesQuota { bytes: 100_000, count: 5 });
    let ran1 = ran(&host, "yes > big; echo $?; yes | cat > more", "").await;
    assert_eq!(ran1.stdout, "1\n");
    assert!(ran1.stderr.contains("yes: write error: No space left on device"), "{}", ran1.stderr);
    assert!(ran1.stderr.contains("cat: write error: No space left on device"), "{}", ran1.stderr);
    let ran2 = ran(&host, "rm -f *; cp nofile x; touch 1 2 3 4 5 6; mkdir d; ln -s a b; echo x > 7", "").await;
    assert!(ran2.stderr.contains("touch: cannot touch '6': Disk quota exceeded"), "{}", ran2.stderr);
    assert!(ran2.stderr.contains("mkdir: cannot create directory 'd': Disk quota exceeded"), "{}", ran2.stderr);
    assert!(ran2.stderr.contains("bash: line 1: 7: Disk quota exceeded"), "{}", ran2.stderr);
}

#[tokio::test]
async fn expressions_do_not_take_long() {
    let many = "a?".repeat(300);
    says(&bounded(&format!("echo aaaa | grep -E '{many}'")).await, 0, "");
    says(&bounded("echo x | grep -E '((a{100}){100}){100}'").await, 2, "too big");
    says(&bounded(&format!("echo x | grep -E '{}'", "(".repeat(10_000))).await, 2, "grep:");
    let long = "yes '[01]*1[01]{20}0' | head -n 200000 | tr -d '\\n' > f;";
    says(&bounded(&format!("{long} grep -E '[01]*1[01]{{30}}x' f")).await, 2, "too long for this expression");
    says(&bounded(&format!("{long} [[ $(<f) == *a*b*c*d*e*f*g* ]]; echo no")).await, 1, "too large");
}

#[test]
fn nonsense_never_panics() {
    let alphabet = [
        "$",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "\"",
        "'",
        "`",
        "\\",
        "|",
        "&",
        ";",
        "<",
        ">",
        "\n",
        " ",
        "x",
        "=",
        "~",
        "99999999999999999999",
        "*",
        "?",
        "!",
        "#",
        "@",
        "%",
        "/",
        ":",
        "-",
        "+",
        ",",
        "..",
        "if ",
        "then ",
        "fi ",
        "for ",
        "in ",
        "do ",
        "done ",
        "case ",
        "esac ",
        "[[ ",
        " ]]",
        "((",
        "))",
        "<<E\n",
        "E\n",
        "$((",
        "${",
        "é",
        "1",
        "echo ",
        "test ",
        "printf %",
        "sed s",
        "tr ",
        "cut -f",
        "sort -k",
        "head -n",
        "grep ",
        "find ",
        "date -d",
        "read ",
        "seq 3 ",
    ];
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    for _ in 0..5_000 {
        let script: String = (0..1 + next() % 25).map(|_| alphabet[next() % alphabet.len()]).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        // What waits for ever is no panic.
        let host = Fake::new();
        let _ = runtime
            .block_on(async { tokio::time::timeout(Duration::from_secs(1), ran(&host, &script, "a b\n")).await });
    }
}
