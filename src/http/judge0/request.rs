//! What is read of a submission, and its validation in Judge0's words.

use serde_json::{Map, Value, json};

use super::base64::{self, Texts};
use super::error::Judge0Error;
use super::languages::is_known;
use crate::http::AppState;
use crate::http::programs::{POLICY, ProgramLimits, TimeLimit};
use proofbox_types::caller::Caller;
use proofbox_types::program::Program;

/// Runs of a submission: more are not averaged here.
pub(super) const MAX_RUNS: f64 = 1.0;
/// Maximum length of compiler options and command line arguments, in characters.
const MAX_OPTIONS: usize = 512;
const KIBIBYTE: f64 = 1024.0;

/// Judge0's own defaults.
pub(super) struct Defaults {
    /// In seconds.
    pub cpu_time: f64,
    pub cpu_extra_time: f64,
    pub wall_time: f64,
    /// In kilobytes.
    pub memory: f64,
    pub stack: f64,
    pub processes: f64,
    pub file_size: f64,
}

/// Defaults of a submission that names no limits.
pub(super) const DEFAULTS: Defaults = Defaults {
    cpu_time: 5.0,
    cpu_extra_time: 1.0,
    wall_time: 10.0,
    memory: 128_000.0,
    stack: 64_000.0,
    processes: 60.0,
    file_size: 1024.0,
};

/// Largest limits that the policy grants.
pub(super) struct Ranges {
    /// In seconds.
    pub time: f64,
    /// In kilobytes.
    pub memory: f64,
    /// Most that is kept of each stream of output, in bytes.
    pub output: usize,
}

impl Ranges {
    /// Returns the ranges of a caller. Who may not use the policy hears so when a submission runs.
    pub(super) fn of(shared: &AppState, caller: &Caller) -> Self {
        let policies = shared.service.policies.current();
        policies.pack(caller, POLICY).map_or(Self { time: f64::MAX, memory: f64::MAX, output: 0 }, |pack| Self {
            time: pack.ceiling.most.wall.as_secs_f64(),
            memory: (pack.ceiling.most.memory_bytes as f64 / KIBIBYTE).floor(),
            output: usize::try_from(pack.ceiling.default.output_bytes).unwrap_or(usize::MAX),
        })
    }
}

/// A submission that was read.
pub(super) struct NewSubmission {
    pub language: u64,
    pub source_code: Vec<u8>,
    pub stdin: Option<Vec<u8>>,
    pub expected_output: Option<Vec<u8>>,
    pub command_line_arguments: Option<String>,
    pub redirect_stderr_to_stdout: bool,
    /// In seconds.
    pub cpu_time: f64,
    pub cpu_extra_time: f64,
    pub wall_time: f64,
    /// In kilobytes.
    pub memory: f64,
    pub stack: f64,
    pub processes: f64,
    pub file_size: f64,
}

impl NewSubmission {
    /// Reads a submission.
    ///
    /// # Errors
    /// Returns an error that says what is wrong with each field.
    pub(super) fn read(fields: &Map<String, Value>, texts: Texts, ranges: &Ranges) -> Result<Self, Judge0Error> {
        let mut reader = Reader { fields, errors: Map::new() };
        let language = reader.language();
        let bytes = |text: String| match texts {
            Texts::Base64 => base64::decode(&text),
            Texts::Plain => text.into_bytes(),
        };
        let source_code = reader.text("source_code").map(bytes).unwrap_or_default();
        if source_code.iter().all(u8::is_ascii_whitespace) {
            reader.error("source_code", "can't be blank");
        }
        let stdin = reader.text("stdin").map(bytes);
        let expected_output = reader.text("expected_output").map(bytes);
        reader.refuse("compiler_options", "setting compiler options is only allowed for compiled languages");
        reader.refuse("callback_url", "setting callback is not allowed");
        reader.refuse("additional_files", "setting additional files is not allowed");
        reader.refuse("enable_network", "enabling network is not allowed");
        reader.refuse("enable_per_process_and_thread_time_limit", "this option cannot be enabled");
        reader.refuse("enable_per_process_and_thread_memory_limit", "this option cannot be enabled");
        let command_line_arguments = reader.text("command_line_arguments");
        if command_line_arguments.as_ref().is_some_and(|text| text.chars().nth(MAX_OPTIONS).is_some()) {
            reader.error("command_line_arguments", "is too long (maximum is 512 characters)");
        }
        reader.number("number_of_runs", 1.0, 1.0, MAX_RUNS);
        let asked = Self {
            language,
            source_code,
            stdin,
            expected_output,
            command_line_arguments,
            redirect_stderr_to_stdout: reader.flag("redirect_stderr_to_stdout"),
            cpu_time: reader.number("cpu_time_limit", DEFAULTS.cpu_time.min(ranges.time), 0.0, ranges.time),
            cpu_extra_time: reader.number("cpu_extra_time", DEFAULTS.cpu_extra_time, 0.0, ranges.time),
            wall_time: reader.number("wall_time_limit", DEFAULTS.wall_time.min(ranges.time), 1.0, ranges.time),
            memory: reader.number("memory_limit", DEFAULTS.memory.min(ranges.memory), 2048.0, ranges.memory),
            stack: reader.number("stack_limit", DEFAULTS.stack, 0.0, f64::MAX),
            processes: reader.number("max_processes_and_or_threads", DEFAULTS.processes, 1.0, f64::MAX),
            file_size: reader.number("max_file_size", DEFAULTS.file_size, 0.0, f64::MAX),
        };
        if reader.errors.is_empty() { Ok(asked) } else { Err(Judge0Error::invalid(reader.errors)) }
    }

