//! Span of an execution of a snippet, with the spans below it.
//!
//! Guests run in processes of their own: what they cost is known when they have ended, and the spans are made of it
//! then. They lie end to end, each as long as its figure in the answer: waiting, then the start, then the run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use opentelemetry::trace::{Event, SpanBuilder, SpanRef, Status, TraceContextExt};
use opentelemetry::{Context, KeyValue};

use super::request::{Scope, traced, within};
use super::work::{Case, Shown, Work};
use proofbox_types::ids::{ExecutionId, SessionId};
use proofbox_types::outcome::{Outcome, Usage};
use proofbox_types::status::{FailureClass, Status as Word};
use proofbox_types::verdict::{CaseResult, Verdict};

/// Labels that a span has, and how long their names and values may be, in bytes.
const LABELS: usize = 16;
const LABEL_NAME: usize = 64;
const LABEL_VALUE: usize = 256;
/// Blocking findings that a span has as events.
const BLOCKS: usize = 32;

/// Description of an execution before it begins.
pub struct ExecutionInfo<'a> {
    /// Name of the policy.
    pub policy: &'a str,
    /// The client's own words.
    pub labels: &'a BTreeMap<String, String>,
    /// Session, for an execution that is a call of one.
    pub session: Option<SessionId>,
}

/// Result of an execution.
pub struct Ended<'a> {
    /// Id of the execution.
    pub id: ExecutionId,
    /// Verdict on the snippet.
    pub verdict: &'a Verdict,
    /// Summed over its runs.
    pub fuel: u64,
    /// The largest of its runs.
    pub peak_memory_bytes: u64,
}

/// An execution that is traced.
pub struct ExecutionSpan {
    scope: Scope,
    context: Context,
    call: Option<String>,
}

impl ExecutionSpan {
    /// Begins one, where the request is traced and its trace has room.
    pub fn begin<'a>(about: impl FnOnce() -> ExecutionInfo<'a>) -> Option<Self> {
        let scope = traced()?;
        let ExecutionInfo { policy, labels, session } = about();
        let mut attributes = vec![
            KeyValue::new("gen_ai.operation.name", "execute_tool"),
            KeyValue::new("gen_ai.tool.name", "python"),
            KeyValue::new("gen_ai.tool.type", "function"),
            KeyValue::new("proofbox.policy", policy.to_owned()),
        ];
        if let Some(session) = session {
            attributes.push(KeyValue::new("proofbox.session.id", session.to_string()));
        }
        attributes.extend(labels.iter().take(LABELS).map(|(name, value)| label(name, value)));
        let builder = SpanBuilder::from_name("execute_tool python").with_attributes(attributes);
        let context = scope.shared.trace.as_ref()?.span(builder, scope.parent.as_ref()?)?;
        let call = labels.get("gen_ai.tool.call.id").map(|call| cut(call, LABEL_VALUE).to_owned());
        Some(Self { scope, context, call })
    }

    /// Does the work of it.
    pub async fn within<F: Future>(&self, work: F) -> F::Output {
        let scope =
            Scope { parent: Some(self.context.clone()), work: Some(Arc::new(Work::default())), ..self.scope.clone() };
        within(scope, work).await
    }

    /// Ends the execution with a verdict.
    pub fn end(self, ended: &Ended<'_>) {
        let Ended { id, verdict, fuel, peak_memory_bytes } = *ended;
        let span = self.context.span();
        span.set_attribute(KeyValue::new("gen_ai.tool.call.id", self.call.unwrap_or_else(|| id.to_string())));
        span.set_attribute(KeyValue::new("proofbox.execution.id", id.to_string()));
        span.set_attribute(KeyValue::new("proofbox.status", verdict.status.as_str()));
        span.set_attribute(KeyValue::new("proofbox.stderr_class", verdict.class.as_str()));
        span.set_attribute(KeyValue::new("proofbox.exit_code", i64::from(verdict.exit_code)));
        span.set_attribute(KeyValue::new("proofbox.integrity.level", verdict.integrity.level.as_str()));
        span.set_attribute(number("proofbox.tests_passed", verdict.count_passed() as u64));
        span.set_attribute(number("proofbox.tests_total", verdict.total() as u64));
        span.set_attribute(number("proofbox.fuel_used", fuel));
        span.set_attribute(number("proofbox.peak_memory_bytes", peak_memory_bytes));
        match verdict.status {
            // Tests that fail are what they are there for: the tool has done its work.
            Word::Passed | Word::Ok | Word::Failed => {}
            Word::Error | Word::Blocked | Word::InfrastructureError => fail(&span, verdict.class.as_str()),
        }
        span.end();
    }

    /// Ends the execution as refused: nothing was run.
    pub fn refused(self, why: &'static str) {
        let span = self.context.span();
        fail(&span, why);
        span.end();
    }
}

