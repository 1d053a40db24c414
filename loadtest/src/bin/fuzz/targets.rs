//! What is tried: each parser with honest inputs, and words that mean something to it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use futures_util::future::BoxFuture;
use proofbox::config::{Config, RuntimeSettings, SandboxSettings, ServerSettings};
use proofbox::http::fuzz_targets as http;
use proofbox_policy::Pack;
use proofbox_runtime::image::Image;
use proofbox_runtime::session::{NoCommands, Session};
use proofbox_runtime::{InterpreterPool, fuzz_targets as runtime};
use proofbox_shell::{Host, Processes, PythonStart, Reader, Script, Writer};
use proofbox_types::grant::Limits;
use proofbox_types::session::{Cell, CellLimits, DEFAULT_CONTEXT, Opening};
use proofbox_types::value::Value;
use proofbox_vfs::{Credentials, FilesQuota, SharedTree, Tree, User};
use proofbox_worker::fuzz_targets as worker;
use serde_json::json;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// Gives a parser these bytes; whether it took them.
pub(crate) type Attempt = Box<dyn FnMut(&[u8]) -> bool>;

/// A parser.
pub(crate) struct Target {
    pub name: &'static str,
    /// Parser under test, and how it is called.
    pub set_up: fn() -> anyhow::Result<Set>,
}

/// Inputs that a parser is tried with.
pub(crate) struct Set {
    /// Honest inputs: each is accepted.
    pub seeds: Vec<Vec<u8>>,
    /// Tokens that mutation inserts.
    pub words: Vec<Vec<u8>>,
    /// Gives it an input; whether that was accepted.
    pub attempt: Attempt,
}

/// Returns all targets.
pub(crate) const TARGETS: &[Target] = &[
    Target { name: "values", set_up: values },
    Target { name: "report", set_up: report },
    Target { name: "bridge", set_up: bridge },
    Target { name: "frames", set_up: frames },
    Target { name: "checkpoint", set_up: checkpoint },
    Target { name: "checkpoint-bytes", set_up: checkpoint_bytes },
    Target { name: "execute", set_up: execute },
    Target { name: "suite", set_up: suite },
    Target { name: "envelopes", set_up: envelopes },
    Target { name: "gzip", set_up: gzip },
    Target { name: "pickle", set_up: pickle },
    Target { name: "pack", set_up: pack },
    Target { name: "shell", set_up: script },
];

