//! Span and access line of a request, from its arrival to the end of its answer.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::{Span, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracer;
use tracing::Instrument;
use tracing::instrument::Instrumented;

use super::work::Work;
use super::{RequestId, Telemetry};

/// Cases that one trace shows.
const CASES: i64 = 128;
/// Spans beside them that one trace shows.
const SPANS: i64 = 1024;
/// The longest `traceparent` and `tracestate` that are read; the standard's own bounds are 55 and 512 bytes.
const MAX_CONTEXT: usize = 512;
/// Status that nginx logs for clients that did not wait for their answer.
const CLIENT_GONE: u16 = 499;

tokio::task_local! {
    /// Scope of the current task.
    static CURRENT: Scope;
}

/// Scope of work: a request, and where it is traced the span that is under way.
#[derive(Clone)]
pub(super) struct Scope {
    pub(super) shared: Arc<RequestState>,
    /// The span that new ones stand below; none where they are left out.
    pub(super) parent: Option<Context>,
    /// The execution that new ones belong to.
    pub(super) work: Option<Arc<Work>>,
}

/// State that all parts of a request share.
pub(super) struct RequestState {
    pub(super) trace: Option<Trace>,
    key: OnceLock<String>,
}

/// The trace of a request, with how much of it may still be shown.
pub(super) struct Trace {
    pub(super) tracer: SdkTracer,
    spans_left: AtomicI64,
    cases_left: AtomicI64,
}

impl Trace {
    /// A span below `parent`, unless there are too many.
    pub(super) fn span(&self, builder: SpanBuilder, parent: &Context) -> Option<Context> {
        taken(&self.spans_left).then(|| parent.with_span(self.tracer.build_with_context(builder, parent)))
    }

    /// Returns the same for a case.
    pub(super) fn case(&self, builder: SpanBuilder, parent: &Context) -> Option<Context> {
        taken(&self.cases_left).then(|| parent.with_span(self.tracer.build_with_context(builder, parent)))
    }
}

fn taken(left: &AtomicI64) -> bool {
    left.fetch_sub(1, Ordering::Relaxed) > 0
}

/// Returns the number of spans or cases that were left out beyond the limit of the trace.
fn left_out(left: &AtomicI64) -> i64 {
    (-left.load(Ordering::Relaxed)).max(0)
}

/// The scope of this task, where its request is traced.
pub(super) fn traced() -> Option<Scope> {
    CURRENT.try_with(|scope| scope.shared.trace.is_some().then(|| scope.clone())).ok().flatten()
}

/// Does `work` in that scope.
pub(super) async fn within<F: Future>(scope: Scope, work: F) -> F::Output {
    CURRENT.scope(scope, work).await
}

/// Request that a task serves, for tasks that others start: their lines have the request's name, their spans belong to
/// the request's trace.
#[derive(Clone)]
pub struct RequestScope {
    scope: Option<Scope>,
    span: tracing::Span,
}

impl RequestScope {
    /// Takes the request that this task serves, if there is one.
    pub fn current() -> Self {
        Self { scope: CURRENT.try_with(Scope::clone).ok(), span: tracing::Span::current() }
    }

    /// Does `work` for the request.
    pub fn serve<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        let Self { scope, span } = self;
        // Else there would be room for it in each of those around it, in some more than once.
        let work = Box::pin(work);
        let work = async move {
            match scope {
                Some(scope) => CURRENT.scope(scope, work).await,
                None => work.await,
            }
        };
        work.instrument(span)
    }
}

/// Has a task of its own do `work` for the request that this one serves.
pub fn carry<F: Future>(work: F) -> impl Future<Output = F::Output> {
    RequestScope::current().serve(work)
}

/// Notes whose request this task serves: the name of a key, as its operator chose it.
pub fn name_key(name: &str) {
    // Outside of a request there is nobody to be named.
    let _ = CURRENT.try_with(|scope| scope.shared.key.set(name.to_owned()));
}

/// Description of a request when it arrives.
pub struct Head<'a> {
    /// Method: one that HTTP defines, or `_OTHER`.
    pub method: &'static str,
    /// The pattern of its path, never the path: that has names of sessions in it.
    pub route: &'a str,
    /// Version of HTTP: `1.1` or `2`.
    pub protocol: &'static str,
    /// The client's own name for it.
    pub id: Option<&'a [u8]>,
    /// W3C trace context: the `traceparent` header.
    pub traceparent: Option<&'a str>,
    /// W3C trace context: the `tracestate` header.
    pub tracestate: Option<&'a str>,
    /// Visibility of the request in traces.
    pub trace: Visibility,
}

/// Visibility of a request in traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// The request has a span.
    Shown,
    /// The request has no span: health probes come every few seconds.
    Hidden,
}

impl Extractor for Head<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        let value = match key {
            "traceparent" => self.traceparent,
            "tracestate" => self.tracestate,
            _ => None,
        };
        value.filter(|value| value.len() <= MAX_CONTEXT)
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

