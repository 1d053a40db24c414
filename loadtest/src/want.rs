//! Permitted ends of programs that attack the service.

use serde::Deserialize;

use crate::answer::Answer;

/// Permitted end of a program.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Want {
    pub passed: OneOrMore,
    pub total: u64,
    pub outcome_any: Vec<String>,
    /// Texts that the program must not be able to write.
    #[serde(skip)]
    pub forbidden: Vec<String>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMore {
    One(u64),
    More(Vec<u64>),
}

impl OneOrMore {
    fn has(&self, number: u64) -> bool {
        match self {
            Self::One(one) => *one == number,
            Self::More(more) => more.contains(&number),
        }
    }
}

impl Want {
    /// Returns whether the request itself may be refused.
    pub(crate) fn may_be_refused(&self) -> bool {
        self.outcome_any.iter().any(|word| word == "bad_request")
    }

    /// # Errors
    /// Description of the fault, with untrusted text escaped.
    pub(crate) fn check(&self, answer: &Answer) -> Result<(), String> {
        let seen = outcomes(answer);
        let counts = self.passed.has(answer.tests_passed) && answer.tests_total == self.total;
        let escaped = self.forbidden.iter().any(|text| answer.stdout.contains(text));
        if counts && !escaped && self.outcome_any.iter().any(|word| seen.contains(word)) {
            return Ok(());
        }
        let (passed, total) = (answer.tests_passed, answer.tests_total);
        let escaped = if escaped { ", and it wrote what it must not be able to" } else { "" };
        Err(format!("{passed}/{total}, {seen:?}{escaped}; wanted {self:?}"))
    }
}

/// The words of the cases for what the answer says.
fn outcomes(answer: &Answer) -> Vec<String> {
    let class = answer.stderr_class.as_str();
    let kind = answer.error.as_ref().and_then(|error| error.kind.as_deref()).unwrap_or("");
    let mut words = vec![class.to_owned()];
    match class {
        "none" => words.push("ok".to_owned()),
        "timeout" | "fuel_exhausted" => words.push("timeout".to_owned()),
        "memory_limit" => words.extend(["memory".to_owned(), "MemoryError".to_owned()]),
        "assertion_failure" => words.push("assertion".to_owned()),
        // The stack of the compiled code was used up, and there was no Python left to say so.
        "recursion_limit" if kind.is_empty() => words.push("crash".to_owned()),
        _ => {}
    }
    match kind {
        "" => {}
        "InterpreterCrash" => words.push("crash".to_owned()),
        "SystemExit" if class == "exception" => {
            words.extend(["exit".to_owned(), "exit:0".to_owned(), "exception".to_owned()]);
        }
        "SystemExit" => words.push("exit".to_owned()),
        kind => words.extend(["exception".to_owned(), format!("exception:{kind}")]),
    }
    words
}
