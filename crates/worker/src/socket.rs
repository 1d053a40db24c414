//! The socket between the front process and a worker, as tokio's `UnixStream` but for one thing: who has written is not
//! woken each time that the other end has read. Either end writes little and seldom finds the socket full, so it asks for
//! room only then; else each message would wake both processes once more than it must.

use std::io::{self, ErrorKind, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use tokio::net::unix::pipe;

/// End at which frames leave. Nothing can be written to the socket once this is dropped.
pub(crate) struct SocketWriter {
    socket: UnixStream,
    /// The socket once more, to be told of room. Made beforehand: a worker may make no descriptor.
    room: Room,
}

enum Room {
    /// Nobody waits for it.
    Unasked(OwnedFd),
    /// The socket was full.
    Awaited(pipe::Sender),
    /// Between these, or the runtime could not watch it.
    Lost,
}

/// Splits a socket; within a runtime. tokio's ends of pipes take any descriptor, and watch it for one thing alone.
///
/// # Errors
/// Returns an error when there is no further descriptor, or the runtime can't watch it.
pub(crate) fn split(socket: UnixStream) -> io::Result<(pipe::Receiver, SocketWriter)> {
    socket.set_nonblocking(true)?;
    let writer = SocketWriter { socket: socket.try_clone()?, room: Room::Unasked(socket.try_clone()?.into()) };
    Ok((pipe::Receiver::from_owned_fd_unchecked(socket.into())?, writer))
}

impl AsyncWrite for SocketWriter {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Self { socket, room } = &mut *self;
        let mut sender = match std::mem::replace(room, Room::Lost) {
            Room::Unasked(watched) => match socket.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => pipe::Sender::from_owned_fd_unchecked(watched)?,
                written => {
                    *room = Room::Unasked(watched);
                    return Poll::Ready(written);
                }
            },
            Room::Awaited(sender) => sender,
            Room::Lost => return Poll::Ready(Err(ErrorKind::BrokenPipe.into())),
        };
        match Pin::new(&mut sender).poll_write(context, bytes) {
            Poll::Pending => {
                *room = Room::Awaited(sender);
                Poll::Pending
            }
            written @ Poll::Ready(_) => {
                *room = Room::Unasked(sender.into_nonblocking_fd()?);
                written
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.socket.shutdown(Shutdown::Write))
    }
}

impl Drop for SocketWriter {
    fn drop(&mut self) {
        // The other end may be gone.
        let _ = self.socket.shutdown(Shutdown::Write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn what_is_larger_than_the_socket_arrives_whole() {
        let (here, there) = UnixStream::pair().expect("a pair");
        let (_reader, mut writer) = split(here).expect("descriptors");
        let (mut reader, _writer) = split(there).expect("descriptors");
        let sent: Vec<u8> = (0..8_u32 << 20).map(|number| (number / 251) as u8).collect();
        let expected = sent.clone();
        let task = tokio::spawn(async move {
            // Twice: it waits for room more than once, and is free between.
            for _ in 0..2 {
                writer.write_all(&sent).await.expect("somebody reads");
            }
        });
        let mut received = Vec::new();
        reader.read_to_end(&mut received).await.expect("it can be read");
        task.await.expect("it does not panic");
        assert!(received[..expected.len()] == expected && received[expected.len()..] == expected);
    }

    #[tokio::test]
    async fn who_writes_to_nobody_is_told() {
        let (here, there) = UnixStream::pair().expect("a pair");
        let (mut reader, mut writer) = split(here).expect("descriptors");
        drop(there);
        assert_eq!(reader.read(&mut [0; 8]).await.expect("an end"), 0);
        assert_eq!(writer.write_all(b"x").await.expect_err("nobody is there").kind(), ErrorKind::BrokenPipe);
    }
}
