//! Real programs with known outcomes, from JSON-lines files, as requests to the service.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use crate::answer::Expected;
use crate::request::ExecuteRequest;

/// Longer lines are not cases.
const MAX_LINE_BYTES: u64 = 16 << 20;
/// Of one file.
const MAX_CASES: usize = 100_000;
/// Seed of the order. Any constant does: the order is to be mixed, and the same every time.
const ORDER_SEED: u64 = 0x70_72_6f_6f_66_62_6f_78;

/// Interpreter in which the tests of a case run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grading {
    /// In the snippet's interpreter, as with plain Python.
    InProcess,
    /// In one of their own: what a request gets that says nothing.
    Isolated,
}

impl Grading {
    /// Returns the word of the wire.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::InProcess => "in_process",
            Self::Isolated => "isolated",
        }
    }
}

/// Selection of the cases of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub grading: Grading,
    /// Maximum time in a plain interpreter: slower cases are left out.
    pub most_native: Duration,
}

/// Cases of several files, mixed.
#[derive(Debug)]
pub(crate) struct Cases {
    /// In a fixed pseudo-random order.
    pub requests: Vec<ExecuteRequest>,
    /// Cases that are not sent: of another kind, or too slow.
    pub skipped: usize,
}

/// The fields of a case that make a request; the others are left alone.
#[derive(Deserialize)]
struct Case {
    id: String,
    kind: String,
    code: String,
    #[serde(default)]
    setup: String,
    tests: Json,
    entry_point: Option<String>,
    expect: Expect,
    native: Native,
}

/// Outcome in a plain interpreter.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Native {
    /// Milliseconds: an upper bound.
    ms: f64,
}

#[derive(Deserialize)]
struct Expect {
    passed: u64,
    total: u64,
}

#[derive(Deserialize)]
struct StdinCase {
    stdin: String,
    expected_stdout: String,
}

impl Cases {
    /// Reads `SET.jsonl` of the directory, for each set.
    ///
    /// # Errors
    /// When a file cannot be read, or a line of it is not a case.
    pub(crate) fn read(directory: &Path, sets: &[String], choice: Choice) -> anyhow::Result<Self> {
        let mut cases = Self { requests: Vec::new(), skipped: 0 };
        for set in sets {
            let path = directory.join(format!("{set}.jsonl"));
            cases.read_file(&path, choice).with_context(|| format!("reading cases from {}", path.display()))?;
        }
        mix(&mut cases.requests);
        Ok(cases)
    }

    fn read_file(&mut self, path: &Path, choice: Choice) -> anyhow::Result<()> {
        for (number, case) in read_lines::<Case>(path)?.into_iter().enumerate() {
            match request_of(&case, choice).with_context(|| format!("line {}, {}", number + 1, case.id))? {
                Some(request) => self.requests.push(request),
                None => self.skipped += 1,
            }
        }
        Ok(())
    }
}

/// The lines of a file.
///
/// # Errors
/// When it cannot be read, or a line is not what it should be.
pub(crate) fn read_lines<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Vec<T>> {
    let mut reader = BufReader::new(File::open(path)?);
    let mut lines = Vec::new();
    for number in 1..=MAX_CASES {
        let mut line = Vec::new();
        reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            break;
        }
        lines.push(serde_json::from_slice(&line).with_context(|| format!("line {number}"))?);
    }
    Ok(lines)
}