/// The gate has looked at a snippet; `blocks` are scanner, rule and action of what blocks it.
pub fn scanned<'a>(
    took: Duration,
    policy: &str,
    decision: &'static str,
    blocks: impl Iterator<Item = (&'static str, &'a str, &'static str)>,
) {
    let Some(scope) = traced() else { return };
    let (Some(trace), Some(parent)) = (&scope.shared.trace, &scope.parent) else { return };
    let now = SystemTime::now();
    let events = blocks.take(BLOCKS).map(|(scanner, rule, action)| {
        let attributes = vec![
            KeyValue::new("proofbox.scanner", scanner),
            KeyValue::new("proofbox.rule", rule.to_owned()),
            KeyValue::new("proofbox.action", action),
        ];
        Event::new("proofbox.policy_block", now, attributes, 0)
    });
    let attributes =
        [KeyValue::new("proofbox.policy", policy.to_owned()), KeyValue::new("proofbox.decision", decision)];
    let builder = SpanBuilder::from_name("scan")
        .with_start_time(now - took)
        .with_attributes(attributes)
        .with_events(events.collect());
    if let Some(context) = trace.span(builder, parent) {
        context.span().end_with_timestamp(now);
    }
}

/// A run has ended that came at `arrived`.
pub fn ran(arrived: Instant, outcome: &Outcome) {
    let Some(scope) = traced() else { return };
    let (Some(trace), Some(parent)) = (&scope.shared.trace, &scope.parent) else { return };
    let now = SystemTime::now();
    let tests = outcome.grader.as_ref().map_or(Usage::default(), |grader| grader.usage);
    let began = now - arrived.elapsed();
    // Clocks differ a little: none of them begins before the run came.
    let running = (now - outcome.usage.execution - tests.execution).max(began);
    let starting = (running - outcome.usage.start - tests.start).max(began);
    for (name, from, to) in [("queue", began, starting), ("start", starting, running)] {
        if let Some(context) = trace.span(SpanBuilder::from_name(name).with_start_time(from), parent) {
            context.span().end_with_timestamp(to);
        }
    }
    let mut attributes = vec![
        number("proofbox.fuel_used", outcome.usage.fuel),
        number("proofbox.peak_memory_bytes", outcome.usage.peak_memory_bytes),
        number("proofbox.output_bytes", outcome.stdout.total_bytes + outcome.stderr.total_bytes),
        KeyValue::new("proofbox.cpu_seconds", outcome.usage.cpu.as_secs_f64()),
    ];
    if let Some(grader) = &outcome.grader {
        attributes.push(number("proofbox.grader.fuel_used", grader.usage.fuel));
        attributes.push(KeyValue::new("proofbox.grader.cpu_seconds", grader.usage.cpu.as_secs_f64()));
        attributes.push(number("proofbox.candidates", grader.candidates as u64));
    }
    let builder = SpanBuilder::from_name("run").with_start_time(running).with_attributes(attributes);
    let Some(run) = trace.span(builder, parent) else { return };
    run.span().end_with_timestamp(now);
    if let Some(work) = &scope.work {
        work.shown().run = Some((run, now));
    }
}

