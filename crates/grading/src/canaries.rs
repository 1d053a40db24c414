//! Looks for canaries in what a run gives out: one pass over each output, whatever is in it.
//!
//! Three readings of an output go through one automaton side by side: as it is, without white space, and with its
//! percent escapes undone.

use std::collections::BTreeSet;

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde::Serialize;
use utoipa::ToSchema;

use proofbox_types::canary::Canary;
use proofbox_types::outcome::{Attempt, Captured, ErrorReport, Outcome};
use proofbox_types::value::Value;
use proofbox_types::verdict::Verdict;

/// Bytes other than white space that a canary needs to be looked for with white space between: shorter ones are found
/// across the words of any text.
const SPLIT_FROM: usize = 8;

/// A canary that came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CanaryFound {
    /// Index of the canary in the request's list.
    pub index: usize,
    /// Places and encodings in which the canary appeared, each pair once.
    pub found: Vec<Sighting>,
}

/// Appearance of a canary in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
pub struct Sighting {
    /// Part of the answer that contains the canary.
    #[serde(rename = "where")]
    pub field: OutputField,
    /// Encoding of the canary there.
    pub encoding: Encoding,
}

/// Parts of an answer that a program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
// The name of the component in the OpenAPI document stays.
#[schema(as = Place)]
pub enum OutputField {
    /// Standard output of the snippet; of all runs of `stdin_stdout`.
    Stdout,
    /// Standard error of the snippet; of all runs of `stdin_stdout`.
    Stderr,
    /// The value asked for.
    Result,
    /// The exception: type, message, traceback.
    Error,
    /// Names and messages of cases, and what was printed in them.
    Cases,
    /// Evaluation that an evaluator returned.
    Evaluation,
    /// Output of the tests' interpreter.
    Grader,
    /// Files that were fetched: paths and contents.
    Files,
    /// Targets of attempts to cross the boundary.
    Boundary,
    /// Signals that quote the program.
    Integrity,
    /// Error of a measurement that failed.
    Complexity,
}

/// Encoding of a canary in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// Plain text of the canary.
    Plain,
    /// From its end to its beginning.
    Reversed,
    /// Two hexadecimal digits a byte.
    Hex,
    /// Base64 of it, or of something that it is a part of.
    Base64,
    /// With some or all bytes as `%20`.
    Percent,
    /// With white space between.
    Split,
}

/// An automaton for the canaries of one request.
pub struct Finder {
    automaton: NFA,
    start: StateID,
    /// Canary's index and form, by pattern number.
    patterns: Vec<(usize, Form)>,
    canaries: usize,
}

/// Form of a canary in a pattern of the automaton.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    /// Without its own white space, or as it is where it has none.
    Squeezed,
    /// With `+` for spaces, as forms have it.
    Plus,
    Reversed,
    Hex,
    Base64,
}

/// A reading of an output.
#[derive(Clone, Copy)]
enum Reading {
    Raw,
    /// Output without its white space.
    Squeezed,
    /// With percent escapes undone.
    Unescaped,
}

impl Form {
    /// Returns the encoding for a canary that is found in this form in this reading, or `None` where the match is not
    /// one.
    fn read(self, reading: Reading) -> Option<Encoding> {
        match (reading, self) {
            (Reading::Raw, Form::Plain) => Some(Encoding::Plain),
            (Reading::Raw, Form::Reversed) => Some(Encoding::Reversed),
            // In lines, or in groups of digits.
            (Reading::Raw | Reading::Squeezed, Form::Hex) => Some(Encoding::Hex),
            (Reading::Raw | Reading::Squeezed, Form::Base64) => Some(Encoding::Base64),
            (Reading::Squeezed, Form::Squeezed) => Some(Encoding::Split),
            (Reading::Unescaped, Form::Plain | Form::Plus) => Some(Encoding::Percent),
            (Reading::Raw, Form::Squeezed | Form::Plus)
            | (Reading::Squeezed, Form::Plain | Form::Plus | Form::Reversed)
            | (Reading::Unescaped, Form::Squeezed | Form::Reversed | Form::Hex | Form::Base64) => None,
        }
    }
}

