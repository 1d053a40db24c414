//! `--require`: what must hold of the results, or the command fails.

use std::fmt;
use std::str::FromStr;

use super::changes::{Changes, LabelChange};
use proofbox_grading::report::{Report, Share, Spread};
use proofbox_types::status::FailureClass;

/// Name, description, and accessor of a field.
type Field = (&'static str, &'static str, fn(&Report, Option<&Changes>) -> Option<f64>);

/// Fields that can be required, but for pass@K.
const FIELDS: &[Field] = &[
    ("pass_rate", "passed items, of those graded", |report, _| report.pass_rate),
    ("tests_pass_rate", "passed cases, of all", |report, _| report.tests_pass_rate),
    ("passed", "items that passed", |report, _| Some(report.passed as f64)),
    ("failed", "items that failed", |report, _| Some(report.failed as f64)),
    ("errors", "items without tests that failed", |report, _| Some(report.errors as f64)),
    ("blocked", "items that the policy blocked", |report, _| Some(report.blocked as f64)),
    ("refused", "items that were not run", |report, _| Some(report.refused as f64)),
    ("no_code", "answers without code", |report, _| Some(report.no_code as f64)),
    ("no_code_rate", "the same, of the items that the service did not fail at", |report, _| report.no_code_rate),
    ("infrastructure_errors", "items that the service failed at", |report, _| {
        Some(report.infrastructure_errors as f64)
    }),
    ("items", "all of them", |report, _| Some(report.items as f64)),
    ("flaky", "items with another verdict when repeated", |report, _| Some(report.flaky.len() as f64)),
    ("lint_clean_rate", "items without a finding, of those linted", |report, _| report.lint.as_ref()?.clean_rate),
    ("seconds_median", "execution time of an item", |report, _| median(report.execution_seconds.as_ref())),
    ("seconds_p99", "the same, 99th percentile", |report, _| Some(report.execution_seconds.as_ref()?.p99)),
    ("fuel_median", "fuel of an item", |report, _| median(report.fuel_used.as_ref())),
    ("fuel_p99", "the same, 99th percentile", |report, _| Some(report.fuel_used.as_ref()?.p99)),
    ("newly_failing", "items that passed in the baseline, and don't now", |_, changes| {
        Some(changes?.newly_failing.len() as f64)
    }),
    ("newly_passing", "items that did not pass in the baseline, and do now", |_, changes| {
        Some(changes?.newly_passing.len() as f64)
    }),
    ("pass_rate_change", "pass_rate minus the baseline's", |_, changes| changes?.pass_rate_change()),
    ("fuel_change", "median change of fuel of items that pass in both; 0.1 is 10 % more", |_, changes| {
        changes?.fuel_change
    }),
];

