//! Attacks on the service: what each sends, and the ways in which it may end.

use std::sync::Arc;

use hyper::body::Bytes;
use hyper::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::answer::Answer;
use crate::cases::SplitMix64;
use crate::connection::Reply;
use crate::want::Want;

/// Limit of attacks that do not end by themselves, in seconds.
const WALL_SECONDS: f64 = 2.0;
/// Seconds by which a run may exceed its `wall_seconds`: the two that a call of a session has to heed its interrupt, and
/// a turn.
const OVERTIME_SECONDS: f64 = 2.5;
/// Time after which sessions of an attack that was broken off end by themselves.
const TTL_SECONDS: u32 = 600;
/// Codes of 429 and 503 that any client may hear, each with `Retry-After`.
const REFUSALS: [&str; 6] =
    ["busy", "fuel_budget_used", "memory_full", "rate_limited", "too_many_jobs", "too_many_sessions"];
const MAX_SHOWN_BYTES: usize = 300;

/// Word of an answer that is neither a result nor a refusal.
const DONE: &str = "done";
/// Ends of what only a limit ends.
const ENDLESS: &[&str] = &["timeout", "fuel_exhausted"];
/// Ends of a script that ends by itself, if its machine is fast enough.
const LONG: &[&str] = &["none", "timeout"];
/// Ends of what is written to disk.
const WRITTEN: &[&str] = &[DONE, "store_full", "disk_quota_exceeded"];

/// Part of the service that an attack aims at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Programs of `hostile.jsonl`.
    Programs,
    /// Loops of host calls, which use next to no fuel between them.
    HostCalls,
    /// Calls and commands of sessions.
    Sessions,
    /// Streams that nobody reads.
    Streams,
    /// Request bodies.
    Bodies,
    /// Sessions, checkpoints and jobs that take disk and memory.
    Storage,
}

impl Kind {
    /// Beginning of the names of such attacks.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Programs => "programs",
            Self::HostCalls => "host-calls",
            Self::Sessions => "sessions",
            Self::Streams => "streams",
            Self::Bodies => "bodies",
            Self::Storage => "storage",
        }
    }
}

/// Attack on the service: steps that are taken in turn.
pub(crate) struct Attack {
    pub name: String,
    pub kind: Kind,
    /// Session or job that is created before the first step, and deleted after the last.
    pub resource: Option<Resource>,
    pub steps: Vec<Step>,
}

impl Attack {
    /// An attack of a single request to `POST /v1/execute`.
    pub(crate) fn execute(name: String, kind: Kind, body: Bytes, ends: Ends) -> Self {
        let request = Request { method: Method::POST, path: "/v1/execute", body };
        Self { name, kind, resource: None, steps: vec![Step::Send { request, copies: 1, ends }] }
    }

    fn new(kind: Kind, name: &str, resource: Option<Resource>, steps: impl Into<Vec<Step>>) -> Self {
        Self { name: format!("{}/{name}", kind.as_str()), kind, resource, steps: steps.into() }
    }
}

/// Session or job of an attack. Its id replaces [`Resource::ID`] in the paths of the steps.
pub(crate) struct Resource {
    /// Path that it is created at, and below which it is deleted.
    pub collection: &'static str,
    pub body: Bytes,
}

impl Resource {
    pub(crate) const ID: &str = "{id}";

    fn session(fields: Json) -> Self {
        let mut body = json!({"ttl_seconds": TTL_SECONDS});
        if let (Json::Object(body), Json::Object(fields)) = (&mut body, fields) {
            body.extend(fields);
        }
        Self { collection: "/v1/sessions", body: bytes_of(&body) }
    }

    fn job(body: &Json) -> Self {
        Self { collection: "/v1/jobs", body: bytes_of(body) }
    }
}

/// Step of an attack.
pub(crate) enum Step {
    /// Sends a request so many times at once, and checks each answer.
    Send { request: Request, copies: usize, ends: Ends },
    /// Opens so many streams, and reads none of them until the attack ends.
    Stream { request: Request, copies: usize },
}