fn words(words: &[&str]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

fn limits() -> Limits {
    Limits {
        fuel: 200_000_000,
        wall: Duration::from_secs(2),
        memory_bytes: 128 << 20,
        output_bytes: 64 << 10,
        files_bytes: 4 << 20,
        files_count: 256,
    }
}

fn single_threaded() -> anyhow::Result<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

fn text(text: &str) -> Value {
    Value::Str(text.to_owned())
}

fn sample() -> Value {
    Value::Tuple(vec![
        Value::None,
        Value::Bool(true),
        Value::Int(-5),
        Value::BigInt(vec![0; 20]),
        Value::Float(0.5),
        Value::Complex(1.0, -0.0),
        text("é\u{202e}"),
        Value::Surrogates(b"\xed\xa0\x80".to_vec()),
        Value::Bytes(b"bytes".to_vec()),
        Value::List(vec![Value::Int(1), Value::Reference(0)]),
        Value::Set(vec![Value::Int(1)]),
        Value::Dict(vec![(text("key"), Value::List(Vec::new()))]),
        Value::Extended("datetime.date".to_owned(), Box::new(Value::Tuple(vec![Value::Int(2024)]))),
        Value::Opaque { type_name: "object".to_owned(), repr: "<object>".to_owned() },
    ])
}

fn encoded(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.encode(&mut bytes);
    bytes
}

fn values() -> anyhow::Result<Set> {
    let attempt = |input: &[u8]| {
        let Ok(value) = Value::decode(input) else { return false };
        // What was read can be told, and read again as the same.
        drop(value.to_json().to_string());
        assert_eq!(encoded(&Value::decode(&encoded(&value)).expect("it was written by us")), encoded(&value));
        value.is_plain();
        if let Ok(again) = Value::from_json(&value.to_json()) {
            drop(encoded(&again));
        }
        true
    };
    Ok(Set { seeds: vec![encoded(&sample()), encoded(&Value::Int(1))], words: Vec::new(), attempt: Box::new(attempt) })
}

/// Messages in one input: each after its length in two bytes; the last may be cut off.
fn joined(messages: &[Vec<u8>]) -> Vec<u8> {
    let length = |message: &Vec<u8>| u16::try_from(message.len()).unwrap_or(u16::MAX).to_le_bytes();
    messages.iter().flat_map(|message| [length(message).to_vec(), message.clone()].concat()).collect()
}

fn split(mut input: &[u8]) -> Vec<&[u8]> {
    let mut messages = Vec::new();
    while let Some((length, rest)) = input.split_first_chunk::<2>() {
        let (message, rest) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
        messages.push(message);
        input = rest;
    }
    messages
}

fn report() -> anyhow::Result<Set> {
    let tell = |fields: Vec<Value>| encoded(&Value::Tuple(fields));
    let error = Value::Tuple(vec![
        text("exception"),
        text("ValueError"),
        text("no"),
        Value::Int(3),
        Value::List(vec![Value::Tuple(vec![text("solution.py"), Value::Int(3), text("f"), text("x = 1")])]),
    ]);
    let messages = [
        tell(vec![text("started")]),
        tell(vec![text("plan"), Value::List(vec![text("first"), text("second")])]),
        tell(vec![text("compiled"), Value::Bool(true)]),
        tell(vec![text("case_begin"), Value::Int(0)]),
        tell(vec![text("case_value"), Value::Int(0), sample()]),
        tell(vec![text("case_end"), Value::Int(0), text("passed"), Value::None]),
        tell(vec![text("case_begin"), Value::Int(1)]),
        tell(vec![text("case_end"), Value::Int(1), text("failed"), error.clone()]),
        tell(vec![text("attempt"), text("network"), text("socket.connect"), text("example.org")]),
        tell(vec![text("result"), sample()]),
        tell(vec![text("error"), error]),
        tell(vec![text("signals"), Value::List(vec![text("process_exit")])]),
    ];
    let attempt = |input: &[u8]| {
        let report = runtime::report(split(input));
        report.compiled.is_some() || !report.plan.is_empty()
    };
    let names = ["plan", "compiled", "case_begin", "case_end", "case_value", "result", "error", "signals", "attempt"];
    Ok(Set { seeds: vec![joined(&messages)], words: words(&names), attempt: Box::new(attempt) })
}

fn bridge() -> anyhow::Result<Set> {
    // Whose, which kind, and what.
    let says = |graders: u8, kind: u8, message: &[u8]| [&[graders, kind], message].concat();
    let honest = [
        says(0, 0, b""),
        says(1, 1, b"call"),
        says(0, 1, b"callback"),
        says(1, 2, b"answer"),
        says(0, 2, b"result"),
        says(1, 101, b""),
        says(0, 102, b""),
        says(1, 1, b"again"),
    ];
    let limits = limits();
    let attempt = move |input: &[u8]| {
        let moves = split(input).into_iter().filter_map(|message| {
            let (&[graders, kind], message) = message.split_first_chunk::<2>()?;
            Some((graders & 1 == 1, i32::from(kind), message))
        });
        runtime::channel_messages(moves, &limits);
        true
    };
    Ok(Set { seeds: vec![joined(&honest)], words: Vec::new(), attempt: Box::new(attempt) })
}

fn frames() -> anyhow::Result<Set> {
    let framed = |content: &Vec<u8>| [&(content.len() as u32).to_be_bytes(), content.as_slice()].concat();
    let honest: Vec<Vec<u8>> = worker::honest([]).iter().map(framed).collect();
    let all = honest.concat();
    let attempt = |input: &[u8]| worker::frames(input) > 0;
    Ok(Set { seeds: honest.into_iter().chain([all]).collect(), words: Vec::new(), attempt: Box::new(attempt) })
}

/// A worker's side of sessions, and the bytes of an honest one.
struct Sessions {
    runtime: Runtime,
    pool: Arc<InterpreterPool>,
    honest: Vec<u8>,
}

impl Sessions {
    fn new() -> anyhow::Result<Self> {
        let config =
            Config::new(RuntimeSettings::default(), SandboxSettings::default(), ServerSettings::default(), None)?;
        let image = Image::ready(&config.image)?;
        let pool = InterpreterPool::new(&[image.pool_files()], None, 2, 40, 128 << 20)
            .map_err(|error| anyhow::anyhow!("loading the image: {error:#}"))?;
        let (runtime, pool) = (single_threaded()?, Arc::new(pool));
        let made = Arc::clone(&pool);
        let honest = runtime.block_on(async move {
            let opening = Opening { limits: limits(), env: vec![("A".to_owned(), "b".to_owned())], files: Vec::new(), image: None };
            let session = Session::open(made, Arc::new(NoCommands), opening)?;
            let source = "kept = list(range(50))\nfile = open('a.txt', 'w')\nfile.write('text')\nimport os\nos.mkdir('d')\nos.symlink('a.txt', 'd/l')";
            anyhow::Ok((call(&session, source).await, session.save().await?))
        });
        let (fine, honest) = honest.context("making a session")?;
        ensure!(fine, "the first call of a session failed");
        Ok(Self { runtime, pool, honest })
    }

    /// Loads a session, uses it, and saves it again; whether it was accepted.
    fn attempt(&self, bytes: Vec<u8>) -> bool {
        self.runtime.block_on(async {
            let loaded =
                Session::load(Arc::clone(&self.pool), Arc::new(NoCommands), bytes, None, limits(), Vec::new()).await;
            let Ok(session) = loaded else { return false };
            // What its memory makes of it is the guest's affair.
            call(&session, "open('a.txt').read()\nlen(kept)").await;
            drop(session.fork(Arc::new(NoCommands)).await);
            drop(session.save().await);
            session.close();
            true
        })
    }
}

async fn call(session: &Session, source: &str) -> bool {
    let cell = Cell { source: source.to_owned(), ..Cell::default() };
    let limits = CellLimits { fuel: 50_000_000, ..CellLimits::from(&limits()) };
    let outcome = session.call(DEFAULT_CONTEXT, &cell, &limits, None, &CancellationToken::new()).await;
    outcome.is_ok_and(|outcome| outcome.raised.is_none())
}

/// A checkpoint's content: its format and length stand before it, and it is compressed.
const HEAD: usize = 9;

/// Mutates what a checkpoint holds.
fn checkpoint() -> anyhow::Result<Set> {
    let sessions = Sessions::new()?;
    let (head, packed) = sessions.honest.split_at_checked(HEAD).context("a checkpoint has a head")?;
    let (format, plain) = (head[0], zstd::decode_all(packed)?);
    let attempt = move |input: &[u8]| {
        let mut bytes = vec![format];
        bytes.extend_from_slice(&(input.len() as u64).to_le_bytes());
        bytes.extend(zstd::encode_all(input, 1).expect("there is memory"));
        sessions.attempt(bytes)
    };
    Ok(Set { seeds: vec![plain], words: words(&["a.txt", "..", "/", "d"]), attempt: Box::new(attempt) })
}

/// Mutates its bytes as they are stored.
fn checkpoint_bytes() -> anyhow::Result<Set> {
    let sessions = Sessions::new()?;
    let seeds = vec![sessions.honest.clone()];
    Ok(Set { seeds, words: Vec::new(), attempt: Box::new(move |input: &[u8]| sessions.attempt(input.to_vec())) })
}

fn request() -> serde_json::Value {
    json!({
        "code": "def add(a, b):\n    return a + b", "stdin": "1\n", "args": ["a"], "env": {"A": "b"},
        "files": {"a.txt": "text", "b.bin": {"base64": "AAEC"}}, "fetch_files": ["*.txt"], "policy": "default",
        "limits": {"fuel": 1000, "wall_seconds": 1.5, "memory_bytes": 200_000_000},
        "tests": {"kind": "asserts", "asserts": ["assert add(1, 2) == 3"]}, "grading": "isolated",
        "labels": {"task": "1"}, "lint": true, "result": {"variable": "x"}, "deterministic": true
    })
}

const FIELDS: &[&str] = &[
    "\"completion\":\"```python\\nx\\n```\"",
    "\"kind\":\"stdin_stdout\"",
    "\"kind\":\"script\"",
    "\"cases\":[{}]",
    "\"kind\":\"function_cases\"",
    "\"kind\":\"unittest\"",
    "\"expected_stdout\":\"\"",
    "null",
    "true",
    "[]",
    "{}",
    "1e400",
    "\\ud800",
    "\\u0000",
    ",",
    ":",
    "\"",
    "{\"code\":",
    "[[[[[[[[",
    "\"../a\"",
    "\"repeat\":3",
    "\"compare\":\"exact\"",
];

fn execute() -> anyhow::Result<Set> {
    let mut seeds = vec![json!({"code": "1"}).to_string()];
    let mut whole = request();
    // What a request may hold is for its own tests: here it only has to be accepted.
    if !http::execute(whole.to_string().as_bytes()) {
        for field in ["result", "deterministic", "grading", "lint"] {
            whole.as_object_mut().context("an object")?.remove(field);
        }
    }
    seeds.push(whole.to_string());
    let cases = json!([{"stdin": "1", "expected_stdout": "1"}]);
    seeds.push(json!({"code": "1", "tests": {"kind": "stdin_stdout", "cases": cases}}).to_string());
    let seeds = seeds.into_iter().map(String::into_bytes).collect();
    Ok(Set { seeds, words: words(FIELDS), attempt: Box::new(http::execute) })
}

fn suite() -> anyhow::Result<Set> {
    let items = json!([{"id": "a#1", "code": "1"}, {"id": "a#2", "task": "a", "code": "2", "labels": {"k": "v"}}]);
    let defaults = json!({"tests": {"kind": "asserts", "asserts": ["assert True"]}, "limits": {"fuel": 1000}});
    let whole = json!({"items": items, "defaults": defaults, "k": [1, 2]}).to_string();
    let lines = format!("{}\n{}\n{}\n", json!({"defaults": defaults, "k": [1]}), items[0], items[1]);
    let seeds = vec![whole.into_bytes(), lines.into_bytes()];
    let attempt = |input: &[u8]| {
        let both = [http::suite(input), http::suite_lines(input)];
        both.contains(&true)
    };
    Ok(Set { seeds, words: words(FIELDS), attempt: Box::new(attempt) })
}

fn envelopes() -> anyhow::Result<Set> {
    let part = |flags: u8, content: &str| {
        [&[flags], (content.len() as u32).to_be_bytes().as_slice(), content.as_bytes()].concat()
    };
    let honest = [part(0, "{\"process\":{\"cmd\":\"ls\"}}"), part(0, "{}"), part(2, "{}")].concat();
    let runtime = single_threaded()?;
    let attempt = move |input: &[u8]| {
        let whole = runtime.block_on(http::envelopes(input, input.len()));
        // However it comes, it is the same.
        assert_eq!(runtime.block_on(http::envelopes(input, 3)), whole);
        whole > 0
    };
    Ok(Set { seeds: vec![honest], words: words(&["{\"a\":", "}", "\0\0\0\0\x02{}"]), attempt: Box::new(attempt) })
}

fn gzip() -> anyhow::Result<Set> {
    use std::io::Write;
    let packed = |content: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(content).and_then(|()| encoder.finish())
    };
    let seeds = vec![packed(b"text")?, packed(&vec![0; 1 << 20])?];
    Ok(Set { seeds, words: Vec::new(), attempt: Box::new(|input: &[u8]| http::compressed(input).is_some()) })
}

