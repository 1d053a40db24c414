//! Records of inputs.

use super::value::RuntimeError;
use crate::PIPE_BYTES;
use crate::bounds::{Held, MAX_TEXT, Pace};
use crate::regular::Regular;
use crate::state::{Shell, Stop};
use crate::streams::{Line, Reader};

/// End of a record.
pub(super) enum Separator<'r> {
    Byte(u8),
    /// One or more empty lines.
    Paragraph,
    Regular(&'r Regular),
}

/// An input that records are read from.
pub(super) struct Input {
    reader: Reader,
    /// The rest of the input, and where it begins, once all of it had to be read.
    rest: Option<(Vec<u8>, usize)>,
    held: Held,
    /// Memory of what the reader reads from.
    kept: Option<Held>,
}

impl Input {
    pub(super) fn new(shell: &Shell, reader: Reader) -> Result<Self, RuntimeError> {
        // An open input takes something, too.
        let held = shell.shared.used.hold(4096).ok_or_else(RuntimeError::memory)?;
        Ok(Self { reader, rest: None, held, kept: None })
    }

    /// Keeps memory as long as the input is there.
    pub(super) fn keep(&mut self, held: Held) {
        self.kept = Some(held);
    }

    /// The next record; none at the end.
    pub(super) async fn next(
        &mut self,
        shell: &Shell,
        separator: Separator<'_>,
    ) -> Result<Result<Option<Vec<u8>>, RuntimeError>, Stop> {
        shell.step(1).await?;
        let mut record = Vec::new();
        match separator {
            Separator::Byte(end) => Ok(self.line(shell, &mut record, end).await?.map(|found| found.then_some(record))),
            Separator::Paragraph => {
                loop {
                    let start = record.len();
                    match self.line(shell, &mut record, b'\n').await? {
                        Err(error) => return Ok(Err(error)),
                        Ok(false) => break,
                        Ok(true) if record.len() > start => record.push(b'\n'),
                        // An empty line ends a record, and none stand before it.
                        Ok(true) if start > 0 => break,
                        Ok(true) => {}
                    }
                }
                let found = !record.is_empty();
                record.pop();
                Ok(Ok(found.then_some(record)))
            }
            Separator::Regular(regular) => self.until(shell, regular).await,
        }
    }

    /// Reads a line without what ends it. False: there is none.
    async fn line(&mut self, shell: &Shell, line: &mut Vec<u8>, end: u8) -> Result<Result<bool, RuntimeError>, Stop> {
        if let Some((rest, at)) = &mut self.rest {
            let left = &rest[*at..];
            let length = left.iter().position(|byte| *byte == end);
            line.extend_from_slice(&left[..length.unwrap_or(left.len())]);
            let found = !left.is_empty();
            *at += length.map_or(left.len(), |length| length + 1);
            return Ok(Ok(found));
        }
        let read = self.reader.read_line(line, end, MAX_TEXT).await;
        shell.step(line.len() as u64 / 4096).await?;
        Ok(match read {
            Line::End => Ok(false),
            Line::Rest => Ok(true),
            Line::Whole => {
                line.pop();
                Ok(true)
            }
            Line::TooLong => Err(RuntimeError::memory()),
        })
    }

    async fn until(&mut self, shell: &Shell, regular: &Regular) -> Result<Result<Option<Vec<u8>>, RuntimeError>, Stop> {
        let (rest, at) = match &mut self.rest {
            Some(rest) => rest,
            rest @ None => {
                let mut bytes = Vec::new();
                loop {
                    let before = bytes.capacity();
                    let read = self.reader.read_into(&mut bytes, PIPE_BYTES, None).await;
                    shell.step(1 + read as u64 / 4096).await?;
                    if bytes.len() > MAX_TEXT || !self.held.grow(bytes.capacity() - before) {
                        return Ok(Err(RuntimeError::memory()));
                    }
                    if read == 0 {
                        break;
                    }
                }
                rest.insert((bytes, 0))
            }
        };
        let left = &rest[*at..];
        if left.is_empty() {
            return Ok(Ok(None));
        }
        if !regular.takes(left.len()) {
            return Ok(Err(RuntimeError("the input is too long for the expression in RS".to_owned())));
        }
        let mut pace = Pace::new();
        let found = regular.find_at(rest, *at).filter(|found| !found.is_empty());
        let found = found.unwrap_or(rest.len()..rest.len());
        shell.step(regular.steps(found.end - *at)).await?;
        // To find a near end, a search may look far ahead.
        shell.count_paced(&mut pace).await?;
        let mut record = rest[*at..found.start].to_vec();
        // A newline at the end of the input is no part of the last record.
        if found.is_empty() && record.last() == Some(&b'\n') {
            record.pop();
        }
        *at = found.end;
        Ok(Ok(Some(record)))
    }
}
