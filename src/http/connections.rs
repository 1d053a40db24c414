//! Connections: how many at once, and how long a client may keep each of them waiting.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use prometheus::IntGauge;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;

/// Bytes of a request's head.
const HEAD_BYTES: usize = 64 << 10;
/// After an error that concerns no single connection (the process has no descriptors left).
const BREATHER: Duration = Duration::from_millis(100);

/// What clients may take.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionBounds {
    /// Connections at once; more wait in the kernel's queue.
    pub most: usize,
    /// For a request's head, between two pieces of its body, and until a piece of the answer is taken.
    pub patience: Duration,
}

/// Serves HTTP/1.1 until `shutdown` is done, and then what is under way to its end.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    bounds: ConnectionBounds,
    open: IntGauge,
    shutdown: impl Future<Output = ()>,
) {
    let places = Arc::new(Semaphore::new(bounds.most));
    let graceful = GracefulShutdown::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let (stream, place) = tokio::select! {
            accepted = accept(&listener, &places) => accepted,
            () = &mut shutdown => break,
        };
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(bounds.patience));
        let service = TowerToHyperService::new(router.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(bounds.patience)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(Box::pin(stream)), service);
        let connection = graceful.watch(connection);
        let open = open.clone();
        tokio::spawn(async move {
            open.inc();
            // However it ends, it is the client's affair: what we fail at is answered, and logged there.
            let _ = connection.await;
            open.dec();
            drop(place);
        });
    }
    drop(listener);
    graceful.shutdown().await;
}

async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> (TcpStream, OwnedSemaphorePermit) {
    let place = Arc::clone(places).acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers that come in pieces are not held back until the piece before has been acknowledged.
                let _ = stream.set_nodelay(true);
                return (stream, place);
            }
            Err(error) if is_of_one_connection(error.kind()) => {}
            Err(error) => {
                tracing::error!(%error, "no connection can be accepted now");
                tokio::time::sleep(BREATHER).await;
            }
        }
    }
}

fn is_of_one_connection(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionAborted | ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset)
}