impl Finder {
    /// Builds the automaton, or returns `None` when there are no canaries.
    pub fn new(canaries: &[Canary]) -> Option<Self> {
        if canaries.is_empty() {
            return None;
        }
        let (mut patterns, mut texts) = (Vec::new(), Vec::new());
        for (index, canary) in canaries.iter().enumerate() {
            for (form, text) in forms(canary.secret()) {
                patterns.push((index, form));
                texts.push(text);
            }
        }
        let automaton = NFA::builder()
            .match_kind(MatchKind::Standard)
            .build(&texts)
            .expect("32 canaries of 1 KiB make far fewer states than there can be");
        let start = automaton.start_state(Anchored::No).expect("searches are not anchored unless that is asked for");
        Some(Self { automaton, start, patterns, canaries: canaries.len() })
    }

    /// Searches everything that one execution gives out.
    pub fn find(&self, verdict: &Verdict, outcomes: &[Outcome]) -> Vec<CanaryFound> {
        let mut search = Search::new(self);
        for outcome in outcomes {
            search.outcome(outcome);
        }
        if let Some(error) = &verdict.error {
            search.error(error);
        }
        search.search_field(OutputField::Cases, |scan| {
            for case in &verdict.cases {
                scan.part(case.name.as_bytes());
                scan.part(case.stdout.as_bytes());
                scan.part(case.message.as_deref().unwrap_or_default().as_bytes());
            }
        });
        search.search_field(OutputField::Integrity, |scan| {
            verdict.integrity.signals.iter().for_each(|signal| scan.part(signal.as_bytes()));
        });
        search.finish()
    }

    /// Searches one text from one field of the answer.
    pub fn find_in(&self, field: OutputField, text: &str) -> Vec<CanaryFound> {
        let mut search = Search::new(self);
        search.search_field(field, |scan| scan.part(text.as_bytes()));
        search.finish()
    }
}

/// Adds what was found elsewhere.
pub fn merge(all: &mut Vec<CanaryFound>, more: Vec<CanaryFound>) {
    for one in more {
        match all.iter_mut().find(|known| known.index == one.index) {
            Some(known) => {
                known.found.extend(one.found);
                known.found.sort_unstable();
                known.found.dedup();
            }
            None => all.push(one),
        }
    }
    all.sort_unstable_by_key(|found| found.index);
}

/// A canary as it may be written.
fn forms(canary: &str) -> Vec<(Form, Vec<u8>)> {
    let bytes = canary.as_bytes();
    let squeezed: Vec<u8> = bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let mut forms = vec![(Form::Plain, bytes.to_vec())];
    if squeezed.len() >= SPLIT_FROM {
        forms.push((Form::Squeezed, squeezed));
    }
    if canary.contains(' ') {
        forms.push((Form::Plus, canary.replace(' ', "+").into_bytes()));
    }
    // By characters, as Python does it, and by bytes.
    let mut reversed = vec![canary.chars().rev().collect::<String>().into_bytes()];
    reversed.push(bytes.iter().rev().copied().collect());
    reversed.dedup();
    forms.extend(reversed.into_iter().filter(|text| text != bytes).map(|text| (Form::Reversed, text)));
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut hex = vec![hex.to_uppercase().into_bytes(), hex.into_bytes()];
    hex.dedup();
    forms.extend(hex.into_iter().map(|text| (Form::Hex, text)));
    let mut base64: BTreeSet<Vec<u8>> = BTreeSet::new();
    for before in 0..3 {
        let mut whole = vec![0; before];
        whole.extend_from_slice(bytes);
        // The characters that stand for bits of the canary alone.
        let known = (before * 8).div_ceil(6)..whole.len() * 8 / 6;
        for text in [STANDARD_NO_PAD.encode(&whole), URL_SAFE_NO_PAD.encode(&whole)] {
            base64.insert(text.as_bytes()[known.clone()].to_vec());
        }
    }
    forms.extend(base64.into_iter().map(|text| (Form::Base64, text)));
    forms
}

/// State of a search, with the canaries found so far.
struct Search<'a> {
    finder: &'a Finder,
    found: Vec<BTreeSet<Sighting>>,
}

