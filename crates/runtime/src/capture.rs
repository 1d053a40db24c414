//! Standard output and error, held within bounds while the guest writes without any.

use std::collections::VecDeque;

use proofbox_types::outcome::Captured;

/// Keeps the first and the last bytes of a stream, `limit` in all.
#[derive(Debug)]
pub(crate) struct Capture {
    limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    /// Keeps at most `limit` bytes.
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit: usize::try_from(limit).unwrap_or(usize::MAX), head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    /// Takes what the guest wrote.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        // Until the limit is met everything goes to the head, so that short output is never cut.
        let room = self.limit - self.head.len().min(self.limit);
        if self.tail.is_empty() && room > 0 {
            let (now, later) = bytes.split_at(bytes.len().min(room));
            self.head.extend_from_slice(now);
            bytes = later;
        }
        if bytes.is_empty() {
            return;
        }
        // More than fits: the second half of the head becomes the beginning of the tail.
        if self.tail.is_empty() {
            let half = self.head.len() / 2;
            self.tail = self.head.split_off(half).into();
        }
        let room = self.limit - self.head.len();
        let newest = &bytes[bytes.len() - bytes.len().min(room)..];
        let excess = (self.tail.len() + newest.len()).saturating_sub(room);
        self.tail.drain(..excess);
        self.tail.extend(newest);
    }

    /// Bytes written so far, kept or not.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the captured bytes and their total.
    pub(crate) fn finish(self) -> Captured {
        Captured { head: self.head, tail: self.tail.into(), total_bytes: self.total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(limit: u64, writes: &[&[u8]]) -> Captured {
        let mut capture = Capture::new(limit);
        for bytes in writes {
            capture.write(bytes);
        }
        capture.finish()
    }

    #[test]
    fn short_output_is_whole() {
        let captured = capture(8, &[b"1234", b"5678"]);
        assert_eq!((captured.head.as_slice(), captured.is_truncated()), (b"12345678".as_slice(), false));
    }

    #[test]
    fn long_output_keeps_its_first_and_last_bytes() {
        let captured = capture(8, &[b"123456789", b"abcdef"]);
        assert_eq!(
            (captured.head.as_slice(), captured.tail.as_slice(), captured.total_bytes),
            (b"1234".as_slice(), b"cdef".as_slice(), 15)
        );
    }

    #[test]
    fn one_huge_write_is_bounded() {
        let captured = capture(4, &[&[b'x'; 100_000]]);
        assert_eq!(captured.head.len() + captured.tail.len(), 4);
    }

    #[test]
    fn a_limit_of_nothing_keeps_nothing() {
        let captured = capture(0, &[b"abc"]);
        assert_eq!((captured.head.len() + captured.tail.len(), captured.is_truncated()), (0, true));
    }
}
