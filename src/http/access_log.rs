//! Log, counters and traces of requests: the outermost layer of middleware.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Version};
use axum::middleware::Next;
use axum::response::Response;
use http_body::{Frame, SizeHint};
use tokio::runtime::Handle;

use super::AppState;
use crate::metrics::Metrics;
use crate::telemetry::{self, Head, Visibility};

/// Route label of paths that do not exist. A client can make up any number of paths.
const UNKNOWN: &str = "unknown";
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACERESPONSE: HeaderName = HeaderName::from_static("traceresponse");

/// Names the request, and follows it to the end of its answer.
pub(super) async fn observe(State(shared): State<AppState>, request: Request, next: Next) -> Response {
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let route = matched.as_ref().map_or(UNKNOWN, MatchedPath::as_str);
    let headers = request.headers();
    let text = |name: &str| one(headers, name)?.to_str().ok();
    let served = shared.telemetry.request(&Head {
        method: method(request.method()),
        route,
        protocol: protocol(request.version()),
        id: one(headers, "x-request-id").map(HeaderValue::as_bytes),
        traceparent: text("traceparent"),
        tracestate: text("tracestate"),
        trace: if is_probe(route) { Visibility::Hidden } else { Visibility::Shown },
    });
    let mut served = Served { request: Some(served), metrics: Arc::clone(&shared.service.metrics) };
    let response = served.request().serve(next.run(request)).await;
    served.request().answered(response.status().as_u16());
    shared.service.metrics.requests.with_label_values(&[route, response.status().as_str()]).inc();

    let (mut head, body) = response.into_parts();
    // Visible ASCII, as it was made or checked.
    if let Ok(id) = HeaderValue::from_str(served.request().id().as_str()) {
        head.headers.insert(REQUEST_ID, id);
    }
    if let Some(trace) = served.request().traceresponse().and_then(|trace| HeaderValue::try_from(trace).ok()) {
        head.headers.insert(TRACERESPONSE, trace);
    }
    Response::from_parts(head, Body::new(Observed { body, served }))
}

/// Returns whether a route is one that monitoring polls every few seconds.
fn is_probe(route: &str) -> bool {
    matches!(route, "/healthz" | "/readyz" | "/metrics")
}

/// A header that is there once.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

/// Returns the label of a method. Clients can make up any number of methods, too.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::PATCH => "PATCH",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::CONNECT => "CONNECT",
        Method::TRACE => "TRACE",
        _ => "_OTHER",
    }
}

fn protocol(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "0.9",
        Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2",
        Version::HTTP_3 => "3",
        _ => "1.1",
    }
}

/// A request, counted when it ends.
struct Served {
    /// None once it has ended.
    request: Option<telemetry::Request>,
    metrics: Arc<Metrics>,
}

impl Served {
    fn request(&mut self) -> &mut telemetry::Request {
        self.request.as_mut().expect("it has not ended")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let Some(mut request) = self.request.take() else { return };
        let seconds = request.end();
        self.metrics.request_seconds.with_label_values(&[request.route()]).observe(seconds);
        // The end of an answer is written once this has returned: nobody waits for its line in the log.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { drop(request) });
        }
    }
}

/// The body of an answer, counted as it goes out. The request has ended when this is dropped.
struct Observed {
    body: Body,
    served: Served,
}

impl HttpBody for Observed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Self { body, served } = &mut *self;
        let polled = served.request().piece(|| Pin::new(body).poll_frame(context));
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            served.request().sent(frame.data_ref().map_or(0, Bytes::len));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
