//! Connections: how many at once, and how long a client may keep each of them waiting; with TLS or without.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use prometheus::IntGauge;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tower::Layer;

use super::pace::Paced;
use super::tls::{Handshakes, PlainStream, Tls};

/// Bytes of a request's head.
const HEAD_BYTES: usize = 64 << 10;
/// Pause after an `accept` error that concerns no single connection (the process has no descriptors left).
const BREATHER: Duration = Duration::from_millis(100);

/// Limits on what clients may take.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionBounds {
    /// Connections at once; more wait in the kernel's queue.
    pub most: usize,
    /// Longest wait for a request's head, for the next piece of its body, and for the client to take a piece of the
    /// answer.
    pub idle_timeout: Duration,
}

/// Address that a connection comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub SocketAddr);

/// A connection that is open, and has one of the slots: until the last clone is dropped.
#[derive(Clone)]
pub(super) struct OpenConnection {
    /// Dropped with its last clone.
    _counted: Arc<Counted>,
    /// Token for which the server waits when it goes down, if it waits for the connection.
    _waited_for: Option<TaskTrackerToken>,
}

struct Counted {
    open: IntGauge,
    _slot: OwnedSemaphorePermit,
}

impl OpenConnection {
    fn new(open: IntGauge, slot: OwnedSemaphorePermit) -> Self {
        open.inc();
        Self { _counted: Arc::new(Counted { open, _slot: slot }), _waited_for: None }
    }

    /// Has the server wait for the connection.
    fn waited_for(self, token: Option<TaskTrackerToken>) -> Self {
        Self { _waited_for: token, ..self }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.open.dec();
    }
}

/// Serves HTTP/1.1, over TLS if there is a certificate, until `shutdown` is done, and then requests in flight to their end. Meanwhile new connections are
/// still answered, with one exchange each, in which `router` refuses them.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    router: Router,
    bounds: ConnectionBounds,
    open: IntGauge,
    shutdown: impl Future<Output = ()>,
) {
    let tls = tls.map(|tls| (tls, Handshakes::new(bounds.most, bounds.idle_timeout)));
    let slots = Arc::new(Semaphore::new(bounds.most));
    let draining = CancellationToken::new();
    let acceptor = Acceptor { slots, listener, tls, draining: draining.clone(), router, bounds, open };
    let under_way = TaskTracker::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            (stream, peer, slot) = acceptor.accept() => {
                drop(tokio::spawn(acceptor.exchange(stream, peer, slot, Some(under_way.token()))));
            }
            () = &mut shutdown => break,
        }
    }
    draining.cancel();
    under_way.close();
    let mut ended = std::pin::pin!(under_way.wait());
    loop {
        tokio::select! {
            (stream, peer, slot) = acceptor.accept() => drop(tokio::spawn(acceptor.exchange(stream, peer, slot, None))),
            () = &mut ended => return,
        }
    }
}

/// Acceptor of connections, as many as there are slots.
struct Acceptor {
    listener: TcpListener,
    slots: Arc<Semaphore>,
    tls: Option<(Arc<Tls>, Arc<Handshakes>)>,
    /// Cancelled when no connection is waited for that has not begun.
    draining: CancellationToken,
    router: Router,
    bounds: ConnectionBounds,
    open: IntGauge,
}

impl Acceptor {
    /// Serves a connection to its end, or to the end of its first exchange when nobody waits for it.
    fn exchange(
        &self,
        stream: TcpStream,
        peer: Peer,
        slot: OwnedSemaphorePermit,
        waited_for: Option<TaskTrackerToken>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (router, tls, open) = (self.router.clone(), self.tls.clone(), self.open.clone());
        let draining = self.draining.clone();
        let idle_timeout = self.bounds.idle_timeout;
        async move {
            let connection = OpenConnection::new(open, slot);
            let exchange = (router, peer, connection);
            match tls {
                None => serve_stream(bounded(stream, idle_timeout), exchange, idle_timeout, draining, waited_for).await,
                Some((tls, handshakes)) => {
                    let handshake = handshakes.accept(&tls, stream, |stream| bounded(stream, idle_timeout));
                    let mut handshake = std::pin::pin!(handshake);
                    let (stream, waited_for) = tokio::select! {
                        stream = &mut handshake => (stream, waited_for),
                        () = draining.cancelled() => {
                            drop(waited_for);
                            (handshake.await, None)
                        }
                    };
                    if let Some(stream) = stream {
                        serve_stream(stream, exchange, idle_timeout, draining, waited_for).await;
                    }
                }
            }
        }
    }

    async fn accept(&self) -> (TcpStream, Peer, OwnedSemaphorePermit) {
        let slot = Arc::clone(&self.slots).acquire_owned().await.expect("the semaphore is never closed");
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    // Answers that come in pieces are not held back until the piece before has been acknowledged.
                    let _ = stream.set_nodelay(true);
                    return (stream, Peer(address), slot);
                }
                Err(error) if is_of_one_connection(error.kind()) => {}
                Err(error) => {
                    tracing::error!(%error, "no connection can be accepted now");
                    tokio::time::sleep(BREATHER).await;
                }
            }
        }
    }
}

/// Bounds the time that a client may take for what is sent to it.
fn bounded(stream: TcpStream, idle_timeout: Duration) -> PlainStream {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(idle_timeout));
    Paced::new(Box::pin(stream), idle_timeout)
}

/// Serves HTTP on a connection to its end, or to the end of its first exchange when nobody waits for it.
async fn serve_stream(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    (router, peer, connection): (Router, Peer, OpenConnection),
    idle_timeout: Duration,
    draining: CancellationToken,
    waited_for: Option<TaskTrackerToken>,
) {
    let is_waited_for = waited_for.is_some();
    // A WebSocket keeps its connection open after the exchange that it began with.
    let service = Extension(peer).layer(Extension(connection.waited_for(waited_for)).layer(router));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(idle_timeout)
        .max_buf_size(HEAD_BYTES)
        .keep_alive(is_waited_for)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
        .with_upgrades();
    // However it ends, it is the client's affair: what we fail at is answered, and logged there.
    let mut connection = std::pin::pin!(connection);
    let _ = tokio::select! {
        ended = connection.as_mut() => ended,
        () = draining.cancelled(), if is_waited_for => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
}

fn is_of_one_connection(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionAborted | ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset)
}