/// Runs a case that is a run of its own.
pub async fn case<F: Future>(index: usize, run: F) -> F::Output {
    let Some(scope) = traced() else { return run.await };
    let (Some(trace), Some(parent), Some(work)) = (&scope.shared.trace, &scope.parent, &scope.work) else {
        return run.await;
    };
    work.shown().runs_of_their_own = true;
    let Some(context) = trace.case(SpanBuilder::from_name("case"), parent) else {
        work.shown().left_out += 1;
        // Without what lies below it.
        return within(Scope { parent: None, ..scope.clone() }, run).await;
    };
    let done = within(Scope { parent: Some(context.clone()), ..scope.clone() }, run).await;
    work.shown().cases.insert(index, Case { context, ended: SystemTime::now() });
    done
}

/// An execution was graded: its cases are shown, as far as the trace has room for them.
pub fn graded(verdict: &Verdict) {
    let Some(scope) = traced() else { return };
    let (Some(trace), Some(parent), Some(work)) = (&scope.shared.trace, &scope.parent, &scope.work) else { return };
    let Shown { run, mut cases, runs_of_their_own, mut left_out } = std::mem::take(&mut *work.shown());
    if !runs_of_their_own {
        let (below, ended) = run.unwrap_or_else(|| (parent.clone(), SystemTime::now()));
        // One after the other, up to the end.
        let mut begin = ended - verdict.cases.iter().map(|case| case.execution).sum::<Duration>();
        for (index, case) in verdict.cases.iter().enumerate() {
            let end = begin + case.execution;
            match trace.case(SpanBuilder::from_name("case").with_start_time(begin), &below) {
                Some(context) => drop(cases.insert(index, Case { context, ended: end })),
                None => left_out += 1,
            }
            begin = end;
        }
    }
    for (index, Case { context, ended }) in cases {
        let span = context.span();
        if let Some(case) = verdict.cases.get(index) {
            describe(&span, index, case);
        }
        span.end_with_timestamp(ended);
    }
    work.shown().left_out = left_out;
    if left_out > 0 {
        parent.span().set_attribute(KeyValue::new("proofbox.cases.left_out", left_out));
    }
}

/// Describes a case by its index, not by its name: that may be a line of the tests.
fn describe(span: &SpanRef<'_>, index: usize, case: &CaseResult) {
    span.set_attribute(number("proofbox.case.index", index as u64));
    span.set_attribute(KeyValue::new("proofbox.case.status", case.status.as_str()));
    span.set_attribute(KeyValue::new("proofbox.stderr_class", case.class.as_str()));
    span.set_attribute(number("proofbox.fuel_used", case.fuel_used));
    span.set_attribute(number("proofbox.peak_memory_bytes", case.peak_memory_bytes));
    if case.class != FailureClass::None {
        span.set_attribute(KeyValue::new("error.type", case.class.as_str()));
    }
}

fn fail(span: &SpanRef<'_>, why: &'static str) {
    span.set_attribute(KeyValue::new("error.type", why));
    span.set_status(Status::error(why));
}

fn number(name: &'static str, value: u64) -> KeyValue {
    KeyValue::new(name, i64::try_from(value).unwrap_or(i64::MAX))
}

fn label(name: &str, value: &str) -> KeyValue {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' };
    let name: String = cut(name, LABEL_NAME).chars().map(plain).collect();
    KeyValue::new(format!("proofbox.label.{name}"), cut(value, LABEL_VALUE).to_owned())
}

fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_bounded_and_their_names_plain() {
        let KeyValue { key, value, .. } = label("model name\n", &"ä".repeat(200));
        assert_eq!(key.as_str(), "proofbox.label.model_name_");
        assert_eq!(value.as_str().len(), LABEL_VALUE);
        assert_eq!(label(&"x".repeat(100), "").key.as_str().len(), "proofbox.label.".len() + LABEL_NAME);
    }
}
