//! Pace at which clients take answers: a client that reads a little now and then, so as never to be silent, is
//! disconnected.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// Slowest pace of a client for which something waits, in bytes a second.
const SLOWEST: u64 = 1 << 10;

/// A connection whose client must read what waits for it at [`SLOWEST`] at least, over twice the time that it may take
/// for a single piece. That it takes pieces at all, others see to.
pub(super) struct Paced<S> {
    stream: S,
    window: Duration,
    behind: Option<Behind>,
}

/// Bytes that a client has taken since it fell behind, or since it was last looked at.
struct Behind {
    since: Instant,
    taken: u64,
}

impl<S> Paced<S> {
    /// Wraps the connection of a client that may take so long for a piece.
    pub(super) fn new(stream: S, idle_timeout: Duration) -> Self {
        Self { stream, window: idle_timeout * 2, behind: None }
    }

    /// Notes what became of an attempt to write `whole` bytes.
    fn note(&mut self, written: Poll<Result<usize>>, whole: usize) -> Poll<Result<usize>> {
        match &written {
            Poll::Ready(Ok(length)) if *length == whole => self.behind = None,
            Poll::Ready(Ok(length)) => {
                let behind = self.behind.get_or_insert_with(|| Behind { since: Instant::now(), taken: 0 });
                behind.taken += *length as u64;
                if behind.since.elapsed() >= self.window {
                    let least = self.window.as_millis() as u64 * SLOWEST / 1000;
                    if behind.taken < least {
                        return Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client reads too slowly")));
                    }
                    *behind = Behind { since: Instant::now(), taken: 0 };
                }
            }
            Poll::Ready(Err(_)) => {}
            Poll::Pending => {
                self.behind.get_or_insert_with(|| Behind { since: Instant::now(), taken: 0 });
            }
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(written, bytes.len())
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        let whole = slices.iter().map(|slice| slice.len()).sum();
        self.note(written, whole)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Sends a long answer to a client that reads so many bytes every half second, with a second's patience.
    async fn answered(bytes_at_once: usize) -> Result<()> {
        let (ours, mut theirs) = tokio::io::duplex(64);
        let mut paced = Paced::new(ours, Duration::from_secs(1));
        let write = async { paced.write_all(&[7; 100_000]).await };
        let read = async {
            let mut buffer = vec![0; bytes_at_once];
            loop {
                tokio::time::sleep(Duration::from_millis(500)).await;
                let mut left = bytes_at_once;
                while left > 0 {
                    match theirs.read(&mut buffer[..left]).await {
                        Ok(length @ 1..) => left -= length,
                        _ => return,
                    }
                }
            }
        };
        tokio::select! {
            written = write => written,
            () = read => Ok(()),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_reads_a_little_now_and_then_is_let_go() {
        assert_eq!(answered(1).await.map_err(|error| error.kind()), Err(ErrorKind::TimedOut));
        assert_eq!(answered(400).await.map_err(|error| error.kind()), Err(ErrorKind::TimedOut));
        assert_eq!(answered(800).await.map_err(|error| error.kind()), Ok(()));
    }
}
