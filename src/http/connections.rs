//! Connections: how many at once, and how long a client may keep each of them waiting.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use futures_util::future::Either;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use prometheus::IntGauge;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;
use tower::Layer;

use super::pace::Paced;

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
pub struct Peer(pub SocketAddr);

/// Serves HTTP/1.1 until `shutdown` is done, and then requests in flight to their end. Meanwhile new connections are
/// still answered, with one exchange each, in which `router` refuses them.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    bounds: ConnectionBounds,
    open: IntGauge,
    shutdown: impl Future<Output = ()>,
) {
    let acceptor = Acceptor { slots: Arc::new(Semaphore::new(bounds.most)), listener, router, bounds, open };
    let under_way = GracefulShutdown::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            (stream, peer, slot) = acceptor.accept() => {
                drop(tokio::spawn(acceptor.exchange(stream, peer, slot, Some(&under_way))));
            }
            () = &mut shutdown => break,
        }
    }
    let mut ended = std::pin::pin!(under_way.shutdown());
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
        under_way: Option<&GracefulShutdown>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let service = Extension(peer).layer(self.router.clone());
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.bounds.idle_timeout));
        let stream = Paced::new(Box::pin(stream), self.bounds.idle_timeout);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.bounds.idle_timeout)
            .max_buf_size(HEAD_BYTES)
            .keep_alive(under_way.is_some())
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
        let connection = match under_way {
            Some(under_way) => Either::Left(under_way.watch(connection)),
            None => Either::Right(connection),
        };
        let open = self.open.clone();
        async move {
            open.inc();
            // However it ends, it is the client's affair: what we fail at is answered, and logged there.
            let _ = connection.await;
            open.dec();
            drop(slot);
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

fn is_of_one_connection(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionAborted | ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset)
}
