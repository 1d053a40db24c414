//! The results on a terminal. Nothing that a candidate wrote is obeyed.

use std::io::Write;

use serde_json::Value as Json;

use super::Results;
use super::changes::Changes;
use proofbox_grading::report::{Report, percent};
use proofbox_types::sanitize::sanitize_line;

/// Items that are listed; files have all.
const MAX_LISTED: usize = 20;
/// Values of one label that are listed.
const MAX_VALUES: usize = 12;

/// Prints the results.
pub(super) fn print(results: &Results<'_>) {
    let text = text(results);
    // Whoever reads may have seen enough (`| head`).
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn text(results: &Results<'_>) -> String {
    let mut lines = vec![sanitize_line(&results.suite.title, 200), String::new()];
    figures(results.report, &mut lines);
    by_label(results.report, results.changes, &mut lines);
    not_passed(results.answers, &mut lines);
    if let Some(changes) = results.changes {
        since(changes, &mut lines);
    }
    if !results.required.is_empty() {
        lines.push(format!("\n{}", "required"));
        for (requirement, breach) in &results.required {
            lines.push(match breach {
                None => format!("  holds   {requirement}"),
                Some(breach) => format!("  FAILS   {breach}"),
            });
        }
    }
    for warning in &results.suite.warnings {
        lines.push(format!("\nNote: {}", sanitize_line(warning, 300)));
    }
    let forgeable = results.answers.iter().filter(|answer| answer["integrity"]["level"] == "in_process").count();
    if forgeable > 0 {
        lines.push(format!(
            "\nNote: {forgeable} items were graded in_process: their programs could have forged the verdict."
        ));
    }
    if results.report.infrastructure_errors > 0 {
        lines.push(format!(
            "\nNote: the service failed at {} items, several times; they are in no rate.",
            results.report.infrastructure_errors
        ));
    }
    lines.join("\n") + "\n"
}

fn figures(report: &Report, lines: &mut Vec<String>) {
    let mut row = |name: &str, value: String| lines.push(format!("  {name:22} {value}"));
    row("items", format!("{}, of {} tasks", report.items, report.tasks));
    row("passed", format!("{} of {} graded{}", report.passed, report.graded, share(report.pass_rate)));
    let rare = [
        ("ran to the end", report.ok),
        ("errors", report.errors),
        ("blocked", report.blocked),
        ("refused", report.refused),
        ("infrastructure errors", report.infrastructure_errors),
        ("flaky", report.flaky.len() as u64),
    ];
    for (name, count) in rare.into_iter().filter(|(_, count)| *count > 0) {
        row(name, count.to_string());
    }
    for (k, value) in &report.pass_at_k {
        row(&format!("pass@{k}"), value.map_or_else(|| "a task has too few samples".to_owned(), percent));
    }
    row("tests", format!("{} of {}{}", report.tests_passed, report.tests_total, share(report.tests_pass_rate)));
    if let Some(lint) = &report.lint {
        row("lint clean", format!("{} of {}{}", lint.clean, lint.linted, share(lint.clean_rate)));
    }
    if let Some(time) = &report.execution_seconds {
        row(
            "time",
            format!("median {}, p99 {}, total {}", seconds(time.median), seconds(time.p99), seconds(time.total)),
        );
    }
    if let Some(fuel) = &report.fuel_used {
        row("fuel", format!("median {}, p99 {}, total {}", units(fuel.median), units(fuel.p99), units(fuel.total)));
    }
    let classes: Vec<String> = report.by_class.iter().map(|(class, count)| format!("{class} {count}")).collect();
    row("classes", classes.join(", "));
}

fn by_label(report: &Report, changes: Option<&Changes>, lines: &mut Vec<String>) {
    for (label, values) in report.by_label.iter().filter(|(_, values)| values.len() > 1) {
        lines.push(format!("\nby {}", sanitize_line(label, 40)));
        for (value, share) in values.iter().take(MAX_VALUES) {
            let rate = share.pass_rate.map_or_else(|| "-".to_owned(), percent);
            let change = changes.and_then(|changes| changes.by_label.get(label)?.get(value));
            let before = change.and_then(|change| change.pass_rate_before);
            let before = before.map_or_else(String::new, |before| format!(", {} before", percent(before)));
            let (value, passed, graded) = (sanitize_line(value, 30), share.passed, share.graded);
            lines.push(format!("  {value:30} {rate:>8}   {passed} of {graded}{before}"));
        }
        if values.len() > MAX_VALUES {
            lines.push(format!("  and {} more", values.len() - MAX_VALUES));
        }
    }
}

fn not_passed(answers: &[Json], lines: &mut Vec<String>) {
    let wrong: Vec<&Json> =
        answers.iter().filter(|answer| !matches!(answer["status"].as_str(), Some("passed" | "ok"))).collect();
    if wrong.is_empty() {
        return;
    }
    lines.push("\nnot passed".to_owned());
    for answer in wrong.iter().take(MAX_LISTED) {
        let text = |field: &str| answer[field].as_str().unwrap_or("");
        let class = if text("stderr_class").is_empty() { text("status") } else { text("stderr_class") };
        let tests =
            format!("{}/{}", answer["tests_passed"].as_u64().unwrap_or(0), answer["tests_total"].as_u64().unwrap_or(0));
        lines.push(format!(
            "  {:28} {:20} {tests:>7}  {}",
            sanitize_line(text("id"), 28),
            sanitize_line(class, 20),
            sanitize_line(&reason(answer), 80)
        ));
    }
    if wrong.len() > MAX_LISTED {
        lines.push(format!("  and {} more: --json and --report have all", wrong.len() - MAX_LISTED));
    }
}

/// Returns the reason why an item did not pass: the message of its first case that did not, or its error.
fn reason(answer: &Json) -> String {
    let cases = answer["cases"].as_array();
    let case = cases.and_then(|cases| cases.iter().find(|case| case["status"] != "passed"));
    let of = |part: &Json, field: &str| part[field].as_str().unwrap_or("").to_owned();
    let Some(case) = case.filter(|case| case["status"] != "not_run") else { return of(&answer["error"], "message") };
    match of(case, "message") {
        message if message.is_empty() => of(case, "name"),
        message => format!("{}: {message}", of(case, "name")),
    }
}

fn since(changes: &Changes, lines: &mut Vec<String>) {
    lines.push("\nsince the baseline".to_owned());
    let mut row = |name: &str, value: String| lines.push(format!("  {name:22} {value}"));
    let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), percent);
    row("pass rate", format!("{} -> {}", rate(changes.pass_rate_before), rate(changes.pass_rate)));
    row("newly failing", listed(&changes.newly_failing));
    row("newly passing", listed(&changes.newly_passing));
    if changes.added + changes.removed > 0 {
        row("other items", format!("{} added, {} gone", changes.added, changes.removed));
    }
    row(
        "fuel",
        match changes.fuel_change {
            Some(change) => format!("{:+.1} % (median of items that pass in both)", change * 100.0),
            None if !changes.same_image => "not comparable: another interpreter".to_owned(),
            None => "nothing passes in both".to_owned(),
        },
    );
}