impl<'a> Search<'a> {
    fn new(finder: &'a Finder) -> Self {
        Self { finder, found: vec![BTreeSet::new(); finder.canaries] }
    }

    fn finish(self) -> Vec<CanaryFound> {
        let found = self.found.into_iter().enumerate().filter(|(_, found)| !found.is_empty());
        found.map(|(index, found)| CanaryFound { index, found: found.into_iter().collect() }).collect()
    }

    fn outcome(&mut self, outcome: &Outcome) {
        self.captured(OutputField::Stdout, &outcome.stdout);
        self.captured(OutputField::Stderr, &outcome.stderr);
        if let Some(value) = &outcome.report.result {
            self.search_field(OutputField::Result, |scan| scan.value(value));
        }
        if let Some(error) = &outcome.report.error {
            self.error(error);
        }
        if let Some(value) = &outcome.report.evaluation {
            self.search_field(OutputField::Evaluation, |scan| scan.value(value));
        }
        if let Some(grader) = &outcome.grader {
            self.captured(OutputField::Grader, &grader.stdout);
            self.captured(OutputField::Grader, &grader.stderr);
        }
        self.search_field(OutputField::Files, |scan| {
            for file in &outcome.files {
                scan.part(file.path.as_bytes());
                scan.part(&file.content);
            }
            scan.part(outcome.files_error.as_deref().unwrap_or_default().as_bytes());
        });
        self.search_field(OutputField::Boundary, |scan| {
            for Attempt { operation, target, .. } in &outcome.attempts {
                scan.part(operation.as_bytes());
                scan.part(target.as_bytes());
            }
        });
    }

    fn captured(&mut self, field: OutputField, captured: &Captured) {
        self.search_field(field, |scan| {
            scan.bytes(&captured.head);
            if captured.is_truncated() {
                scan.part(b"");
            }
            scan.part(&captured.tail);
        });
    }

    fn error(&mut self, error: &ErrorReport) {
        self.search_field(OutputField::Error, |scan| {
            scan.part(error.type_name.as_bytes());
            scan.part(error.message.as_bytes());
            for frame in &error.traceback {
                for text in [&frame.file, &frame.function, &frame.source] {
                    scan.part(text.as_bytes());
                }
            }
        });
    }

    /// Scans one field, and notes what is there.
    fn search_field(&mut self, field: OutputField, feed: impl FnOnce(&mut Scan<'_>)) {
        let mut scan = Scan::new(self.finder);
        feed(&mut scan);
        let encodings = scan.finish();
        for (found, encodings) in self.found.iter_mut().zip(encodings) {
            let plain = encodings.contains(&Encoding::Plain);
            // What is there plainly is there in the other readings, too.
            let told = encodings.into_iter().filter(|encoding| !(plain && readings_of_plain(*encoding)));
            found.extend(told.map(|encoding| Sighting { field, encoding }));
        }
    }
}

fn readings_of_plain(encoding: Encoding) -> bool {
    match encoding {
        Encoding::Percent | Encoding::Split => true,
        Encoding::Plain | Encoding::Reversed | Encoding::Hex | Encoding::Base64 => false,
    }
}

/// Pass over the text of one field, in all readings at once.
struct Scan<'a> {
    finder: &'a Finder,
    raw: Track,
    /// Apart from `raw` since the first white space.
    squeezed: Option<Track>,
    /// Apart from `raw` since the first percent sign.
    unescaped: Option<Track>,
    escape: Escape,
}

/// Automaton's state in one reading, and the states that had a match. Every such state is examined once, so that a text
/// full of matches takes no longer.
#[derive(Clone)]
struct Track {
    state: StateID,
    matched: BTreeSet<StateID>,
    last: Option<StateID>,
}

/// Progress within a percent escape.
#[derive(Clone, Copy)]
enum Escape {
    No,
    Percent,
    Half(u8),
}

impl<'a> Scan<'a> {
    fn new(finder: &'a Finder) -> Self {
        let raw = Track { state: finder.start, matched: BTreeSet::new(), last: None };
        Self { finder, raw, squeezed: None, unescaped: None, escape: Escape::No }
    }