impl Step {
    fn post(path: &'static str, body: &Json, words: &'static [&'static str]) -> Self {
        Self::post_bytes(path, bytes_of(body), 1, words)
    }

    fn post_bytes(path: &'static str, body: Bytes, copies: usize, words: &'static [&'static str]) -> Self {
        let request = Request { method: Method::POST, path, body };
        Self::Send { request, copies, ends: Ends::of(words) }
    }

    /// Shows that the attack's session serves its next call, with whatever is left of it.
    fn use_session() -> Self {
        Self::call("print(6 * 7)", &["none"], "42\n")
    }

    /// Runs code in the attack's session; with a limit where it may meet one.
    fn call(code: &str, words: &'static [&'static str], output: &'static str) -> Self {
        let limits = if words.contains(&"timeout") { json!({"wall_seconds": WALL_SECONDS}) } else { json!({}) };
        let request = Request::call(code, limits);
        Self::Send { request, copies: 1, ends: Ends::With { words, output } }
    }
}

/// Path of calls of the attack's session.
const CALL: &str = "/v1/sessions/{id}/execute";

/// Request of a step.
#[derive(Clone)]
pub(crate) struct Request {
    pub method: Method,
    pub path: &'static str,
    /// JSON, or the content of a file.
    pub body: Bytes,
}

impl Request {
    /// Code for the attack's session.
    fn call(code: &str, limits: Json) -> Self {
        Self { method: Method::POST, path: CALL, body: bytes_of(&json!({"code": code, "limits": limits})) }
    }

    fn get(path: &'static str) -> Self {
        Self { method: Method::GET, path, body: Bytes::new() }
    }
}

/// Ways in which a request may end.
#[derive(Clone)]
pub(crate) enum Ends {
    /// Words of the ends: the `stderr_class` of a result, the `code` of a refusal, `done` for any other success. A result
    /// has `output` in what it wrote.
    With { words: &'static [&'static str], output: &'static str },
    /// Outcomes that its case allows.
    Case(Arc<Want>),
}

/// An answer, held against the ways in which its request may end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Allowed end, with its word.
    Right(String),
    /// Refusal that any client may hear, with its code: the attack was not made.
    Refused(String),
    /// Reason for which the end is not allowed, with untrusted text escaped.
    Wrong(String),
}

/// Result of a run or a call.
#[derive(Deserialize)]
struct RunResult {
    stderr_class: String,
    execution_seconds: f64,
    limits: LimitsInForce,
    stdout: String,
    stderr: String,
    error: Option<RunError>,
}

#[derive(Deserialize)]
struct RunError {
    message: String,
}

#[derive(Deserialize)]
struct LimitsInForce {
    wall_seconds: f64,
}

#[derive(Deserialize)]
struct Refusal {
    error: RefusalError,
}

#[derive(Deserialize)]
struct RefusalError {
    code: String,
}

impl Ends {
    fn of(words: &'static [&'static str]) -> Self {
        Self::With { words, output: "" }
    }

    /// The end of a resource's creation, and of its deletion.
    pub(crate) fn done() -> Self {
        Self::of(&[DONE])
    }

    /// Holds an answer against the ways in which its request may end.
    pub(crate) fn check(&self, reply: &Reply) -> Verdict {
        if reply.status.is_success() {
            return match self {
                Self::With { words, output } => check_success(reply, words, output),
                Self::Case(want) => check_case(reply, want),
            };
        }
        let Ok(Refusal { error: RefusalError { code } }) = serde_json::from_slice(&reply.body) else {
            return Verdict::Wrong(format!("status {} without a code: {}", reply.status, excerpt(&reply.body)));
        };
        let is_temporary = matches!(reply.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        if is_temporary && reply.retry_after.is_none() {
            return Verdict::Wrong(format!("{code:?} does not say when to try again"));
        }
        let is_wanted = match self {
            Self::With { words, .. } => words.contains(&code.as_str()),
            Self::Case(want) => want.may_be_refused() && is_refused_for_its_content(reply.status),
        };
        if is_wanted {
            Verdict::Right(code)
        } else if is_temporary && REFUSALS.contains(&code.as_str()) {
            Verdict::Refused(code)
        } else {
            Verdict::Wrong(format!("status {}: {}", reply.status, excerpt(&reply.body)))
        }
    }
}

