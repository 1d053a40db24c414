//! Limits on hostile scripts: each test fails without its guard. The tests run on a thread's usual stack of 2 MiB.

use super::{Fake, Ran, longest_stretch, ran};
use crate::bounds::thread_cpu;
use proofbox_vfs::FilesQuota;
use std::time::{Duration, Instant};

/// The most that a step of a script may take, by the reference work.
const MAX_STRETCH: f64 = 300.0;

/// Runs a script, and asserts that it takes no longer than a script may.
async fn bounded(text: &str) -> Ran {
    bounded_on(&Fake::new(), text).await
}

/// Runs a script that may take so many steps. Where they end it, fewer do it sooner.
async fn bounded_by(steps: u64, text: &str) -> Ran {
    bounded_on(&Fake::with_steps(steps), text).await
}

async fn bounded_on(host: &Fake, text: &str) -> Ran {
    let started = Instant::now();
    let ran = tokio::time::timeout(Duration::from_secs(60), ran(host, text, "")).await.expect("it ends");
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
        ("cat <(", "echo x", ")"),
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
        around("cat <(", "echo x", ")", 48),
        around("cat < <(", "echo x", ")", 48),
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
async fn process_substitutions_are_bounded() {
    says(&bounded("cat <(yes)").await, 1, "process substitution: the result is too large");
    says(&bounded("cat <(while :; do :; done)").await, 137, "steps");
    // The status of what is substituted does not count.
    says(&bounded("f() { cat <(f); }; f").await, 0, "nest");
    says(&bounded("f() { cat < <(f) <(f); }; f").await, 137, "steps");
    says(&bounded(&format!("{}x{}", "cat <(".repeat(100), ")".repeat(100))).await, 2, "nested more than 50 deep");
    says(&bounded(&format!("echo {}", "<(:)".repeat(5000))).await, 1, "more than 1000 process substitutions");
    says(&bounded(&format!("echo {}", "<(:) ".repeat(5000))).await, 1, "more than 1000 process substitutions");
    says(&bounded("echo {1..90000}<(:)").await, 1, "more than 1000 process substitutions");
    says(&bounded("while :; do cat <(echo x); done > /dev/null").await, 137, "steps");
    says(&bounded("f() { f <(:) <(:) \"$@\"; }; f").await, 1, "nested too deeply");
    let large = "<(yes | head -c 16000000) ".repeat(5);
    says(&bounded(&format!("cat {large}")).await, 1, "process substitution: No space left on device");
    yields_and_ends("while :; do cat <(echo x) <(echo y); done > /dev/null").await;
    let host = Fake::with_quota(FilesQuota { bytes: 10, count: 3 });
    says(&ran(&host, "echo <(:) <(:) <(:) <(:)", "").await, 1, "process substitution: Disk quota exceeded");
    says(&ran(&host, "cat <(echo 1234567890)", "").await, 1, "process substitution: No space left on device");
    assert_eq!(ran(&host, "cat <(echo 123456789)", "").await.stdout, "123456789\n");
}

#[tokio::test]
async fn endless_devices_are_bounded() {
    for device in ["/dev/zero", "/dev/urandom"] {
        says(&bounded(&format!("cat {device} > /dev/null")).await, 137, "steps");
        yields_and_ends(&format!("cat {device} > /dev/null")).await;
    }
    for (program, device) in [
        ("cat -n", "urandom"),
        ("cmp - /dev/zero", "zero"),
        ("diff - /dev/zero", "zero"),
        ("sort", "zero"),
        ("uniq", "urandom"),
        ("wc", "zero"),
        ("md5sum", "urandom"),
        ("head -n 1", "zero"),
        ("tail -c 1", "zero"),
        ("tail -n +5", "urandom"),
        ("xxd", "zero"),
        ("base64", "urandom"),
        ("gzip", "urandom"),
        ("gunzip", "zero"),
        ("tr -d '\\0'", "zero"),
        ("awk 1", "urandom"),
        ("sed -n p", "urandom"),
        ("grep -c ''", "zero"),
        ("split", "urandom"),
        ("xargs", "urandom"),
        ("tee f", "zero"),
        ("bash", "zero"),
        (". /dev/zero", "zero"),
        ("read x", "zero"),
        ("read -n 5 x", "zero"),
        ("mapfile x", "urandom"),
        ("while read x; do :; done", "urandom"),
        ("python3 upper", "zero"),
        ("x=$(cat)", "zero"),
        ("x=$(< /dev/zero)", "zero"),
        ("cat <(cat)", "zero"),
        ("awk -f /dev/stdin", "zero"),
        ("sed -f /dev/stdin f", "zero"),
        ("jq .", "zero"),
    ] {
        bounded(&format!("{{ {program}; }} < /dev/{device} > /dev/null 2>&1")).await;
    }
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
    says(&bounded(&" ".repeat((2 << 20) + 1)).await, 2, "longer than 2097152 bytes");
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
async fn many_jobs_are_no_long_turn() {
    for text in [
        "for i in {1..150}; do while :; do :; done & done; wait",
        &format!("{}:", "while :; do :; done | ".repeat(150)),
    ] {
        let host = Fake::new();
        let longest = async {
            let mut longest = Duration::ZERO;
            // All of them run by then.
            tokio::time::sleep(Duration::from_secs(1)).await;
            for _ in 0..50 {
                let began = Instant::now();
                tokio::task::yield_now().await;
                longest = longest.max(began.elapsed());
            }
            longest
        };
        let longest = tokio::select! {
            longest = longest => longest,
            ran = ran(&host, text, "") => panic!("it ended first: {ran:?}"),
        };
        assert!(longest < Duration::from_millis(100), "{longest:?}");
    }
}

#[tokio::test]
async fn processes_of_a_session_are_bounded() {
    let host = Fake::new();
    let many = "exec 2> errors$$; for i in {1..150}; do sleep 9 & done; wait";
    let both = async { tokio::join!(ran(&host, many, ""), ran(&host, many, "")) };
    assert!(tokio::time::timeout(Duration::from_secs(1), both).await.is_err(), "they wait");
    let errors = ran(&host, "cat errors*", "").await.stdout;
    assert!(errors.contains("fork: retry: Resource temporarily unavailable"), "{errors}");
    assert_eq!(ran(&host, "ps -o pid= | wc -l", "").await.stdout, "1\n", "those that were dropped are gone");
}

#[tokio::test]
async fn handlers_of_signals_end() {
    says(&bounded("trap 'kill $$' TERM; kill $$").await, 137, "steps");
    says(&bounded("trap 'while :; do :; done' EXIT; exit 3").await, 3, "steps");
    says(&bounded("trap 'kill $$' EXIT; exit 3").await, 143, "");
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

/// Asserts that others get their turn within a script, and that dropping it ends it promptly.
async fn yields_and_ends(text: &str) {
    let host = Fake::new();
    let started = thread_cpu();
    let mut turns = 0;
    let other = async {
        while turns < 20 {
            tokio::task::yield_now().await;
            turns += 1;
        }
    };
    tokio::select! {
        biased;
        ran = ran(&host, text, "") => panic!("{text} ended first: {ran:?}"),
        () = other => {}
    }
    let took = thread_cpu() - started;
    assert!(took < Duration::from_secs(10), "{text}: {took:?}");
}

/// Runs a script to its end, and asserts that others of its thread get their turn all the while.
async fn ends_and_yields(text: &str) {
    ends_and_yields_on(&Fake::new(), text).await;
}

async fn ends_and_yields_on(host: &Fake, text: &str) {
    let mut longest = f64::INFINITY;
    // A step that is too long is so each time; what the machine did meanwhile is not.
    for _ in 0..3 {
        let stretch = tokio::time::timeout(Duration::from_secs(60), longest_stretch(host, text)).await;
        longest = longest.min(stretch.expect("it ends"));
        if longest < MAX_STRETCH {
            return;
        }
    }
    panic!("{text}: {longest} times the reference work");
}

#[tokio::test]
async fn awk_is_bounded() {
    let doubled = "BEGIN{x=\"0\"; while (length(x) < 1000000) x = x x; ";
    for work in [
        "while (1);",
        "while (1) !x",
        "while (1) y = x + 1",
        "while (1) y = length(x)",
        "while (1) a[x] = 1",
        "while (1) y = (x in a)",
        "while (1) y = index(x, \"01\")",
        "while (1) y = toupper(x)",
        "while (1) y = x ~ /0*01/",
        "while (1) y = sprintf(\"%65535s%65535s%65535s\", 1, 2, 3)",
        "CONVFMT = \"%.60000f\"; while (1) y = 0.1 \"\"",
        "SUBSEP = x; while (1) delete a[1, 2]",
        "CONVFMT = x; while (1) y = 0.1 \"\"",
        "while (1) { $500000 = 1; y = $0; NF = 0 }",
        "while (1) { $1 = 1; y = $0 } function f(a) { return f(a) }",
        "a[1] = x 1; a[2] = x 2; a[3] = x 3; while (1) asort(a, b)",
        "while (1) match(x, /0*1/)",
        "while (1) { s = x; gsub(/0/, \"1\", s) }",
        "while (1) printf \"%s\", x",
        "while (1) print x > \"/dev/null\"",
        "while (1) \"echo x\" | getline y",
        "while (1) system(\"\")",
        "while (1) { print x | \"cat >/dev/null\"; close(\"cat >/dev/null\") }",
    ] {
        let script = format!("awk '{doubled}{work}}}' > /dev/null");
        let script = script.replace("} function f(a) { return f(a) }}'", "}}'");
        yields_and_ends(&script).await;
    }
    for (work, code, part) in [
        ("while (1) x = x x", 2, "memory exhausted"),
        ("while (1) a[i++] = x i", 2, "memory exhausted"),
        ("while (1) a[i++]", 2, "memory exhausted"),
        ("r = x; gsub(/0/, \"\\\\&\", r); gsub(/.*/, r, x)", 2, "too many parts"),
        ("r = \"&&&&&&&&&&&&&&&&&&&&\"; gsub(/.*/, r, x)", 2, "memory exhausted"),
        ("y[x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x] = 1", 2, "memory exhausted"),
        ("split(x, a, \"\")", 2, "too many parts"),
        ("gsub(/0/, \" a\", x); $0 = x; print NF", 2, "too many parts"),
        ("NF = 1e9", 2, "out of range"),
        ("$1e9 = 1", 2, "attempt to access field"),
        ("printf \"%65535s%65535s\" x, 1; while (1) y = y sprintf(\"%65535s\", 1)", 2, "memory exhausted"),
        ("while (1) print 1 > (\"f\" i++)", 2, "too many files are open"),
        ("system(\"awk \\047BEGIN{while(1);}\\047\")", 137, "more than 10000000 steps"),
    ] {
        let ran = bounded(&format!("awk '{doubled}{work}}}' > /dev/null")).await;
        assert!(ran.code == code && ran.stderr.contains(part), "{work}: {ran:?}");
    }
    says(&bounded("awk 'function f(n) { return f(n + 1) } BEGIN { f(1) }'").await, 2, "nested too deeply");
    says(&bounded("awk 'function f(n,  a) { a[n]; return f(n + 1) } BEGIN { f(1) }'").await, 2, "nested too deeply");
    says(&bounded("echo 'awk \"BEGIN{system(\\\"sh f\\\")}\"' > f; sh f").await, 0, "nested too deeply");
    says(&bounded(&format!("awk 'BEGIN {{ x = {}1{} }}'", "(".repeat(5000), ")".repeat(5000))).await, 2, "nested");
    says(&bounded(&format!("awk 'BEGIN {{ x = {}1 }}'", "-".repeat(5001))).await, 2, "nested");
    says(&bounded(&format!("awk 'BEGIN {{ {} }}'", "if (1) ".repeat(5000))).await, 2, "nested");
    says(&bounded("yes x | awk '{ a[NR] = $0 }'").await, 2, "memory exhausted");
    says(&bounded("yes | tr -d '\\n' | awk '{ print }'").await, 2, "memory exhausted");
    says(&bounded("yes | tr -d '\\n' | awk -v RS='x+' '{ print }'").await, 2, "memory exhausted");
    yields_and_ends("yes x | head -c 8000000 | tr -d '\\n' > f; awk -v RS='x.*y|x' '{ n++ }' f").await;
    yields_and_ends("yes | awk '{ n++ }'").await;
    yields_and_ends("yes x | awk '{ print $1, $2 }' > /dev/null").await;
}

#[tokio::test]
async fn comparisons_of_large_files_are_bounded() {
    let different = "seq 100000 > a; seq 100001 200000 > b;";
    let alike = "yes 'a\nb' | head -n 100000 > a; awk '{ print (NR * 7919 % 13 < 6) ? \"a\" : \"b\" }' a > b;";
    for script in
        ["diff a b", "diff -u a b", "diff -y a b", "diff -c a b", "comm a b", "join -a 1 -a 2 a b", "cmp -l a b"]
    {
        for files in [different, alike] {
            let ran = bounded(&format!("{files} {script} > /dev/null 2>&1")).await;
            assert!(matches!(ran.code, 0..=2 | 137), "{script}: {ran:?}");
        }
    }
    says(&bounded("yes x | diff - /dev/null").await, 2, "memory exhausted");
    says(&bounded("yes k | head -n 300000 > a; join a a > /dev/null").await, 137, "steps");
    yields_and_ends("yes k | head -n 20000 > a; join a a > /dev/null").await;
    yields_and_ends(&format!("{alike} while :; do diff a b > /dev/null; done")).await;
    yields_and_ends("yes | cmp - /dev/stdin").await;
    let excluded = vec!["-x a"; 1000].join(" ");
    says(&bounded(&format!("diff {excluded} a b")).await, 2, "too many patterns");
}

#[tokio::test]
async fn patches_are_bounded() {
    let hunks = "yes '@@ -1,1 +1,1 @@\n-x\n+y' | head -n 60000";
    let script = format!(
        "seq 60000 > f; {{ printf -- '--- f\\n+++ f\\n'; {hunks} | sed 's/.n/&/'; }} > p; patch f p > /dev/null"
    );
    let ran = bounded(&script).await;
    assert!(matches!(ran.code, 1 | 2 | 137), "{ran:?}");
    let hunks = "for i in {1..20000}; do printf '@@ -%d,2 +%d,2 @@\\n a\\n-x\\n+y\\n' $i $i; done";
    let script = format!(
        "yes a | head -n 100000 > f; {{ printf -- '--- f\\n+++ f\\n'; {hunks}; }} > p; patch -f f p > /dev/null"
    );
    let ran = bounded(&script).await;
    assert!(matches!(ran.code, 1 | 137), "{ran:?}");
    says(&bounded("yes '+x' | patch f").await, 2, "memory exhausted");
    let huge = "printf -- '--- f\\n+++ f\\n@@ -18446744073709551615,1 +18446744073709551615,1 @@\\n-a\\n+b\\n' > p";
    let ran = bounded(&format!("echo a > f; {huge}; patch f p; patch -R f p; patch -p99999999999 < p")).await;
    assert!(ran.code <= 2, "{ran:?}");
}

#[tokio::test]
async fn dumps_and_filters_are_bounded() {
    for script in [
        "yes | od > /dev/null",
        "yes | od -c -tx1 -tf8 > /dev/null",
        "yes | xxd > /dev/null",
        "yes | xxd -p -c 0 > /dev/null",
        "yes | xxd -i > /dev/null",
        "yes | xxd -r -p > /dev/null",
        "yes '00: 61' | xxd -r > /dev/null",
        "echo 'ffffffffffff: 61' | xxd -r > /dev/null",
        "yes | strings > /dev/null",
        "yes | md5sum",
        "yes | sha512sum",
        "yes | cksum",
        "yes | gzip > /dev/null",
        "yes | gzip | gunzip > /dev/null",
        "yes | fold > /dev/null",
        "yes | fold -s -w 1 > /dev/null",
        "yes | shuf -r -e a b > /dev/null",
        "shuf -r -i 0-18446744073709551614 > /dev/null",
        "yes | comm - /dev/null > /dev/null",
        "yes | join -a 1 - /dev/null > /dev/null",
        "yes | md5sum -c > /dev/null",
        "yes | less > /dev/null",
    ] {
        yields_and_ends(script).await;
    }
    for script in ["yes | xxd > /dev/null", "echo 'ffffffffffff: 61' | xxd -r > /dev/null", "yes | gzip > /dev/null"] {
        says(&bounded(script).await, 137, "more than 10000000 steps");
    }
    let endless = "yes $(printf '%01000d' 1)";
    for (script, part) in [
        ("column -t", "column: memory exhausted"),
        ("column", "column: memory exhausted"),
        ("shuf", "shuf: memory exhausted"),
        ("iconv -t UTF-16", "iconv: memory exhausted"),
        ("split -n 3", "split: memory exhausted"),
        ("tr -d '\\n' | fold", "fold: memory exhausted"),
        ("tr -d '\\n' | strings", "strings: memory exhausted"),
        ("tr -d '\\n' | xxd -r", "xxd: memory exhausted"),
        ("tr -d '\\n' | join - /dev/null", "join: memory exhausted"),
        ("tr -d '\\n' | md5sum -c", "md5sum: memory exhausted"),
    ] {
        says(&bounded(&format!("{endless} | {script} > /dev/null")).await, 1, part);
    }
    says(&bounded("shuf -i 1-1000000000000").await, 1, "shuf: memory exhausted");
    says(&bounded("shuf -i 0-18446744073709551615").await, 1, "invalid input range");
    says(&bounded("shuf -i 18446744073709551615-0").await, 1, "invalid input range");
    says(&bounded("yes x | split -l 1").await, 1, "Disk quota exceeded");
    says(&bounded("yes x | split -b 1 -a 3").await, 1, "Disk quota exceeded");
    says(&bounded("echo x | split -a 99999999999 -b 1").await, 1, "invalid suffix length");
    says(&bounded("echo xx | split -n 1000000000000").await, 1, "Disk quota exceeded");
    says(&bounded("echo xx | split -e -n 1000000000000").await, 137, "steps");
    says(&bounded("seq 3 | split -l 1 --numeric-suffixes=18446744073709551615").await, 1, "suffixes exhausted");
    says(&bounded("truncate -s 1T f").await, 1, "No space left on device");
    let wide =
        "{ printf '%030000d\n' 1; yes a | head -n 100000; } | column -t -o \"$(printf '%065000d' 1)\" > /dev/null";
    let ran = bounded(wide).await;
    assert!(matches!(ran.code, 0 | 1 | 137), "{ran:?}");
    let wide = "{ printf '%065000d x\n' 1; yes 'a b' | head -n 100000; } | column -t > /dev/null";
    let ran = bounded(wide).await;
    assert!(matches!(ran.code, 0 | 1 | 137), "{ran:?}");
}

#[tokio::test]
async fn a_bomb_is_not_unpacked_without_end() {
    let script = "yes | head -c 30000000 | gzip -9 > a; yes a | head -n 500 | xargs cat > b; ls b > /dev/null; \
        gunzip -c < b > /dev/null";
    says(&bounded(script).await, 137, "more than 10000000 steps");
    let script = "yes | head -c 12000000 > a; zip -q a.zip a; rm a; while unzip -p a.zip > /dev/null; do :; done";
    says(&bounded(script).await, 137, "more than 10000000 steps");
    says(&bounded("yes | head -c 60000000 | gzip > a.gz; cp a.gz b.gz; gunzip a.gz; gunzip b.gz").await, 1, "No space");
}

#[tokio::test]
async fn expressions_of_expr_are_bounded() {
    let long = "x=$(printf '%060000d' 1); ";
    let many = format!("{long} expr 1 {}", "+ $x : '0*\\(.*\\)' ".repeat(150));
    let ran = bounded(&many).await;
    assert!(matches!(ran.code, 0 | 2 | 137), "{ran:?}");
    let many = format!("{long} expr 1 {}", "+ index $x 2 ".repeat(150));
    let ran = bounded(&many).await;
    assert!(matches!(ran.code, 0 | 2 | 137), "{ran:?}");
    says(&bounded(&format!("expr {} 1", "\\( ".repeat(5000))).await, 2, "nested too deeply");
    says(&bounded(&format!("expr {} 1", "length ".repeat(5000))).await, 2, "nested too deeply");
    says(&bounded("expr x : '\\(\\(a\\{100\\}\\)\\{100\\}\\)\\{100\\}'").await, 2, "too big");
    says(&bounded("while :; do expr 1 + 1; done > /dev/null").await, 137, "steps");
}

#[tokio::test]
async fn searches_of_rg_are_bounded() {
    for script in [
        "yes foo | rg foo > /dev/null",
        "yes foo | rg -v foo",
        "yes foo | rg -c o",
        "yes foo | rg -or '$0$0' o > /dev/null",
        "yes foo | rg -nC3 foo > /dev/null",
        "mkdir -p d; touch d/{1..100}; while :; do rg --files > /dev/null; done",
        "yes '?*a*b*c' | head -n 500 > .ignore; touch {1..200}; while :; do rg --files > /dev/null; done",
        "touch {1..200}; while :; do rg --files -g '?*a*b*c' > /dev/null; done",
        "mkdir -p a b; ln -s ../b a/x; ln -s ../b a/y; ln -s ../a b/x; ln -s ../a b/y; while :; do rg -L z; done 2> /dev/null",
    ] {
        yields_and_ends(script).await;
    }
    says(&bounded("yes foo | rg foo > /dev/null").await, 137, "more than 10000000 steps");
    let endless = "yes $(printf '%01000d' 1)";
    for (script, part) in [
        (format!("{endless} | tr -d '\n' | rg x"), "memory exhausted"),
        (format!("{endless} | rg -B 100000 x"), "memory exhausted"),
        (format!("{endless} | rg -f - x"), "memory exhausted"),
        (format!("printf '%0100000d' 1 | rg -r '{}' '.*'", "$0".repeat(1000)), "memory exhausted"),
        ("echo a | rg '(((a{100}){100}){100})'".to_owned(), "exceeds size limit"),
        (format!("echo a | rg '{}a'", "(".repeat(1000)), "regex parse error"),
        (format!("echo a | rg -g '{}' a .", "{a,b}".repeat(30)), "too many patterns"),
        (format!("echo a | rg {} a .", "-tall ".repeat(20)), "too many patterns"),
        (format!("echo a | rg --type-add 'x:{}' a .", "{a,b}".repeat(30)), "too many patterns"),
        ("head -c 10000000 /dev/zero | tr '\\0' a | rg '(a|b){500}[a-z]{500}c'".to_owned(), "too long"),
    ] {
        says(&bounded(&script).await, 2, part);
    }
    let deep = "p=d; for i in {1..120}; do p=$p/d; done; mkdir -p $p; echo foo > $p/f;";
    let ran = bounded(&format!("{deep} rg -c foo .; rg foo d | wc -l; rg -L foo d | wc -l")).await;
    assert_eq!((ran.code, ran.stdout.lines().last()), (0, Some("1")), "{ran:?}");
}

#[tokio::test]
async fn bc_is_bounded() {
    for program in [
        "while(1){}",
        "for(;;)x=x+1",
        "while(1)print 1",
        "scale=20000;while(1)x=1/3",
        "scale=20000;while(1)x=sqrt(2)",
        "x=7^25000;while(1)y=x*x/x",
        "x=7^50000;obase=1000;while(1)x",
        "scale=45000;4*a(1)",
        "scale=45000;e(1)",
        "scale=45000;l(2)",
        "scale=45000;s(1)",
        "scale=45000;j(2,1)",
    ] {
        yields_and_ends(&format!("echo '{program}' | bc -l > /dev/null")).await;
    }
    yields_and_ends("yes 1+1 | bc > /dev/null").await;
    yields_and_ends("yes '{' | bc > /dev/null").await;
    says(&bounded_by(200_000, "echo 'while(1){}' | bc").await, 137, "more than 200000 steps");
    for program in [
        "2^1000000",
        "1.1^1000000",
        "x=9;while(1)x=x*x",
        "scale=100000;1/3",
        "scale=100000;sqrt(2)",
        "scale=100000;e(1)",
        "scale=100000;a(1)",
        "e(1000000)",
        "j(0,1000000)",
        "define f(x){return f(x+1)};f(1)",
        "define f(x){return 1+f(x)};f(7^50000)",
        "define f(x[]){return f(x[])};for(i=0;i<1000;i++)a[i]=7^10000;f(a[])",
        "x=7^50000;while(1)a[i++]=x",
    ] {
        let program = program.replace("};", "}\\n");
        let ran = bounded(&format!("printf '{program}\\n' | bc -l > /dev/null")).await;
        says(&ran, 1, "bc: memory exhausted");
    }
    for text in ["(", "- ", "!", "{", "if(1)", "1^", "x=", "a[", "f("] {
        let ran = bounded(&format!("printf -- '{}\\n' | bc", text.repeat(10_000))).await;
        assert!(ran.code == 0 && ran.stderr.contains("nested too deeply"), "{text}: {ran:?}");
    }
    for input in [
        "{ yes 1+ | head -c 10000000 | tr -d '\\n'; echo 1; }",
        "head -c 250000 /dev/zero | sed 's/$/1/'",
        "cat /dev/zero",
        "echo 'scale=10^9;1/3'",
        "echo 'scale=49000;x=sqrt(2)'",
        "echo 'x=7^55000;obase=257;x'",
        "echo 'scale=50000;x=1/7;obase=3;x'",
        "echo 'x=7^58000;scale=100;y=x/(x-1);y=x%(x-1);y=sqrt(x)'",
        "{ echo 'ibase=3'; head -c 49000 /dev/zero | tr '\\0' 2; echo; }",
    ] {
        let script = format!("{input} | bc -l > /dev/null 2> /dev/null");
        ends_and_yields(&script).await;
    }
    // All its steps are alike: to look at a tenth of them is enough.
    let logarithm = "echo 'scale=49000;x=l(7^50000)' | bc -l > /dev/null 2> /dev/null";
    ends_and_yields_on(&Fake::with_steps(1_000_000), logarithm).await;
    says(&bounded("{ yes 1+ | head -c 10000000 | tr -d '\\n'; echo 1; } | bc").await, 1, "too long");
    says(&bounded("echo '2^2^30' | bc").await, 1, "memory exhausted");
    // Memory is given back when a call ends.
    let calls = "define f(x){auto a,b[];a=x;b[1]=a;return a+1}\\nfor(i=0;i<300000;i++)y=f(y)\\ny\\n";
    assert_eq!(bounded(&format!("printf '{calls}' | bc")).await.stdout, "300000\n");
    says(&bounded("for i in {1..20000}; do echo \"v$i=1\"; done | bc").await, 0, "too many names");
    // What is read is no more than a fraction of the steps.
    let open = "{ echo '{'; yes 'x=x+1' | head -n 100000; }";
    says(&bounded_by(500_000, &format!("{open} | cat > /dev/null")).await, 0, "");
    says(&bounded_by(500_000, &format!("{open} | bc")).await, 137, "more than 500000 steps");
    let long = "{ echo 'x=1+'; yes '1+' | head -n 200000; } | tr -d '\\n' | bc";
    says(&bounded(long).await, 1, "too long");
    says(&bounded("yes 1+ | tr -d '\\n' | bc").await, 1, "memory exhausted");
}

#[tokio::test]
async fn make_pauses_by_the_work_that_it_does() {
    let there = "Makefile ".repeat(390);
    let rules: String = (0..10).map(|at| format!("%: {there}%.{at}\n\t:\n")).collect();
    let host = Fake::new();
    host.put("/home/user/Makefile", &format!("{rules}a: b.c"));
    let mut turns = 0;
    let other = async {
        loop {
            tokio::task::yield_now().await;
            turns += 1;
        }
    };
    tokio::select! {
        ran = ran(&host, "make", "") => says(&ran, 2, "No rule to make target 'b.c'"),
        () = other => {}
    }
    // In each of 4 depths of each of 2 targets 100 rules are tried, each of which needs 390 files that are there.
    assert!(turns > 500, "{turns}");
}

#[tokio::test]
async fn what_make_holds_of_a_rule_is_bounded() {
    let many = "$(wordlist 1,20000,$(shell seq 20000))";
    for (makefile, part) in [
        (format!("a: {many}\na: {many}"), "too many prerequisites of 'a'"),
        (format!(".PHONY: {many} {many}"), "too many prerequisites of '.PHONY'"),
        // A name that no file can have is not searched for: each rule would hold it again.
        (format!("%:\n\t@echo made\na: {}", "x".repeat(5000)), "No rule to make target"),
    ] {
        let host = Fake::new();
        host.put("/home/user/Makefile", &makefile);
        let ran = ran(&host, "make", "").await;
        says(&ran, 2, part);
    }
}

#[tokio::test]
async fn make_is_bounded() {
    let with = |makefile: &str| format!("cat > Makefile <<'X'\n{makefile}\nX\nmake > /dev/null");
    let doubled: String = (1..40).map(|at| format!("v{at} = $(v{})$(v{})\n", at - 1, at - 1)).collect();
    let many = "$(wordlist 1,2000,$(shell seq 2000))";
    for makefile in [
        format!("{doubled}a: ; : $(v39)"),
        "a: ; while :; do :; done".to_owned(),
        format!("a: ; : $(foreach i,{many},$(foreach j,{many},$(if ,x)))"),
        format!("a: ; : $(foreach i,{many},$(filter-out {many},{many}))"),
        format!("a: ; : $(foreach i,{many},$(sort {many}))"),
        format!("a: ; : $(foreach i,{many},$(shell :))"),
    ] {
        yields_and_ends(&with(&makefile)).await;
    }
    says(&bounded(&with("a: ; while :; do :; done")).await, 137, "more than 10000000 steps");
    says(&bounded(&with(&format!("{doubled}a: ; : $(v39)"))).await, 137, "more than 10000000 steps");
    let deep = |open: &str, close: &str| format!("a: ; : {}{}", open.repeat(1000), close.repeat(1000));
    let nested = |count| format!("x := {}$(shell $(MAKE)){}", "$(if x,".repeat(count), ")".repeat(count));
    let chain: String = (0..20_000).map(|at| format!("t{at}: t{}\n", at + 1)).collect();
    let patterns: String = (0..2000).map(|at| format!("%.{at}: %.x{at}\n\t:\n")).collect();
    let long_chain: String = (0..900).map(|at| format!("%: %.{at}\n\t:\n")).collect();
    for (makefile, part) in [
        (deep("$(if x,", ")"), "nested too deeply"),
        (deep("$(", ")"), "nested too deeply"),
        (deep("$(", ""), "unterminated variable reference"),
        ("f = $(call f)\na: ; : $(call f)".to_owned(), "nested too deeply"),
        ("define f\n$(eval $(call f))\nendef\n$(call f)".to_owned(), "nested too deeply"),
        ("include Makefile".to_owned(), "include each other too deeply"),
        ("ifeq (a,a)\n".repeat(1000), "nested too deeply"),
        ("a: ; $(MAKE)".to_owned(), "nested too deeply"),
        (nested(0), "nested too deeply"),
        (nested(12), "nested too deeply"),
        (nested(45), "nested too deeply"),
        (chain, "wait for each other too deeply"),
        (patterns, "too many rules of patterns"),
        (format!("{long_chain}a: b.c"), "No rule to make target 'b.c'"),
        (format!("a: ; : $(foreach i,{many},{many})"), "virtual memory exhausted"),
        (format!("a: ; : $(subst 1,{many},{many})"), "virtual memory exhausted"),
        (format!("x := {many}\n{}", "x += $(x)\n".repeat(100)), "virtual memory exhausted"),
        ("a: ; : $(shell yes)".to_owned(), "virtual memory exhausted"),
        (format!("$(foreach i,{many},$(eval v$(i) := {many}))"), "virtual memory exhausted"),
        (format!("t := {many}\n$(foreach i,{many},$(eval $(t): $(t)))"), "virtual memory exhausted"),
    ] {
        let ran = bounded(&with(&makefile)).await;
        let shown: String = ran.stderr.chars().take(300).collect();
        assert!(ran.code == 2 && ran.stderr.contains(part), "{part}: {} {shown}", ran.code);
    }
    for input in [
        "yes '' | head -c 10000000",
        "yes '\\' | head -c 10000000",
        "yes 'a:: ; :' | head -c 1000000",
        "yes 'a: ; :' | head -c 2000000",
        "yes x=1 | head -c 10000000",
        "{ printf 'a: '; yes b | head -c 5000000 | tr '\\n' ' '; }",
        "{ yes '%a' | head -c 500000 | tr '\\n' ' '; echo ': ;'; echo 'a: q'; }",
        "{ yes '# x' | head -c 10000000; }",
        "for i in {1..100000}; do echo \"t$i: ; :\"; done",
        "{ for i in {1..900}; do echo \"%: %.$i\"; echo '\t:'; done; echo 'all: a b c d'; }",
        "cat /dev/zero",
        "{ printf 'x = $('; yes 'sort ' | head -c 500000 | tr '\\n' ' '; }",
    ] {
        let script = format!("{input} | make -f - > /dev/null 2> /dev/null");
        ends_and_yields(&script).await;
    }
    says(&bounded("yes 'a:: ; :' | head -c 1000000 | make -f -").await, 2, "memory exhausted");
    says(
        &bounded("{ printf 'a: '; yes b | head -c 5000000 | tr '\\n' ' '; } | make -f -").await,
        2,
        "memory exhausted",
    );
    let many = "{ yes '%a' | head -c 500000 | tr '\\n' ' '; echo ': ; :'; echo 'a: q'; } | make -f -";
    says(&bounded(many).await, 2, "too many rules of patterns");
    says(&bounded("yes 'a: b' | make -f -").await, 2, "memory exhausted");
    says(&bounded("yes | tr -d '\\n' | make -f -").await, 2, "memory exhausted");
}

#[tokio::test]
async fn named_pipes_are_bounded_and_end_with_the_script() {
    let quota = FilesQuota { bytes: 10, count: 3 };
    says(&ran(&Fake::with_quota(quota), "mkfifo a b c d", "").await, 1, "'d': Disk quota exceeded");
    // Each that is open takes memory.
    let open = "f() { for ((i = 3; i < 250; i++)); do mkfifo $1$i; eval \"exec $i<>$1$i\"; done; (f ${1}x); }; f p";
    let full = bounded(open).await;
    assert!(full.stderr.contains("Cannot allocate memory"), "{full:?}");
    says(&bounded("mkfifo p; for ((i = 3; i < 250; i++)); do eval \"exec $i<>p\"; done").await, 0, "");
    let open = "mkfifo p; for i in {1..2000}; do cat p & done";
    let open = tokio::time::timeout(Duration::from_secs(5), ran(&Fake::new(), open, "")).await;
    assert!(open.is_err(), "those that wait wait on");
    says(&bounded_by(100_000, "mkfifo p; yes > p & cat p > /dev/null").await, 137, "more than 100000 steps");
    yields_and_ends("mkfifo p; yes > p & cat p > /dev/null").await;
    yields_and_ends("while :; do mkfifo p; rm p; done").await;
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_other_end_of_a_named_pipe_is_told_and_interrupted() {
    for wait in ["cat p", "cat < p", "echo x > p", "tee p < /dev/null > p"] {
        let waits = ran(&Fake::new(), &format!("mkfifo p; timeout 60 bash -c '{wait}'; echo $?"), "").await;
        says(&waits, 0, "p: waiting for the other end of the named pipe to be opened");
        assert_eq!(waits.stdout, "124\n");
    }
    let killed = ran(&Fake::new(), "mkfifo p; cat p & sleep 1; kill $!; wait $!; echo $?", "").await;
    assert_eq!((killed.stdout.as_str(), killed.stderr.as_str()), ("143\n", ""));
    let crossed = "mkfifo a b; (cat < a; echo > b) & timeout 60 bash -c 'cat < b; echo > a'; echo $?; kill %1";
    let crossed = ran(&Fake::new(), crossed, "").await;
    says(&crossed, 0, "a: waiting for the other end");
    assert!(crossed.stderr.contains("b: waiting for the other end") && crossed.stdout == "124\n", "{crossed:?}");
}

#[tokio::test]
async fn named_pipes_outlive_their_script() {
    let host = Fake::new();
    assert_eq!(ran(&host, "mkfifo p; ls -l | tail -c 2", "").await.stdout, "p\n");
    let (read, written) = tokio::join!(ran(&host, "cat p", ""), ran(&host, "echo hi > p", ""));
    assert_eq!((read.stdout.as_str(), written.code), ("hi\n", 0));
    // Nothing is left in it, and it can be opened again.
    assert_eq!(ran(&host, "echo again > p & cat p; [ -p p ] && rm p; ls", "").await.stdout, "again\n");
}

#[tokio::test]
async fn trees_are_shown_as_deep_as_allowed() {
    let deep = "p=d; for i in {1..120}; do p=$p/d; done; mkdir -p $p;";
    let ran = bounded(&format!("{deep} tree; diff -r d d; cp -r d e; diff -r d e; gzip -r d")).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let many = "for i in {1..90}; do mkdir d$i; for j in {1..90}; do : > d$i/f$j; done; done;";
    let ran = bounded(&format!("{many} for i in {{1..1000}}; do tree; done > /dev/null")).await;
    says(&ran, 137, "steps");
    yields_and_ends(&format!("{many} while :; do tree; done > /dev/null")).await;
    let patterns = "a|".repeat(1000);
    says(&bounded(&format!("tree -I '{patterns}'")).await, 1, "too many patterns");
}

#[tokio::test]
async fn one_line_keeps_no_program_busy() {
    for script in ["uniq -f 18446744073709551615 <<< a", "uniq -f 4000000000 -s 18446744073709551615 <<< 'a b'"] {
        let started = Instant::now();
        let ran = bounded(script).await;
        assert_eq!(ran.code, 0, "{script}");
        assert!(started.elapsed() < Duration::from_secs(5), "{script}");
    }
    let ran = bounded("jq -n '[range(200000)] | del(.[range(0; 200000; 2)]) | length'").await;
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "100000\n"), "{}", ran.stderr);
}

#[tokio::test]
async fn jq_is_bounded() {
    for filter in [
        "range(1000000000000)",
        "def f: f; f",
        "repeat(1)",
        "[range(100000)] | repeat(sort)",
        "(\"0\" * 1000000) | repeat(ascii_upcase)",
        "(\"0\" * 1000000) | repeat(tojson | fromjson)",
        "(\"0\" * 1000000) | repeat(tojson[1:1000001])",
        "(\"0\" * 1000000) | repeat(. as $x | test(\"0*1\") | $x)",
        "(\"0\" * 1000000) | repeat(gsub(\"0\"; \"0\"))",
        "(\"0\" * 1000000) | repeat(split(\"1\")[0])",
        "(\"0\" * 1000000) | repeat(@uri)",
        "[range(100000)] | repeat(. as $x | select($x == $x))",
        "[range(100000)] | repeat(.[1:] + [1])",
        "[range(100000)] | repeat(.[5] |= . + 1)",
        "[range(100000)] | repeat(map(. + 1))",
        "[range(20000)] | repeat(. - .)",
        "reduce range(25) as $i (1; [., .]) | [..] | length",
        "reduce range(60) as $i (1; [., .]) | ..",
        "[range(100000)] | repeat([paths] | [range(100000)])",
        "[limit(1000000000; repeat(1))] | length, repeat(1)",
    ] {
        let script = format!("jq -n '{filter}' > /dev/null");
        let host = Fake::new();
        let started = Instant::now();
        let other = async {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            // Some end early as their memory does.
            ran = ran(&host, &script, "") => {
                assert!(ran.stderr.contains("memory exhausted") || ran.code == 137, "{filter}: {ran:?}");
            }
            () = other => {}
        }
        assert!(started.elapsed() < Duration::from_secs(30), "{filter}: {:?}", started.elapsed());
    }
    for (filter, part) in [
        ("[range(1000000000000)]", "memory exhausted"),
        ("def f: [f]; f", "memory exhausted"),
        ("def f: 1 + f; f", "memory exhausted"),
        ("def f(x): f(x | x); f(.)", "memory exhausted"),
        ("\"x\" | until(false; . + .)", "memory exhausted"),
        ("\"x\" * 1000000000", "memory exhausted"),
        ("[1] | until(false; . + .)", "memory exhausted"),
        ("reduce range(60) as $i (1; [., .])", "memory exhausted"),
        ("reduce range(60) as $i (1; [., .]) | tojson", "memory exhausted"),
        ("reduce range(60) as $i (1; [., .]) | . == .", "memory exhausted"),
        ("reduce range(60) as $i (1; [., .]) | flatten", "memory exhausted"),
        ("reduce range(60) as $i (1; [., .]) | error", "not a string"),
        ("reduce range(60) as $i (1; [., .]) | . + {}", "cannot be added"),
        ("reduce range(60) as $i ({}; {a: ., b: .}) | . * .", "memory exhausted"),
        ("reduce range(1000) as $i (1; [.])", "depth"),
        ("reduce range(1000) as $i (null; {a: .})", "depth"),
        (".[1000000000] = 1", "too large"),
        ("null | setpath([range(100000) | 0]; 1)", "too deep"),
        ("[range(120) | 1048575] as $path | null | setpath($path; 1)", "memory exhausted"),
        ("[1] | delpaths([[range(100000) | 0]])", "too deep"),
        ("\"a\" * 1000000 | indices(\"a\" * 500000)", "too much to compare"),
        ("[range(100000) | 0] | indices([range(50000) | 0])", "too much to compare"),
        ("[range(300) | [range(300) | tostring]] | contains(.)", "too much to compare"),
        ("\"(\" * 10000 | test(\"x\"; \"x\"), test(.)", "valid regex"),
        ("\"a\" | test(\"((a{100}){100}){100}\")", "valid regex"),
    ] {
        let ran = bounded(&format!("jq -n '{filter}' > /dev/null")).await;
        let shown: String = ran.stderr.chars().take(300).collect();
        assert!(ran.code == 5 && ran.stderr.contains(part), "{filter}: {} {shown}", ran.code);
    }
    for filter in [
        "(".repeat(5000),
        "[".repeat(5000),
        "{a:".repeat(5000),
        "-".repeat(5000),
        "if ".repeat(5000),
        "try ".repeat(5000),
        format!("{}.", ".|".repeat(10_000)),
        format!("1{}", "+1".repeat(10_000)),
        format!("1{}", ",1".repeat(10_000)),
        format!(".{}", "[0]".repeat(10_000)),
        format!(".{}", "?".repeat(10_000)),
        format!("{}1", "1 as $x | ".repeat(5000)),
        format!("{}1", "def f: 1; ".repeat(5000)),
        "\"\\(".repeat(5000),
    ] {
        let ran = bounded(&format!("jq -n '{filter}' > /dev/null")).await;
        assert!(matches!(ran.code, 0 | 2 | 3 | 5), "{}: {} {}", &filter[..10], ran.code, ran.stderr.len());
    }
    let deep = |open: &str, count: usize| format!("printf '{}' | jq -c . > /dev/null", open.repeat(count));
    says(&bounded(&deep("[", 100_000)).await, 2, "depth");
    says(&bounded(&deep("{\"a\":", 100_000)).await, 2, "depth");
    says(&bounded("yes 1 | jq -s .").await, 1, "memory exhausted");
    says(&bounded("yes | tr -d '\\n' | jq -R .").await, 1, "memory exhausted");
    says(&bounded("{ echo '['; yes 1, | head -n 2000000; echo '1]'; } | jq length").await, 5, "memory exhausted");
    yields_and_ends("seq 100000 > f; while :; do jq . f > /dev/null; done").await;
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
        "rg -",
        "find ",
        "date -d",
        "read ",
        "seq 3 ",
        "awk '{",
        "awk 'BEGIN{x=",
        "}'",
        "diff -u ",
        "patch -p",
        "expr ",
        "od -t",
        "xxd -",
        "fold -w",
        "split -",
        "join -",
        "column -t",
        "shuf -i",
        "gzip -",
        "iconv -f ",
        "truncate -s",
        "zip -r a.zip ",
        "unzip -l a.zip ",
        "jq -n '.",
        "make -f - <<< 'a: ; ",
        "mkfifo p; ",
        "p& ",
        "bc -l <<< '1",
        "bc <<< 'define f(x){",
        "| ",
    ];
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    for _ in 0..5_000 {
        let script: String = (0..=(next() % 25)).map(|_| alphabet[next() % alphabet.len()]).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        // What waits for ever is no panic.
        let host = Fake::new();
        let _ = runtime
            .block_on(async { tokio::time::timeout(Duration::from_secs(1), ran(&host, &script, "a b\n")).await });
    }
}