    /// Scans a text that is separate from the next one, except for the reading without white space.
    fn part(&mut self, bytes: &[u8]) {
        self.bytes(bytes);
        self.bytes(b"\n");
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let automaton = &self.finder.automaton;
        for byte in bytes {
            if byte.is_ascii_whitespace() {
                self.squeezed.get_or_insert_with(|| self.raw.clone());
            } else if let Some(squeezed) = &mut self.squeezed {
                squeezed.step(automaton, *byte);
            }
            if self.unescaped.is_some() || *byte == b'%' {
                self.unescape(*byte);
            }
            self.raw.step(automaton, *byte);
        }
    }

    fn unescape(&mut self, byte: u8) {
        let automaton = &self.finder.automaton;
        let track = self.unescaped.get_or_insert_with(|| self.raw.clone());
        let digit = char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()).map(|digit| (digit, byte));
        let mut literal = |bytes: &[u8]| bytes.iter().for_each(|byte| track.step(automaton, *byte));
        self.escape = match (self.escape, digit) {
            (Escape::Percent, Some((_, byte))) => Escape::Half(byte),
            (Escape::Half(high), Some((low, _))) => {
                let high = char::from(high).to_digit(16).and_then(|digit| u8::try_from(digit).ok()).unwrap_or(0);
                literal(&[high << 4 | low]);
                Escape::No
            }
            (before, _) => {
                match before {
                    Escape::No => {}
                    Escape::Percent => literal(b"%"),
                    Escape::Half(high) => literal(&[b'%', high]),
                }
                if byte == b'%' {
                    Escape::Percent
                } else {
                    literal(&[byte]);
                    Escape::No
                }
            }
        };
    }

    /// The texts in a value, each by itself.
    fn value(&mut self, value: &Value) {
        match value {
            Value::None
            | Value::Bool(_)
            | Value::BigInt(_)
            | Value::Float(_)
            | Value::Complex(..)
            | Value::Reference(_) => {}
            Value::Int(number) => self.part(number.to_string().as_bytes()),
            Value::Str(text) => self.part(text.as_bytes()),
            Value::Surrogates(bytes) | Value::Bytes(bytes) | Value::ByteArray(bytes) => self.part(bytes),
            Value::Tuple(items) | Value::List(items) | Value::Set(items) | Value::FrozenSet(items) => {
                items.iter().for_each(|item| self.value(item));
            }
            Value::Dict(items) => {
                for (key, value) in items {
                    self.value(key);
                    self.value(value);
                }
            }
            Value::Extended(_, payload) => self.value(payload),
            Value::Opaque { type_name, repr } => {
                self.part(type_name.as_bytes());
                self.part(repr.as_bytes());
            }
        }
    }

    /// By canary, how it was written.
    fn finish(self) -> Vec<BTreeSet<Encoding>> {
        let mut found = vec![BTreeSet::new(); self.finder.canaries];
        let tracks =
            [(Reading::Raw, Some(self.raw)), (Reading::Squeezed, self.squeezed), (Reading::Unescaped, self.unescaped)];
        for (reading, track) in tracks {
            for state in track.into_iter().flat_map(|track| track.matched) {
                for which in 0..self.finder.automaton.match_len(state) {
                    let (canary, form) =
                        self.finder.patterns[self.finder.automaton.match_pattern(state, which).as_usize()];
                    found[canary].extend(form.read(reading));
                }
            }
        }
        found
    }
}