fn is_refused_for_its_content(status: StatusCode) -> bool {
    [StatusCode::BAD_REQUEST, StatusCode::PAYLOAD_TOO_LARGE, StatusCode::UNPROCESSABLE_ENTITY].contains(&status)
}

fn check_success(reply: &Reply, words: &[&str], output: &str) -> Verdict {
    let Ok(result) = serde_json::from_slice::<RunResult>(&reply.body) else {
        return match words.contains(&DONE) {
            true => Verdict::Right(DONE.to_owned()),
            false => Verdict::Wrong(format!("no result: {}", excerpt(&reply.body))),
        };
    };
    let RunResult { stderr_class, execution_seconds, limits: LimitsInForce { wall_seconds }, .. } = result;
    if !words.contains(&stderr_class.as_str()) {
        return Verdict::Wrong(format!("class {stderr_class:?} is none of {words:?}"));
    }
    if execution_seconds > wall_seconds + OVERTIME_SECONDS {
        return Verdict::Wrong(format!("it ran for {execution_seconds:.1} s with wall_seconds {wall_seconds}"));
    }
    let message = result.error.map(|error| error.message).unwrap_or_default();
    let written = [&result.stdout, &result.stderr, &message];
    if !written.iter().any(|text| text.contains(output)) {
        let [stdout, stderr, message] = written.map(|text| excerpt(text.as_bytes()));
        return Verdict::Wrong(format!("{output:?} is not in stdout {stdout}, stderr {stderr} or error {message}"));
    }
    Verdict::Right(stderr_class)
}

fn check_case(reply: &Reply, want: &Want) -> Verdict {
    let answer: Answer = match serde_json::from_slice(&reply.body) {
        Ok(answer) => answer,
        Err(error) => return Verdict::Wrong(format!("not an execute answer: {error}")),
    };
    match want.check(&answer) {
        Ok(()) => Verdict::Right(answer.stderr_class),
        Err(why) => Verdict::Wrong(why),
    }
}

/// The beginning of a text, escaped.
fn excerpt(text: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(&text[..text.len().min(MAX_SHOWN_BYTES)]))
}

fn bytes_of(body: &Json) -> Bytes {
    body.to_string().into()
}

/// Makes the attacks other than the programs of `hostile.jsonl`.
pub(crate) fn all() -> Vec<Attack> {
    let mut attacks = Vec::new();
    attacks.extend(host_calls());
    attacks.extend(sessions());
    attacks.extend(streams());
    attacks.extend(bodies());
    attacks.extend(storage());
    attacks
}

/// Beginning of the programs below.
const IMPORTS: &str = "import os, time\nfrom collections import deque\nfrom itertools import cycle, repeat\n";