/// Tests as open-instruct's data sets pickle them.
fn pickle() -> anyhow::Result<Set> {
    // ["ab", {"input": "1", "output": ["2", 3, 1.5, None]}]
    let second = b"\x80\x02](X\x02\x00\x00\x00abq\x00}(X\x05\x00\x00\x00inputX\x01\x00\x00\x001X\x06\x00\x00\x00output\
        ](X\x01\x00\x00\x002K\x03G?\xf8\x00\x00\x00\x00\x00\x00Neue.";
    let fourth = b"\x80\x04]\x94(\x8c\x02ab\x94}\x94(\x8c\x05input\x94\x8c\x011\x94\x8c\x06output\x94]\x94(\x8c\x012\
        K\x03G?\xf8\x00\x00\x00\x00\x00\x00Neue.";
    let words = words(&["h\0", "]\u{14}", "(", "e", "u", "}", "a", "s", "N", "."]);
    Ok(Set { seeds: vec![second.to_vec(), fourth.to_vec()], words, attempt: Box::new(http::pickled) })
}

fn pack() -> anyhow::Result<Set> {
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../policies"));
    let mut seeds = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        seeds.push(std::fs::read(entry?.path())?);
    }
    let attempt = |input: &[u8]| {
        let Ok(text) = std::str::from_utf8(input) else { return false };
        Pack::parse("tried", Path::new("tried.toml"), text).is_ok()
    };
    let tokens = [
        "[gate]",
        "[limits.fuel]",
        "default = ",
        "most = 0",
        "least = -1",
        "= nan",
        "= inf",
        "'''",
        "[[",
        "\"block\"",
        "*{a,b}**",
    ];
    Ok(Set { seeds, words: words(&tokens), attempt: Box::new(attempt) })
}

