//! Entry points for bytes that workers send, for fuzzing (loadtest's `fuzz`).

use tokio_util::bytes::BytesMut;
use tokio_util::codec::Decoder;

use super::protocol::{FromWorker, decode, encode, framing};
use crate::rpc::{RequestError, SessionEvent, SessionResponse};
use proofbox_types::hardening::{Hardened, Layer, LayerState};
use proofbox_types::outcome::Outcome;

/// Decodes everything that a worker sends; returns how many frames were valid messages.
pub fn frames(bytes: &[u8]) -> usize {
    let (mut buffer, mut codec) = (BytesMut::from(bytes), framing());
    let mut sense = 0;
    while let Ok(Some(frame)) = codec.decode_eof(&mut buffer) {
        match decode::<FromWorker>(&frame) {
            Ok(_) => sense += 1,
            // It is not listened to any longer.
            Err(_) => break,
        }
    }
    sense
}

/// Returns the content of frames that an honest worker may send.
pub fn honest(outcomes: impl IntoIterator<Item = Outcome>) -> Vec<Vec<u8>> {
    let state = LayerState { layer: Layer::Landlock, in_force: false, detail: Some("none".to_owned()) };
    let mut messages = vec![
        FromWorker::Ready { hardened: Hardened(vec![state]) },
        FromWorker::Unfit { reason: "no room".to_owned() },
        FromWorker::Pong { live: 7 },
        FromWorker::Done { id: 1, result: Err("it failed".to_owned()) },
        FromWorker::Event { id: 300, event: SessionEvent::Stdout(b"text".to_vec()) },
        FromWorker::Event { id: 300, event: SessionEvent::Watching },
        FromWorker::Answered { id: 1, result: Ok(SessionResponse::Contexts(vec![(1, Some("/home".to_owned()))])) },
        FromWorker::Answered { id: 1, result: Ok(SessionResponse::Saved(vec![1; 100])) },
        FromWorker::Answered { id: 1, result: Err(RequestError::TooMany("contexts".to_owned())) },
    ];
    messages.extend(outcomes.into_iter().map(|outcome| FromWorker::Done { id: 2, result: Ok(Box::new(outcome)) }));
    messages.iter().map(|message| encode(message).to_vec()).collect()
}
