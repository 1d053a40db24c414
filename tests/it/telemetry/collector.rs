//! A collector of spans: OTLP over HTTP, as protobuf.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

use crate::harness::Server;
use crate::process::eventually;

/// What has come in.
#[derive(Default)]
pub(super) struct Received {
    pub spans: Vec<Span>,
    pub resource: Vec<KeyValue>,
    pub headers: HeaderMap,
    /// All of it as it came.
    pub raw: Vec<u8>,
}

#[derive(Clone)]
pub(super) struct Collector {
    pub url: String,
    received: Arc<Mutex<Received>>,
}

impl Collector {
    pub(super) async fn start() -> Self {
        let received = Arc::<Mutex<Received>>::default();
        let router = Router::new().route("/v1/traces", post(take)).with_state(Arc::clone(&received));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, received }
    }

    /// A server that sends its spans here, soon.
    pub(super) fn server(&self, arguments: &[&str]) -> Server {
        Server::start_with(arguments, |command| {
            command.env("PROOFBOX_OTLP_ENDPOINT", &self.url).env("OTEL_BSP_SCHEDULE_DELAY", "50");
        })
    }

    pub(super) fn received<T>(&self, look: impl FnOnce(&Received) -> T) -> T {
        look(&self.received.lock().expect("no holder panics"))
    }

    /// The spans of a trace, when the one of its request has come: that ends last.
    pub(super) async fn trace(&self, id: &str) -> Trace {
        let of_trace = |received: &Received| -> Vec<Span> {
            received.spans.iter().filter(|span| hex(&span.trace_id) == id).cloned().collect()
        };
        let spans = eventually("the request's span comes", || {
            let spans = self.received(of_trace);
            spans.iter().any(|span| span.kind == SERVER).then_some(spans)
        })
        .await;
        Trace(spans)
    }
}

/// `SPAN_KIND_SERVER`
pub(super) const SERVER: i32 = 2;

async fn take(State(received): State<Arc<Mutex<Received>>>, headers: HeaderMap, body: Bytes) {
    assert_eq!(headers["content-type"], "application/x-protobuf");
    let request = ExportTraceServiceRequest::decode(body.clone()).expect("it is what the standard says");
    let mut received = received.lock().expect("no holder panics");
    for resource in request.resource_spans {
        received.resource = resource.resource.expect("there is one").attributes;
        received.spans.extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
    }
    received.headers = headers;
    received.raw.extend_from_slice(&body);
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The spans of one trace.
pub(super) struct Trace(pub Vec<Span>);

impl Trace {
    pub(super) fn named(&self, name: &str) -> Vec<&Span> {
        self.0.iter().filter(|span| span.name == name).collect()
    }

    /// The one of that name.
    #[track_caller]
    pub(super) fn one(&self, name: &str) -> &Span {
        let found = self.named(name);
        let names: Vec<&str> = self.0.iter().map(|span| span.name.as_str()).collect();
        assert_eq!(found.len(), 1, "{name} in {names:?}");
        found[0]
    }

    /// The one that stands above it.
    #[track_caller]
    pub(super) fn above(&self, span: &Span) -> &str {
        let above = self.0.iter().find(|other| other.span_id == span.parent_span_id);
        &above.unwrap_or_else(|| panic!("nothing above {}", span.name)).name
    }
}

/// An attribute as text; empty where there is none.
pub(super) fn attribute(attributes: &[KeyValue], name: &str) -> String {
    let found = attributes.iter().find(|attribute| attribute.key == name);
    match found.and_then(|found| found.value.clone()) {
        Some(AnyValue { value: Some(value) }) => match value {
            Value::StringValue(text) => text,
            Value::IntValue(number) => number.to_string(),
            Value::DoubleValue(number) => number.to_string(),
            Value::BoolValue(yes) => yes.to_string(),
            other => panic!("{name} is {other:?}"),
        },
        _ => String::new(),
    }
}

/// How long a span is.
pub(super) fn seconds(span: &Span) -> f64 {
    (span.end_time_unix_nano - span.start_time_unix_nano) as f64 / 1e9
}