fn listed(ids: &[String]) -> String {
    let shown: Vec<String> = ids.iter().take(MAX_LISTED).map(|id| sanitize_line(id, 60)).collect();
    match ids.len() {
        0 => "none".to_owned(),
        count if count > MAX_LISTED => format!("{count}: {}, …", shown.join(", ")),
        count => format!("{count}: {}", shown.join(", ")),
    }
}

fn share(rate: Option<f64>) -> String {
    rate.map(|rate| format!(", {}", percent(rate))).unwrap_or_default()
}

pub(super) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

pub(super) fn units(units: f64) -> String {
    match units {
        n if n < 1e3 => format!("{n:.0}"),
        n if n < 1e6 => format!("{:.1} thousand", n / 1e3),
        n if n < 1e9 => format!("{:.1} million", n / 1e6),
        n => format!("{:.1} billion", n / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::eval::suite::Suite;

    #[test]
    fn candidates_can_not_write_to_the_terminal() {
        let hostile = "\x1b]0;x\x07\u{202e}\r\n";
        let answer = json!({"id": format!("id{hostile}"), "status": "failed", "stderr_class": format!("c{hostile}"),
            "cases": [{"name": format!("case{hostile}"), "status": "failed", "message": hostile}]});
        let suite = Suite { title: hostile.to_owned(), ..Suite::default() };
        let mut report = Report::default();
        let values = ["a", "b"].map(|value| (format!("{value}{hostile}"), Default::default()));
        report.by_label.insert(hostile.to_owned(), values.into());
        let changes = Changes { newly_failing: vec![hostile.to_owned()], ..Changes::default() };
        let results = Results {
            suite: &suite,
            report: &report,
            answers: &[answer],
            changes: Some(&changes),
            required: Vec::new(),
        };
        let shown = text(&results);
        assert!(shown.chars().all(|c| c == '\n' || !c.is_control()) && !shown.contains('\u{202e}'), "{shown:?}");
        assert!(shown.contains("case^[]0;x^G"), "{shown}");
    }

    #[test]
    fn verdicts_that_can_be_forged_are_told() {
        let answers =
            ["in_process", "isolated"].map(|level| json!({"status": "passed", "integrity": {"level": level}}));
        let (suite, report) = (Suite::default(), Report::default());
        let results =
            Results { suite: &suite, report: &report, answers: &answers, changes: None, required: Vec::new() };
        assert!(text(&results).contains("Note: 1 items were graded in_process"));
    }
}