/// Nanoseconds since 1970, in scripts.
const NOW: u64 = 1_700_000_000_000_000_000;

/// A sandbox without Python.
struct Bare {
    tree: SharedTree,
    processes: Arc<Processes>,
}

impl Host for Bare {
    fn tree(&self) -> &SharedTree {
        &self.tree
    }

    fn processes(&self) -> &Arc<Processes> {
        &self.processes
    }

    fn now(&self) -> u64 {
        NOW
    }

    fn python(&self, _: PythonStart) -> BoxFuture<'_, i32> {
        Box::pin(async { 0 })
    }
}

fn script() -> anyhow::Result<Set> {
    let runtime = single_threaded()?;
    let attempt = move |input: &[u8]| {
        let text = String::from_utf8_lossy(input).into_owned();
        let quota = FilesQuota { bytes: 4 << 20, count: 1000 };
        let host = Bare { tree: SharedTree::new(Tree::new(quota, NOW)), processes: Arc::default() };
        let sink = || Writer::sink(Arc::new(|_: &[u8]| {}));
        let script = Script {
            number: None,
            text,
            args: Vec::new(),
            cwd: String::new(),
            env: Vec::new(),
            credentials: Credentials::of(User::User),
            stdin: Reader::empty(),
            stdout: sink(),
            stderr: sink(),
        };
        // A script may go on for ever, and must let others have their turn.
        let run = async { tokio::time::timeout(Duration::from_secs(2), proofbox_shell::run(&host, script)).await };
        runtime.block_on(run).is_ok()
    };
    let scripts = [
        include_str!("../../../../crates/shell/src/tests/expansions.txt"),
        include_str!("../../../../crates/shell/src/tests/files.txt"),
        include_str!("../../../../crates/shell/src/tests/language.txt"),
        include_str!("../../../../crates/shell/src/tests/mistakes.txt"),
        include_str!("../../../../crates/shell/src/tests/programs.txt"),
    ];
    let seeds = scripts.iter().flat_map(|scripts| scripts.split("\n---\n"));
    let seeds: Vec<_> = seeds.map(|script| script.as_bytes().to_vec()).collect();
    let tokens = [
        "$(",
        "`",
        "${",
        "}",
        "$((",
        "))",
        "<<<",
        "<<-E\n",
        "|&",
        "&",
        ";;",
        "while true; do",
        "done",
        "sed -E 's/(a*)*b/\\1/'",
        "grep -E '(a|aa)+$'",
        "{1..99999999}",
        "sleep 9",
        "yes",
        "seq 1 99999999",
        "[[",
        "]]",
        "!",
        "exec 3>&1",
        "find / -exec",
    ];
    Ok(Set { seeds, words: words(&tokens), attempt: Box::new(attempt) })
}
