//! Answers that may be long in coming, for clients that wait for so long for each piece and know no queue: the answer
//! begins, and white space keeps it alive until the JSON is there (RFC 8259 lets any stand before it).

use std::pin::Pin;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use tokio::time::timeout;

/// Longest silence of an answer. Clients built on httpx wait for 5 s where they set nothing else, and verl for 10 s at
/// least; the rest is left for a busy machine.
const MAX_SILENCE: Duration = Duration::from_secs(2);
/// White space that keeps an answer alive.
const BLANK: &[u8] = b"\n";
/// Header that keeps reverse proxies from holding the white space back.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Answers with the JSON that `work` makes, with status 200; see [`answer_with`].
pub(crate) async fn answer<T, E, L>(
    work: impl Future<Output = Result<T, E>> + Send + 'static,
    late: impl FnOnce(E) -> L + Send + 'static,
) -> Response
where
    T: Serialize,
    E: IntoResponse,
    L: Serialize,
{
    answer_with(StatusCode::OK, work, late).await
}

/// Answers with the JSON that `work` makes. After [`MAX_SILENCE`] the answer begins with the status of success and white
/// space; what `work` fails at then is said by the JSON that `late` makes of the error.
pub(crate) async fn answer_with<T, E, L>(
    status: StatusCode,
    work: impl Future<Output = Result<T, E>> + Send + 'static,
    late: impl FnOnce(E) -> L + Send + 'static,
) -> Response
where
    T: Serialize,
    E: IntoResponse,
    L: Serialize,
{
    let mut work = Box::pin(work);
    if let Ok(done) = timeout(MAX_SILENCE, &mut work).await {
        return done.map(|done| (status, Json(done))).into_response();
    }
    let text = async move {
        match work.await {
            Ok(answer) => serde_json::to_vec(&answer),
            Err(error) => serde_json::to_vec(&late(error)),
        }
    };
    let text: Pin<Box<dyn Future<Output = serde_json::Result<Vec<u8>>> + Send>> = Box::pin(text);
    let pieces = stream::unfold((Some(text), true), |(text, is_first)| async move {
        let mut text = text?;
        // The client hears of it at once.
        if is_first {
            return Some((Ok(Bytes::from_static(BLANK)), (Some(text), false)));
        }
        match timeout(MAX_SILENCE, &mut text).await {
            Ok(done) => Some((done.map(Bytes::from), (None, false))),
            Err(_) => Some((Ok(Bytes::from_static(BLANK)), (Some(text), false))),
        }
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (BUFFERING, HeaderValue::from_static("no")),
    ];
    (status, headers, Body::from_stream(pieces)).into_response()
}

#[cfg(test)]
mod tests {
    use http_body::Body as _;
    use serde_json::{Value, json};
    use tokio::time::{Instant, sleep};

    use super::*;

    async fn answered(after: u64, result: Result<Value, StatusCode>) -> (StatusCode, Bytes) {
        let work = async move {
            sleep(Duration::from_secs(after)).await;
            result
        };
        let answer = answer(work, |status| json!({"late": status.as_u16()})).await;
        let status = answer.status();
        (status, axum::body::to_bytes(answer.into_body(), 1000).await.expect("the body is whole"))
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_there_soon_has_its_own_status() {
        assert_eq!(answered(1, Ok(json!([1]))).await, (StatusCode::OK, Bytes::from("[1]")));
        assert_eq!(answered(1, Err(StatusCode::GONE)).await.0, StatusCode::GONE);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_begins_with_white_space() {
        assert_eq!(answered(7, Ok(json!([1]))).await, (StatusCode::OK, Bytes::from("\n\n\n[1]")));
        let late = Bytes::from("\n{\"late\":410}");
        assert_eq!(answered(3, Err(StatusCode::GONE)).await, (StatusCode::OK, late));
    }

    #[tokio::test(start_paused = true)]
    async fn no_silence_is_longer_than_the_longest() {
        let work = async {
            sleep(Duration::from_secs(60)).await;
            Ok::<_, StatusCode>(json!(1))
        };
        let began = Instant::now();
        let mut body = answer(work, |_| json!(0)).await.into_body();
        assert_eq!(began.elapsed(), MAX_SILENCE);
        let mut last = Instant::now();
        while std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await.is_some() {
            assert!(last.elapsed() <= MAX_SILENCE, "{:?}", last.elapsed());
            last = Instant::now();
        }
        assert_eq!(began.elapsed(), Duration::from_secs(60));
    }
}