/// `None` for what is not sent.
fn request_of(case: &Case, choice: Choice) -> anyhow::Result<Option<ExecuteRequest>> {
    if case.native.ms > choice.most_native.as_secs_f64() * 1e3 {
        return Ok(None);
    }
    let (code, grading) = (&case.code, choice.grading.as_str());
    let body = match case.kind.as_str() {
        "asserts" => {
            json!({"code": code, "tests": {"kind": "asserts", "asserts": case.tests, "setup": case.setup}, "grading": grading})
        }
        "check_function" => {
            let entry_point = case.entry_point.as_deref().context("it has no entry_point")?;
            json!({"code": code, "tests": {"kind": "check_function", "source": case.tests, "entry_point": entry_point}, "grading": grading})
        }
        "stdin_stdout" => {
            let cases: Vec<StdinCase> = Deserialize::deserialize(&case.tests).context("tests of stdin_stdout")?;
            let cases: Vec<Json> = cases
                .into_iter()
                .map(|case| json!({"stdin": case.stdin, "expected_stdout": case.expected_stdout}))
                .collect();
            json!({"code": code, "tests": {"kind": "stdin_stdout", "cases": cases}})
        }
        _ => return Ok(None),
    };
    let Expect { passed, total } = case.expect;
    ensure!(passed <= total, "it expects {passed} of {total}");
    let body = serde_json::to_vec(&body).context("writing a request")?;
    Ok(Some(ExecuteRequest { name: case.id.clone(), body: body.into(), expected: Expected::Grades { passed, total } }))
}

/// Puts them into a fixed pseudo-random order, by Fisher and Yates's shuffle.
pub(crate) fn mix<T>(items: &mut [T]) {
    let mut random = SplitMix64::new(ORDER_SEED);
    for last in (1..items.len()).rev() {
        let chosen = random.next() % (last as u64 + 1);
        items.swap(last, chosen as usize);
    }
}

/// Steele, Lea and Flood's generator: small, and good enough to mix with.
pub(crate) struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(case: Json) -> anyhow::Result<Option<(Json, Expected)>> {
        let case: Case = serde_json::from_value(case).expect("the test's case is one");
        let choice = Choice { grading: Grading::InProcess, most_native: Duration::from_secs(10) };
        let request = request_of(&case, choice)?;
        Ok(request.map(|request| (serde_json::from_slice(&request.body).expect("it is JSON"), request.expected)))
    }

    #[test]
    fn each_kind_becomes_the_service_s_request() {
        let expect = json!({"passed": 1, "total": 2});
        let asserts = json!({"id": "a", "kind": "asserts", "code": "x = 1", "setup": "import re", "tests": ["assert x"], "expect": expect, "native": {}});
        assert_eq!(
            request(asserts).expect("it is valid"),
            Some((
                json!({"code": "x = 1", "tests": {"kind": "asserts", "asserts": ["assert x"], "setup": "import re"}, "grading": "in_process"}),
                Expected::Grades { passed: 1, total: 2 },
            ))
        );
        let check = json!({"id": "c", "kind": "check_function", "code": "def f(): pass", "tests": "def check(c): pass", "entry_point": "f", "expect": expect, "native": {}});
        assert_eq!(
            request(check).expect("it is valid").expect("it is sent").0,
            json!({"code": "def f(): pass", "tests": {"kind": "check_function", "source": "def check(c): pass", "entry_point": "f"}, "grading": "in_process"})
        );
        let stdin = json!({"id": "s", "kind": "stdin_stdout", "code": "print(input())", "tests": [{"name": "1", "stdin": "a", "expected_stdout": "a"}], "expect": expect, "native": {}});
        assert_eq!(
            request(stdin).expect("it is valid").expect("it is sent").0,
            json!({"code": "print(input())", "tests": {"kind": "stdin_stdout", "cases": [{"stdin": "a", "expected_stdout": "a"}]}})
        );
    }

    #[test]
    fn other_kinds_are_not_sent() {
        let case = json!({"id": "u", "kind": "unittest", "code": "", "tests": "", "expect": {"passed": 1, "total": 1}, "native": {}});
        assert_eq!(request(case).expect("it is valid"), None);
    }

    #[test]
    fn slow_cases_are_left_out() {
        let case = json!({"id": "s", "kind": "asserts", "code": "", "tests": [], "expect": {"passed": 0, "total": 0}, "native": {"ms": 10_001}});
        assert_eq!(request(case).expect("it is valid"), None);
    }

    #[test]
    fn the_order_is_mixed_and_always_the_same() {
        let mixed = || {
            let mut items: Vec<u32> = (0..100).collect();
            mix(&mut items);
            items
        };
        let mut sorted = mixed();
        assert_eq!(mixed(), sorted);
        assert_ne!(sorted, (0..100).collect::<Vec<_>>());
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }
}