impl Track {
    fn step(&mut self, automaton: &NFA, byte: u8) {
        self.state = automaton.next_state(Anchored::No, self.state, byte);
        if automaton.is_special(self.state) && automaton.is_match(self.state) && self.last != Some(self.state) {
            self.last = Some(self.state);
            self.matched.insert(self.state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "s3cret canary/+ü";

    fn found_of(canaries: &[&str], text: &str) -> Vec<(usize, Vec<Encoding>)> {
        let canaries: Vec<Canary> =
            canaries.iter().map(|text| Canary::new((*text).to_owned()).expect("long enough")).collect();
        let found = Finder::new(&canaries).expect("there are some").find_in(OutputField::Stdout, text);
        found.into_iter().map(|one| (one.index, one.found.iter().map(|found| found.encoding).collect())).collect()
    }

    fn found(text: &str) -> Vec<Encoding> {
        found_of(&[SECRET], text).into_iter().flat_map(|(_, encodings)| encodings).collect()
    }

    fn percent(byte: u8) -> String {
        format!("%{byte:02X}")
    }

    #[test]
    fn a_canary_is_found_however_it_is_written() {
        let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
        let grouped: String = SECRET.bytes().map(|byte| format!("{byte:02X} ")).collect();
        let lines: String = SECRET.chars().flat_map(|c| [c, '\n']).collect();
        let cases = [
            (SECRET.to_owned(), Encoding::Plain),
            (SECRET.chars().rev().collect(), Encoding::Reversed),
            (hex.to_uppercase(), Encoding::Hex),
            (hex, Encoding::Hex),
            (grouped, Encoding::Hex),
            (SECRET.bytes().map(percent).collect(), Encoding::Percent),
            ("s3cret%20canary%2F%2b%C3%bc".to_owned(), Encoding::Percent),
            ("s3cret+canary/%2B%C3%BC".to_owned(), Encoding::Percent),
            ("%s3cret%2%20canary/+ü".replace("%2%20", "%20"), Encoding::Percent),
            (lines, Encoding::Split),
        ];
        for (text, encoding) in cases {
            assert_eq!(found(&text), [encoding], "{text}");
            assert_eq!(found(&format!("before {text} after")), [encoding], "{text}");
        }
    }

    #[test]
    fn base64_is_found_at_each_alignment_in_both_alphabets_and_in_lines() {
        for before in ["", "a", "ab", "abc", "abcd"] {
            let whole = format!("{before}{SECRET} and more");
            for text in [STANDARD_NO_PAD.encode(&whole), URL_SAFE_NO_PAD.encode(&whole)] {
                assert_eq!(found(&text), [Encoding::Base64], "{text}");
                let lines: String = text
                    .chars()
                    .enumerate()
                    .flat_map(|(at, c)| [Some('\n').filter(|_| at % 7 == 0), Some(c)])
                    .flatten()
                    .collect();
                assert_eq!(found(&lines), [Encoding::Base64], "{lines}");
            }
        }
    }

    #[test]
    fn what_is_no_canary_is_not_found() {
        for text in ["", "s3cret canary/+", "S3CRET CANARY/+Ü", "s3cret canary/ ", "%73%3", "%", "%%%"] {
            assert_eq!(found(text), [], "{text}");
        }
        // Too short to be told from the words of a text.
        assert_eq!(found_of(&["test"], "late start, te st"), []);
    }

    #[test]
    fn canaries_within_each_other_are_all_found() {
        let all = found_of(&["aaaa", "aaaaa", "baaaa", "cccc"], "baaaaa");
        assert_eq!(all.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn a_text_of_nothing_but_matches_takes_linear_time() {
        let canaries: Vec<String> = (0..32).map(|more| "ab".repeat(400 + more)).collect();
        let canaries: Vec<&str> = canaries.iter().map(String::as_str).collect();
        let text = "ab".repeat(2 << 20);
        let began = std::time::Instant::now();
        assert_eq!(found_of(&canaries, &text).len(), 32);
        // A thousand matches at each byte would take minutes.
        assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
    }

    #[test]
    fn texts_inside_a_value_are_looked_at() {
        let value = Value::Dict(vec![(
            Value::str("key"),
            Value::List(vec![Value::Tuple(vec![Value::Bytes(SECRET.as_bytes().to_vec())])]),
        )]);
        let finder = Finder::new(&[Canary::new(SECRET.to_owned()).expect("long enough")]).expect("there is one");
        let mut search = Search::new(&finder);
        search.search_field(OutputField::Result, |scan| scan.value(&value));
        let sighting = Sighting { field: OutputField::Result, encoding: Encoding::Plain };
        assert_eq!(search.finish(), [CanaryFound { index: 0, found: vec![sighting] }]);
    }

    #[test]
    fn a_canary_is_not_shown_by_debug() {
        let canary = Canary::new(SECRET.to_owned()).expect("long enough");
        assert!(!format!("{canary:?}").contains("s3cret"));
    }
}