/// Name and accessor of a field of the items with one label.
type ShareField = (&'static str, fn(&Share, Option<&LabelChange>) -> Option<f64>);

/// Fields that can be required of the items with one label.
const SHARE_FIELDS: &[ShareField] = &[
    ("pass_rate", |share, _| share.pass_rate),
    ("passed", |share, _| Some(share.passed as f64)),
    ("items", |share, _| Some(share.items as f64)),
    ("no_code", |share, _| Some(share.no_code as f64)),
    ("no_code_rate", |share, _| share.no_code_rate),
    ("newly_failing", |_, change| Some(change?.newly_failing as f64)),
    ("newly_passing", |_, change| Some(change?.newly_passing as f64)),
    ("pass_rate_change", |_, change| change?.pass_rate_change()),
];
/// Word before the name of a failure class, whose items are counted.
const CLASS: &str = "class:";

fn median(spread: Option<&Spread>) -> Option<f64> {
    Some(spread?.median)
}

#[derive(Clone, Debug, PartialEq)]
enum Measure {
    Field(&'static str),
    PassAt(u32),
    /// Number of items of a class.
    Class(FailureClass),
    /// Field of the items with one label.
    Labelled {
        label: String,
        value: String,
        field: &'static str,
    },
}

impl Measure {
    /// Parses `LABEL=VALUE:FIELD` and `class:NAME`; none for a name that is neither.
    fn of_some(name: &str) -> Result<Option<Self>, String> {
        if let Some(class) = name.strip_prefix(CLASS) {
            let class = FailureClass::parse(class).ok_or_else(|| format!("there is no failure class `{class}`"))?;
            return Ok(Some(Self::Class(class)));
        }
        let Some((share, field)) = name.rsplit_once(':') else { return Ok(None) };
        let (label, value) = share.split_once('=').ok_or("items of one label are written as LABEL=VALUE:NAME")?;
        let known = SHARE_FIELDS.iter().find(|(known, _)| *known == field.trim());
        let names = || SHARE_FIELDS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let field = known.ok_or_else(|| format!("there is no `{field}` of a label; there are {}", names()))?.0;
        Ok(Some(Self::Labelled { label: label.trim().to_owned(), value: value.trim().to_owned(), field }))
    }
}

/// Requirement on the results, as `pass_rate>=0.95`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Requirement {
    text: String,
    measure: Measure,
    operator: &'static str,
    bound: f64,
}

impl FromStr for Requirement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Longer ones first.
        let operators = [">=", "<=", "==", "!=", ">", "<"];
        let found = operators.into_iter().find_map(|operator| Some((operator, text.split_once(operator)?)));
        let (operator, (name, bound)) = found.ok_or("write it as NAME>=NUMBER, with one of >= <= > < == !=")?;
        let (name, bound) = (name.trim(), bound.trim());
        let measure = match (Measure::of_some(name)?, name.strip_prefix("pass@")) {
            (Some(measure), _) => measure,
            (None, Some(k)) => Measure::PassAt(
                k.parse()
                    .ok()
                    .filter(|k| *k > 0)
                    .ok_or_else(|| format!("`{name}`: after pass@ comes a number from 1"))?,
            ),
            (None, None) => {
                let known = FIELDS.iter().find(|(known, ..)| *known == name);
                let names = || FIELDS.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
                Measure::Field(known.ok_or_else(|| format!("there is no `{name}`; there are pass@K, {}", names()))?.0)
            }
        };
        let (number, unit) = bound.strip_suffix('%').map_or((bound, 1.0), |number| (number.trim(), 0.01));
        let number: f64 = number.parse().map_err(|_| format!("`{bound}` is no number"))?;
        if !number.is_finite() {
            return Err(format!("`{bound}` is no number"));
        }
        Ok(Self { text: text.to_owned(), measure, operator, bound: number * unit })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Requirement {
    /// The k of pass@k that it needs.
    pub(super) fn k(&self) -> Option<u32> {
        match self.measure {
            Measure::PassAt(k) => Some(k),
            Measure::Field(_) | Measure::Class(_) | Measure::Labelled { .. } => None,
        }
    }

    /// Returns whether the requirement needs a baseline.
    pub(super) fn needs_baseline(&self) -> bool {
        match self.measure {
            Measure::Field(name) | Measure::Labelled { field: name, .. } => {
                matches!(name, "newly_failing" | "newly_passing" | "pass_rate_change" | "fuel_change")
            }
            Measure::PassAt(_) | Measure::Class(_) => false,
        }
    }

    /// Returns the reason why the requirement does not hold; none when it does. A field without a value does not hold.
    pub(super) fn breach(&self, report: &Report, changes: Option<&Changes>) -> Option<String> {
        let value = match &self.measure {
            Measure::PassAt(k) => report.pass_at_k.get(k).copied().flatten(),
            Measure::Class(class) => Some(report.by_class.get(class.as_str()).copied().unwrap_or_default() as f64),
            Measure::Labelled { label, value, field } => {
                let share = report.by_label.get(label).and_then(|values| values.get(value));
                let change = changes.and_then(|changes| changes.by_label.get(label)?.get(value));
                let of = SHARE_FIELDS.iter().find(|(known, _)| known == field);
                share.zip(of).and_then(|(share, (_, of))| of(share, change))
            }
            Measure::Field(name) => {
                FIELDS.iter().find(|(known, ..)| known == name).and_then(|(_, _, value)| value(report, changes))
            }
        };
        let Some(value) = value else { return Some(format!("{}: it has no value here", self.text)) };
        let holds = match self.operator {
            ">=" => value >= self.bound,
            "<=" => value <= self.bound,
            "==" => value == self.bound,
            "!=" => value != self.bound,
            ">" => value > self.bound,
            _ => value < self.bound,
        };
        (!holds).then(|| format!("{}: it is {}", self.text, shown(value)))
    }
}

fn shown(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.6}").trim_end_matches('0').to_owned() }
}