/// Name, ends, text in the output, and program.
const HOST_CALLS: [(&str, &[&str], &str, &str); 14] = [
    (
        "pwrite",
        ENDLESS,
        "",
        r#"
fd = os.open("f", os.O_RDWR | os.O_CREAT)
deque(map(os.pwrite, repeat(fd), repeat(bytes(60 << 20)), repeat(0)), 0)
"#,
    ),
    (
        "readinto",
        ENDLESS,
        "",
        r#"
with open("f", "wb") as file: file.truncate(60 << 20)
file, buffer = open("f", "rb", buffering=0), bytearray(60 << 20)
deque(map(lambda _: (file.seek(0), file.readinto(buffer)), repeat(0)), 0)
"#,
    ),
    (
        "copy",
        ENDLESS,
        "",
        r#"
a, b = (os.open(name, os.O_RDWR | os.O_CREAT) for name in "ab")
os.ftruncate(a, 20 << 20)
while True:
    os.pwrite(b, os.pread(a, 20 << 20, 0), 0)
    os.ftruncate(b, 0)
    a, b = b, a
"#,
    ),
    (
        "ftruncate",
        ENDLESS,
        "",
        r#"
fd = os.open("f", os.O_RDWR | os.O_CREAT)
deque(map(os.ftruncate, repeat(fd), cycle((60 << 20, 0))), 0)
"#,
    ),
    (
        "ftruncate-of-holes",
        ENDLESS,
        "",
        r#"
fd = os.open("f", os.O_RDWR | os.O_CREAT)
while True:
    for at in range(0, 60 << 20, 64 << 10): os.pwrite(fd, b"x", at)
    os.ftruncate(fd, 0)
    os.ftruncate(fd, 60 << 20)
"#,
    ),
    ("urandom", ENDLESS, "", "deque(map(os.urandom, repeat(30 << 20)), 0)"),
    (
        "listdir",
        ENDLESS,
        "",
        r#"
os.mkdir("d")
for number in range(4000): open(f"d/{number:0100}", "w").close()
deque(map(os.listdir, repeat("d")), 0)
"#,
    ),
    (
        "long-paths",
        ENDLESS,
        "",
        r#"
os.mkdir("d")
os.symlink(("d/../" * 700)[:-1], "l")
deque(map(os.path.exists, repeat("l/" * 40 + "d")), 0)
"#,
    ),
    (
        "rename",
        ENDLESS,
        "",
        r#"
os.makedirs("a/" + "d/" * 100)
deque(map(os.rename, cycle("ab"), cycle("ba")), 0)
"#,
    ),
    (
        "pipe",
        ENDLESS,
        "",
        r"
r, w = os.pipe()
deque(map(lambda data: os.read(r, os.write(w, data)), repeat(bytes(32 << 10))), 0)
",
    ),
    ("clock", ENDLESS, "", "deque(map(time.clock_gettime, repeat(time.CLOCK_MONOTONIC)), 0)"),
    ("sleep", ENDLESS, "", "deque(map(time.sleep, repeat(0)), 0)"),
    ("write-to-stdout", &["output_limit"], "\0\0\0", "deque(map(os.write, repeat(1), repeat(bytes(30 << 20))), 0)"),
    ("many-files", &["exception"], "Quota exceeded", "for number in range(10_000): open(str(number), 'w').close()"),
];

fn host_calls() -> impl Iterator<Item = Attack> {
    HOST_CALLS.into_iter().map(|(name, words, output, program)| {
        let body = json!({"code": format!("{IMPORTS}{program}"), "limits": {"wall_seconds": WALL_SECONDS}});
        let name = format!("{}/{name}", Kind::HostCalls.as_str());
        Attack::execute(name, Kind::HostCalls, bytes_of(&body), Ends::With { words, output })
    })
}