    /// Returns the program, with source that is not UTF-8 as Python would read it: with replacement characters.
    pub(super) fn program(&self) -> Program {
        Program {
            code: String::from_utf8_lossy(&self.source_code).into_owned(),
            args: self.command_line_arguments.as_deref().map(words).unwrap_or_default(),
            stdin: self.stdin.clone().unwrap_or_default(),
            ..Program::default()
        }
    }

    /// Returns the limits of the program.
    pub(super) fn limits(&self) -> ProgramLimits {
        ProgramLimits {
            time: TimeLimit::seconds(self.wall_time),
            cpu: Some(TimeLimit::seconds(self.cpu_time)),
            // Beyond the range of u64 it is the largest number.
            memory_bytes: Some((self.memory * KIBIBYTE) as u64),
        }
    }

    /// Returns the memory that the submission itself takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let optional = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len);
        self.source_code.len() + optional(&self.stdin) + optional(&self.expected_output)
    }
}

/// Reader of fields, with what is wrong with them.
struct Reader<'a> {
    fields: &'a Map<String, Value>,
    errors: Map<String, Value>,
}

impl Reader<'_> {
    fn error(&mut self, field: &str, message: impl Into<String>) {
        self.errors.entry(field).or_insert_with(|| json!([message.into()]));
    }

    fn text(&mut self, field: &str) -> Option<String> {
        match self.fields.get(field)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    /// Refuses a field, unless it is blank.
    fn refuse(&mut self, field: &str, message: &str) {
        let is_blank = match self.fields.get(field) {
            None | Some(Value::Null | Value::Bool(false)) => true,
            Some(Value::String(text)) => text.trim().is_empty() || text == "false",
            Some(_) => false,
        };
        if !is_blank {
            self.error(field, message);
        }
    }

    fn flag(&self, field: &str) -> bool {
        matches!(self.fields.get(field), Some(Value::Bool(true)))
            || self.fields.get(field).and_then(Value::as_str) == Some("true")
    }

    fn language(&mut self) -> u64 {
        let text = self.text("language_id").unwrap_or_default();
        match text.trim().parse() {
            Ok(id) if is_known(id) => return id,
            _ if text.trim().is_empty() => self.error("language_id", "can't be blank"),
            _ => {
                let shown: String = text.chars().take(50).collect();
                self.error("language_id", format!("language with id {shown} doesn't exist"));
            }
        }
        0
    }

    fn number(&mut self, field: &str, default: f64, least: f64, most: f64) -> f64 {
        let number = match self.fields.get(field) {
            None | Some(Value::Null) => return default,
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(value) => value.as_f64(),
        };
        match number {
            Some(number) if number < least => {
                self.error(field, format!("must be greater than or equal to {least}"));
            }
            Some(number) if number > most => self.error(field, format!("must be less than or equal to {most}")),
            Some(number) if number.is_finite() => return number,
            _ => self.error(field, "is not a number"),
        }
        default
    }
}

/// Splits arguments into words, as a shell does: without the characters that Judge0 removes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars().filter(|c| !matches!(c, '$' | '&' | ';' | '<' | '>' | '|' | '`'));
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (_, '\\') => word.get_or_insert_default().extend(characters.next()),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGES: Ranges = Ranges { time: 30.0, memory: 1_000_000.0, output: 1 };

    fn read(fields: Value, texts: Texts) -> Result<NewSubmission, Value> {
        let Value::Object(fields) = fields else { unreachable!("it is an object") };
        NewSubmission::read(&fields, texts, &RANGES).map_err(Judge0Error::into_body)
    }

    #[test]
    fn fields_are_read_as_they_come() {
        let asked =
            json!({"source_code": "cHJpbnQoMSk=", "language_id": "71", "stdin": "eA==", "cpu_time_limit": "2.5"});
        let asked = read(asked, Texts::Base64).expect("it is right");
        assert_eq!((asked.language, &*asked.source_code), (71, &b"print(1)"[..]));
        assert_eq!((asked.stdin, asked.cpu_time, asked.wall_time), (Some(b"x".to_vec()), 2.5, 10.0));
    }

    #[test]
    fn what_is_wrong_is_said_by_field() {
        let said = read(json!({"cpu_time_limit": 31, "wall_time_limit": 0.5, "memory_limit": "much"}), Texts::Plain);
        let expected = json!({
            "language_id": ["can't be blank"],
            "source_code": ["can't be blank"],
            "cpu_time_limit": ["must be less than or equal to 30"],
            "wall_time_limit": ["must be greater than or equal to 1"],
            "memory_limit": ["is not a number"],
        });
        assert_eq!(said.err(), Some(expected));
        let said = read(json!({"source_code": "x", "language_id": 50, "callback_url": "http://x"}), Texts::Plain);
        let expected = json!({
            "language_id": ["language with id 50 doesn't exist"],
            "callback_url": ["setting callback is not allowed"],
        });
        assert_eq!(said.err(), Some(expected));
    }

    #[test]
    fn arguments_are_the_words_of_a_shell() {
        assert_eq!(words(r#" a "b c" 'd "e' f\ g $h;i "" "j\"k" "#), ["a", "b c", "d \"e", "f g", "hi", "", "j\"k"]);
    }
}