/// Returns the help of `--require`.
pub(super) fn help() -> String {
    let fields = FIELDS.iter().map(|(name, what, _)| format!("  {name:22} {what}\n"));
    format!(
        "Fail (exit code 1) unless this holds; may be given several times. NAME, one of >= <= > < == !=, and a number or a \
         percentage, as in \"pass_rate>=95%\" or \"newly_failing==0\". What has no value does not hold. Names:\n\n  \
         {:22} K samples of a task, at least one passing\n  \
         {:22} items of a failure class, as in \"class:timeout==0\"\n  \
         {:22} {} of the items with a label, as in \"bucket=safe:pass_rate>=90%\"\n{}",
        "pass@K",
        "class:CLASS",
        "LABEL=VALUE:NAME",
        SHARE_FIELDS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        fields.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn report() -> Report {
        Report {
            pass_rate: Some(0.9),
            failed: 3,
            pass_at_k: BTreeMap::from([(1, Some(0.5)), (10, None)]),
            by_class: BTreeMap::from([("timeout".to_owned(), 2)]),
            by_label: BTreeMap::from([(
                "bucket".to_owned(),
                BTreeMap::from([(
                    "safe".to_owned(),
                    Share { items: 10, passed: 9, pass_rate: Some(0.9), ..Share::default() },
                )]),
            )]),
            ..Report::default()
        }
    }

    fn breach(text: &str) -> Option<String> {
        text.parse::<Requirement>().expect(text).breach(&report(), None)
    }

    #[test]
    fn what_holds_is_no_breach() {
        for text in
            ["pass_rate>=0.9", "pass_rate >= 90%", "pass_rate<1", "failed==3", "failed!=2", "pass@1>0.4", "flaky<=0"]
        {
            assert_eq!(breach(text), None, "{text}");
        }
        for text in ["bucket=safe:pass_rate>=90%", "bucket=safe:items==10", "class:timeout<=2", "class:exception==0"] {
            assert_eq!(breach(text), None, "{text}");
        }
    }

    #[test]
    fn a_breach_names_the_requirement_and_the_value() {
        let cases = [
            ("pass_rate>=0.95", "pass_rate>=0.95: it is 0.9"),
            ("failed<3", "failed<3: it is 3"),
            ("pass@10>=0", "pass@10>=0: it has no value here"),
            ("lint_clean_rate>=0", "lint_clean_rate>=0: it has no value here"),
            ("newly_failing==0", "newly_failing==0: it has no value here"),
            ("bucket=safe:pass_rate>=95%", "bucket=safe:pass_rate>=95%: it is 0.9"),
            ("bucket=risky:pass_rate>=0", "bucket=risky:pass_rate>=0: it has no value here"),
            ("class:timeout==0", "class:timeout==0: it is 2"),
        ];
        for (text, expected) in cases {
            assert_eq!(breach(text).as_deref(), Some(expected));
        }
    }

    #[test]
    fn items_with_a_label_are_held_to_the_baseline() {
        let change =
            LabelChange { pass_rate_before: Some(0.8), pass_rate: Some(0.9), newly_failing: 2, newly_passing: 0 };
        let values = BTreeMap::from([("safe".to_owned(), change)]);
        let changes = Changes { by_label: BTreeMap::from([("bucket".to_owned(), values)]), ..Changes::default() };
        for (text, holds) in [
            ("bucket=safe:newly_failing<=2", true),
            ("bucket=safe:newly_failing==0", false),
            ("bucket=safe:pass_rate_change>=0", true),
            ("bucket=risky:newly_failing==0", false),
        ] {
            let requirement: Requirement = text.parse().expect(text);
            assert!(requirement.needs_baseline(), "{text}");
            assert_eq!(requirement.breach(&report(), Some(&changes)).is_none(), holds, "{text}");
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in [
            "pass_rate",
            "pas_rate>1",
            "pass_rate>=x",
            "pass@0>1",
            "pass@x>1",
            "pass_rate>=",
            "pass_rate>=nan",
            "class:slow==0",
            "bucket=safe:rate>=1",
            "safe:pass_rate>=1",
        ] {
            assert!(text.parse::<Requirement>().is_err(), "{text}");
        }
    }

    #[test]
    fn help_names_every_field() {
        let help = help();
        assert!(FIELDS.iter().all(|(name, ..)| help.contains(name)) && help.contains("pass@K"));
    }
}