/// Name, ends, text in the output, and script of the session's shell.
const SCRIPTS: [(&str, &[&str], &str, &str); 18] = [
    (
        "arithmetic",
        &["none"],
        "expression evaluation limit exceeded",
        r#"for i in {0..37}; do eval "a$i=a$((i + 1))+a$((i + 1))"; done; a38=1; echo $((a0))"#,
    ),
    ("sed", LONG, "", r"yes a | head -n 400000 | tr -d '\n' > f; sed -E 's/aa*b|a/X/g' f | wc -c"),
    ("substitution", LONG, "", r"x=$(yes a | head -n 400000 | tr -d '\n'); x=${x//a*b/}; echo ${#x}"),
    (
        "separators",
        LONG,
        "",
        r"x=$(yes a | head -n 400000 | tr -d '\n'); IFS=$(yes b | head -n 400000 | tr -d '\n'); set -- $x; echo $#",
    ),
    (
        "braces",
        &["none"],
        "the result is too large",
        r#"x=$(yes x | head -n 100000 | tr -d '\n'); eval "echo {1..4000}'$x'" | wc -c"#,
    ),
    ("printf", &["none"], "65537", "printf '%.65536f' 1 | wc -c"),
    (
        "printf-of-many",
        &["none"],
        "the result is too large",
        r#"f=$(printf '%s' '%65535s'{1..8000}); printf "$f" | wc -c"#,
    ),
    ("array", &["none"], "too large", "a=(); while :; do a+=({1..50000}); done"),
    ("expression", &["none"], "too big", "echo x | grep -E '((a{100}){100}){100}'"),
    ("functions", &["none"], "nest", "f() { x=$(f); }; f"),
    ("loop", LONG, "", "while :; do :; done"),
    ("forks", LONG, "", "f() { f & f & }; f; wait"),
    ("pipes", LONG, "", "yes | cat | cat | cat | cat | cat | cat | cat > /dev/null"),
    ("sort", LONG, "", "yes $(printf '%01000d' 1) | sort"),
    (
        "interpreters-that-sleep",
        &["timeout"],
        "",
        "for i in {1..60}; do python3 -c 'import time; time.sleep(40)' & done; wait",
    ),
    ("interpreters-that-loop", &["timeout"], "", "for i in {1..60}; do python3 -c 'while True: pass' & done; wait"),
    ("interpreter-that-reads", LONG, "", "yes | python3 -c 'import sys; sum(1 for _ in sys.stdin)'"),
    (
        "interpreter-that-writes",
        &["timeout"],
        "",
        "python3 -c '
import os
fd = os.open(\"f\", os.O_RDWR | os.O_CREAT)
while True: os.pwrite(fd, bytes(30 << 20), 0)'",
    ),
];

/// Name, ends, text in the output, and code of a call.
const CALLS: [(&str, &[&str], &str, &str); 4] = [
    (
        "call-that-writes",
        ENDLESS,
        "",
        "import os\nfd = os.open('f', os.O_RDWR | os.O_CREAT)\nb = bytes(60 << 20)\nwhile True: os.pwrite(fd, b, 0)",
    ),
    (
        "call-that-heeds-no-interrupt",
        ENDLESS,
        "",
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    ),
    ("call-within-c", ENDLESS, "", "sum(range(10 ** 12))"),
    ("call-that-shows", &["exception"], "message refused by the host", "while True: display('x' * 1000)"),
];

fn sessions() -> impl Iterator<Item = Attack> {
    let scripts = SCRIPTS.into_iter().map(|(name, words, output, script)| {
        let session = Resource::session(json!({"files": {"script.sh": script}}));
        let steps = [Step::call("!bash script.sh", words, output), Step::use_session()];
        Attack::new(Kind::Sessions, name, Some(session), steps)
    });
    let calls = CALLS.into_iter().map(|(name, words, output, code)| {
        let steps = [Step::call(code, words, output), Step::use_session()];
        Attack::new(Kind::Sessions, name, Some(Resource::session(json!({}))), steps)
    });
    let queue = Step::post_bytes(CALL, bytes_of(&json!({"code": "1"})), 80, &["none", "busy"]);
    let open = Step::post_bytes("/v1/sessions", bytes_of(&json!({"ttl_seconds": 5})), 64, &[DONE, "too_many_sessions"]);
    scripts.chain(calls).chain([
        Attack::new(Kind::Sessions, "calls-at-once", Some(Resource::session(json!({}))), [queue]),
        Attack::new(Kind::Sessions, "left-open", None, [open]),
    ])
}

/// Changes files as fast as it can, for a second and a half.
const CHANGES: &str = "
import os, time
end = time.time() + 1.5
while time.time() < end:
    for _ in range(1000):
        open('seen/a', 'w').close()
        os.rename('seen/a', 'seen/b')
        os.unlink('seen/b')
";

fn streams() -> impl Iterator<Item = Attack> {
    let unread = |request, copies| {
        vec![
            Step::call("import os\nos.mkdir('seen')\nopen('large', 'wb').write(bytes(30 << 20))", &["none"], ""),
            Step::Stream { request, copies },
            Step::call(CHANGES, LONG, ""),
            Step::use_session(),
        ]
    };
    let flood = Request::call(
        "import sys\nwhile True:\n    print('o')\n    print('e', file=sys.stderr)",
        json!({"wall_seconds": WALL_SECONDS, "output_bytes": 4 << 20}),
    );
    let displays = Request::call("for _ in range(3000): display('x' * 10_000)", json!({}));
    [
        ("watches", unread(Request::get("/v1/sessions/{id}/files?watch&path=seen"), 16)),
        ("watches-of-all", unread(Request::get("/v1/sessions/{id}/files?watch&path=.&recursive=true"), 16)),
        ("output", unread(flood, 4)),
        ("displays", unread(displays, 8)),
        ("downloads", unread(Request::get("/v1/sessions/{id}/files/large"), 16)),
    ]
    .into_iter()
    .map(|(name, steps)| Attack::new(Kind::Streams, name, Some(Resource::session(json!({}))), steps))
}

/// A submission with so many JSON values in it, and a few more. Without `code` it is refused once all of it is parsed.
fn body_of_values(count: usize, code: &str) -> Bytes {
    let args = "1,".repeat(count - 1);
    let cases = format!(r#"[{{"args":[{args}1],"expected":1}}]"#);
    format!(r#"{{{code}"tests":{{"kind":"function_cases","entry_point":"f","cases":{cases}}}}}"#).into()
}

fn bodies() -> impl Iterator<Item = Attack> {
    const EXECUTE: &str = "/v1/execute";
    const MALFORMED: &[&str] = &["malformed_request", "memory_full"];
    const TOO_MANY: &[&str] = &["too_many_values", "memory_full"];
    let nested = |count| format!(r#"{{"code":"1","tests":{}"#, "[".repeat(count));
    let members: String = (0..400_000).map(|number| format!(r#""m{number}":0,"#)).collect();
    let item = |number: usize| json!({"id": number.to_string(), "code": "1"});
    let cases = json!([{"args": vec![1; 30_000], "expected": 1}]);
    let copied = json!({
        "defaults": {"tests": {"kind": "function_cases", "entry_point": "f", "cases": cases}},
        "items": (0..100).map(item).collect::<Vec<_>>(),
    });
    let large = json!({"code": "print(1)", "files": {"large": "x".repeat(8 << 20)}});
    let fetched = json!({"code": "open('large', 'wb').write(bytes(8 << 20))", "fetch_files": ["large"]});
    let digits = format!(r#"{{"code":"1","limits":{{"fuel":{}}}}}"#, "9".repeat(4 << 20));
    [
        ("15-million-values", EXECUTE, body_of_values(15_000_000, r#""code":"1","#), 3, TOO_MANY),
        ("a-million-values", EXECUTE, body_of_values(999_900, ""), 3, MALFORMED),
        ("nested-900000-deep", EXECUTE, nested(900_000).into(), 3, MALFORMED),
        ("nested-10-million-deep", EXECUTE, nested(10_000_000).into(), 3, TOO_MANY),
        ("members", EXECUTE, format!(r#"{{{members}"code":"1"}}"#).into(), 3, MALFORMED),
        ("digits", EXECUTE, digits.into(), 3, MALFORMED),
        ("large-files", EXECUTE, bytes_of(&large), 12, &["none", "memory_full"]),
        ("large-answers", EXECUTE, bytes_of(&fetched), 12, &["none", "memory_full"]),
        ("copied-defaults", "/v1/suites", bytes_of(&copied), 3, &["too_large", "memory_full"]),
    ]
    .into_iter()
    .map(|(name, path, body, copies, words)| {
        Attack::new(Kind::Bodies, name, None, [Step::post_bytes(path, body, copies, words)])
    })
}

/// Text that no compression makes much smaller.
fn noise(length: usize) -> String {
    let mut random = SplitMix64::new(1);
    let letters = std::iter::repeat_with(|| char::from(b'a' + (random.next() % 26) as u8));
    letters.take(length).collect()
}

fn storage() -> impl Iterator<Item = Attack> {
    let session = || Some(Resource::session(json!({})));
    let fill = || Step::call("import os\nkept = os.urandom(8 << 20)\nlen(kept)", &["none"], "");
    let save = || Step::post("/v1/sessions/{id}/checkpoints", &json!({}), WRITTEN);
    let fork = json!({"count": 16, "ttl_seconds": 5});
    let fork = Step::post("/v1/sessions/{id}/fork", &fork, &[DONE, "too_many_sessions"]);
    let put = |path, word| {
        let request = Request { method: Method::PUT, path, body: vec![b'x'; 24 << 20].into() };
        Step::Send { request, copies: 1, ends: Ends::of(word) }
    };
    // 72 MiB, where a session may have 64.
    let files = [
        put("/v1/sessions/{id}/files/a", &[DONE]),
        put("/v1/sessions/{id}/files/b", &[DONE]),
        put("/v1/sessions/{id}/files/c", &["no_space"]),
    ];
    let job = bytes_of(&json!({"code": format!("# {}", noise(1_000_000))}));
    let [(_, _, _, pwrite), ..] = HOST_CALLS;
    let pwrite = json!({"code": format!("{IMPORTS}{pwrite}"), "limits": {"wall_seconds": WALL_SECONDS}});
    let results = Request::get("/v1/jobs/{id}/results?follow=true");
    let results = Step::Send { request: results, copies: 1, ends: Ends::of(ENDLESS) };
    [
        Attack::new(Kind::Storage, "checkpoints", session(), [fill(), save(), save(), save(), save()]),
        Attack::new(Kind::Storage, "forks", session(), [fill(), fork]),
        Attack::new(Kind::Storage, "files", session(), files),
        Attack::new(Kind::Storage, "jobs", None, [Step::post_bytes("/v1/jobs", job, 4, WRITTEN)]),
        Attack::new(Kind::Storage, "job-that-writes", Some(Resource::job(&pwrite)), [results]),
    ]
    .into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, retry_after: Option<u64>, body: &Json) -> Reply {
        let status = StatusCode::from_u16(status).expect("it is a status");
        Reply { status, retry_after, body: bytes_of(body) }
    }

    fn result(class: &str, seconds: f64) -> Reply {
        let limits = json!({"wall_seconds": 2.0});
        let result = json!({"stderr_class": class, "execution_seconds": seconds, "limits": limits, "stdout": "out",
            "stderr": "err"});
        reply(200, None, &result)
    }

    fn refusal(status: u16, retry_after: Option<u64>, code: &str) -> Reply {
        reply(status, retry_after, &json!({"error": {"code": code, "message": "no"}}))
    }

    fn is_wrong(ends: &Ends, reply: &Reply) -> bool {
        matches!(ends.check(reply), Verdict::Wrong(_))
    }

    #[test]
    fn a_result_has_one_of_the_classes_the_output_and_the_time() {
        let ends = Ends::With { words: ENDLESS, output: "err" };
        assert_eq!(ends.check(&result("timeout", 2.1)), Verdict::Right("timeout".to_owned()));
        assert!(is_wrong(&ends, &result("infrastructure_error", 2.1)));
        assert!(is_wrong(&ends, &result("timeout", 5.0)));
        assert!(is_wrong(&Ends::With { words: ENDLESS, output: "else" }, &result("timeout", 2.1)));
        assert!(is_wrong(&ends, &reply(200, None, &json!({}))));
        assert!(is_wrong(&Ends::done(), &result("timeout", 2.1)));
        assert_eq!(Ends::done().check(&reply(201, None, &json!({}))), Verdict::Right(DONE.to_owned()));
    }

    #[test]
    fn a_refusal_is_expected_or_one_that_any_client_may_hear() {
        let ends = Ends::of(&["store_full", "memory_full"]);
        assert_eq!(ends.check(&refusal(507, None, "store_full")), Verdict::Right("store_full".to_owned()));
        assert_eq!(ends.check(&refusal(503, Some(1), "memory_full")), Verdict::Right("memory_full".to_owned()));
        assert_eq!(ends.check(&refusal(429, Some(1), "busy")), Verdict::Refused("busy".to_owned()));
        assert!(is_wrong(&ends, &refusal(429, None, "busy")));
        assert!(is_wrong(&ends, &refusal(503, Some(1), "not_ready")));
        assert!(is_wrong(&ends, &refusal(410, None, "session_lost")));
        assert!(is_wrong(&ends, &reply(500, None, &json!({}))));
    }

    #[test]
    fn attacks_have_names_of_their_own() {
        let mut names: Vec<String> = all().into_iter().map(|attack| attack.name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn bodies_have_as_many_values_as_they_say() {
        let body: Json = serde_json::from_slice(&body_of_values(1000, r#""code":"1","#)).expect("it is JSON");
        assert_eq!(body["tests"]["cases"][0]["args"].as_array().map(Vec::len), Some(1000));
        let body: Json = serde_json::from_slice(&body_of_values(2, "")).expect("it is JSON");
        assert_eq!(body["code"], Json::Null);
    }
}