/// A request that is being served. It ends, with its line of access, when this is dropped.
pub struct Request {
    id: RequestId,
    began: Instant,
    method: &'static str,
    route: String,
    scope: Scope,
    /// Span of the log in which its lines stand.
    lines: tracing::Span,
    status: Option<u16>,
    bytes: u64,
    /// Seconds that it took, once it has ended.
    duration: Option<f64>,
}

impl Telemetry {
    /// A request has come.
    pub fn request(&self, head: &Head<'_>) -> Request {
        let id = RequestId::of(head.id);
        // As an error: the name stands in every line, whichever are let through.
        let lines = tracing::error_span!("request", request_id = id.as_str(), trace_id = tracing::field::Empty);
        let tracer = self.tracer().filter(|_| head.trace == Visibility::Shown);
        let (trace, parent) = tracer.map(|tracer| begin(tracer, head)).unzip();
        let trace = trace.flatten();
        if let Some(parent) = &parent {
            lines.record("trace_id", tracing::field::display(parent.span().span_context().trace_id()));
        }
        Request {
            id,
            began: Instant::now(),
            method: head.method,
            route: head.route.to_owned(),
            scope: Scope { shared: Arc::new(RequestState { trace, key: OnceLock::new() }), parent, work: None },
            lines,
            status: None,
            bytes: 0,
            duration: None,
        }
    }
}

/// Begins the request's span; returns the trace for further spans (none where the sampler leaves it out) and the
/// context.
fn begin(tracer: &SdkTracer, head: &Head<'_>) -> (Option<Trace>, Context) {
    // What is not a context as the standard has it begins a trace of its own.
    let parent = TraceContextPropagator::new().extract_with_context(&Context::new(), head);
    let builder = SpanBuilder::from_name(format!("{} {}", head.method, head.route))
        .with_kind(SpanKind::Server)
        .with_attributes([
            KeyValue::new("http.request.method", head.method),
            KeyValue::new("http.route", head.route.to_owned()),
            KeyValue::new("url.scheme", "http"),
            KeyValue::new("network.protocol.version", head.protocol),
        ]);
    let span = tracer.build_with_context(builder, &parent);
    let trace = || Trace { tracer: tracer.clone(), spans_left: SPANS.into(), cases_left: CASES.into() };
    (span.is_recording().then(trace), Context::new().with_span(span))
}

impl Request {
    /// Returns the request's id.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// `traceresponse`, as W3C's trace context has it: which trace shows the request.
    pub fn traceresponse(&self) -> Option<String> {
        let parent = self.scope.parent.as_ref()?;
        let span = parent.span();
        let context = span.span_context();
        Some(format!("00-{}-{}-{:02x}", context.trace_id(), context.span_id(), context.trace_flags().to_u8()))
    }

    /// Serves the request: runs `work` in its scope.
    pub fn serve<F: Future>(&self, work: F) -> Instrumented<impl Future<Output = F::Output> + use<F>> {
        CURRENT.scope(self.scope.clone(), work).instrument(self.lines.clone())
    }

    /// Does a piece of work for it: an answer that comes in pieces is made while it is sent.
    pub fn piece<R>(&self, work: impl FnOnce() -> R) -> R {
        let _line = self.lines.enter();
        CURRENT.sync_scope(self.scope.clone(), work)
    }

    /// The answer's head is known.
    pub fn answered(&mut self, status: u16) {
        self.status = Some(status);
    }

    /// Counts bytes of the answer's body that have gone out.
    pub fn sent(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    /// The pattern of its path.
    pub fn route(&self) -> &str {
        &self.route
    }

    /// Ends it and its span; returns the seconds that it took. Its line in the log is written when it is dropped.
    pub fn end(&mut self) -> f64 {
        if let Some(seconds) = self.duration {
            return seconds;
        }
        let seconds = self.began.elapsed().as_secs_f64();
        self.duration = Some(seconds);
        self.end_span();
        seconds
    }

    fn end_span(&self) {
        let status = self.status.unwrap_or(CLIENT_GONE);
        let (Some(trace), Some(context)) = (&self.scope.shared.trace, &self.scope.parent) else { return };
        let span = context.span();
        span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status)));
        span.set_attribute(KeyValue::new("http.response.body.size", i64::try_from(self.bytes).unwrap_or(i64::MAX)));
        if let Some(key) = self.scope.shared.key.get() {
            span.set_attribute(KeyValue::new("proofbox.key.name", key.clone()));
        }
        for (name, left) in
            [("proofbox.cases.left_out", &trace.cases_left), ("proofbox.spans.left_out", &trace.spans_left)]
        {
            if left_out(left) > 0 {
                span.set_attribute(KeyValue::new(name, left_out(left)));
            }
        }
        if status >= 500 || status == CLIENT_GONE {
            span.set_attribute(KeyValue::new("error.type", status.to_string()));
            span.set_status(Status::error(""));
        }
        span.end();
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let seconds = self.end();
        let _line = self.lines.enter();
        tracing::info!(
            target: "proofbox::access",
            method = self.method,
            route = self.route,
            status = self.status.unwrap_or(CLIENT_GONE),
            duration_seconds = seconds,
            bytes = self.bytes,
            key = self.scope.shared.key.get(),
        );
    }
}
