//! The guest's memory as the host reads and writes it: every address comes from the guest, so every access is checked.

use super::errno::Errno;
use super::path::MAX_PATH;
use std::ops::Range;

/// Buffers one scattered read or write may name, as on Linux.
const MAX_BUFFERS: u32 = 1024;
/// Bytes of one `iovec`: address and length.
const BUFFER_RECORD: u32 = 8;

/// The guest's linear memory during one call.
pub(super) struct GuestMemory<'a>(&'a mut [u8]);

/// A part of the bytes of a read or write.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// Number of bytes before it.
    pub skip: u32,
    /// Maximum length, in bytes.
    pub limit: u32,
}

impl Part {
    /// Part that covers all bytes.
    pub const WHOLE: Self = Self { skip: 0, limit: u32::MAX };
}

/// The buffers of a scattered read or write: where their records are. Checked as a whole when made, and each again when
/// used, as a read may change the records themselves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buffers {
    records: u32,
    count: u32,
    part: Part,
}

impl Buffers {
    /// Limits the buffers to a part of their bytes.
    pub(super) fn part(self, part: Part) -> Self {
        Self { part, ..self }
    }
}

impl<'a> GuestMemory<'a> {
    pub(super) fn new(memory: &'a mut [u8]) -> Self {
        Self(memory)
    }

    fn range(&self, address: u32, length: u32) -> Result<Range<usize>, Errno> {
        let start = address as usize;
        let end = start.checked_add(length as usize).ok_or(Errno::Fault)?;
        if end > self.0.len() {
            return Err(Errno::Fault);
        }
        Ok(start..end)
    }

    /// Fails unless the guest has `length` bytes at `address`.
    pub(super) fn check(&self, address: u32, length: u32) -> Result<(), Errno> {
        self.range(address, length).map(|_| ())
    }

    pub(super) fn bytes(&self, address: u32, length: u32) -> Result<&[u8], Errno> {
        let range = self.range(address, length)?;
        Ok(&self.0[range])
    }

    pub(super) fn bytes_mut(&mut self, address: u32, length: u32) -> Result<&mut [u8], Errno> {
        let range = self.range(address, length)?;
        Ok(&mut self.0[range])
    }

    pub(super) fn write(&mut self, address: u32, bytes: &[u8]) -> Result<(), Errno> {
        let length = u32::try_from(bytes.len()).map_err(|_| Errno::Overflow)?;
        self.bytes_mut(address, length)?.copy_from_slice(bytes);
        Ok(())
    }

    pub(super) fn write_u32(&mut self, address: u32, value: u32) -> Result<(), Errno> {
        self.write(address, &value.to_le_bytes())
    }

    pub(super) fn write_u64(&mut self, address: u32, value: u64) -> Result<(), Errno> {
        self.write(address, &value.to_le_bytes())
    }

    /// A text the guest gives: UTF-8 without NUL, no longer than a path, not empty.
    pub(super) fn text(&self, address: u32, length: u32) -> Result<&str, Errno> {
        if length as usize > MAX_PATH {
            return Err(Errno::NameTooLong);
        }
        let text = str::from_utf8(self.bytes(address, length)?).map_err(|_| Errno::IlSeq)?;
        match text {
            "" => Err(Errno::NoEnt),
            _ if text.contains('\0') => Err(Errno::Inval),
            _ => Ok(text),
        }
    }

    /// A path the guest gives, relative to a directory.
    pub(super) fn path(&self, address: u32, length: u32) -> Result<&str, Errno> {
        let path = self.text(address, length)?;
        if path.starts_with('/') {
            return Err(Errno::NotCapable);
        }
        Ok(path)
    }

    /// The buffers at `records`, all within the guest's memory and together countable in 32 bits.
    pub(super) fn buffers(&self, records: u32, count: u32) -> Result<Buffers, Errno> {
        if count > MAX_BUFFERS {
            return Err(Errno::Inval);
        }
        self.check(records, count * BUFFER_RECORD)?;
        let buffers = Buffers { records, count, part: Part::WHOLE };
        let mut total = 0_u32;
        for index in 0..count {
            let (address, length) = self.buffer(buffers, index)?;
            self.check(address, length)?;
            total = total.checked_add(length).ok_or(Errno::Inval)?;
        }
        Ok(buffers)
    }

    fn buffer(&self, buffers: Buffers, index: u32) -> Result<(u32, u32), Errno> {
        let record = buffers.records.checked_add(index * BUFFER_RECORD).ok_or(Errno::Fault)?;
        let record = self.bytes(record, BUFFER_RECORD)?;
        match record {
            [a, b, c, d, e, f, g, h] => {
                Ok((u32::from_le_bytes([*a, *b, *c, *d]), u32::from_le_bytes([*e, *f, *g, *h])))
            }
            _ => Err(Errno::Fault),
        }
    }

    /// The bytes of a buffer that belong to what is left of `part`, which is moved on past the buffer.
    fn buffer_part(&self, buffers: Buffers, index: u32, part: &mut Part) -> Result<(u32, u32), Errno> {
        let (address, length) = self.buffer(buffers, index)?;
        let skipped = part.skip.min(length);
        let taken = (length - skipped).min(part.limit);
        part.skip -= skipped;
        part.limit -= taken;
        Ok((address.checked_add(skipped).ok_or(Errno::Fault)?, taken))
    }

    /// Hands each buffer in turn to `fill`, until one is not filled. Returns the bytes filled in all; an error after
    /// the first byte ends the read without being one.
    pub(super) fn scatter(
        &mut self,
        buffers: Buffers,
        mut fill: impl FnMut(&mut [u8], u64) -> Result<usize, Errno>,
    ) -> Result<u32, Errno> {
        let (mut done, mut part) = (0_u32, buffers.part);
        for index in 0..buffers.count {
            let filled = self.buffer_part(buffers, index, &mut part).and_then(|(address, length)| {
                let buffer = self.bytes_mut(address, length)?;
                if buffer.is_empty() {
                    return Ok((0, 0));
                }
                Ok((fill(buffer, u64::from(done))?.min(buffer.len()), buffer.len()))
            });
            match progress(filled, &mut done)? {
                Progress::Whole => {}
                Progress::Part => break,
            }
        }
        Ok(done)
    }

    /// Hands each buffer in turn to `take`, until one is not taken whole. Returns the bytes taken in all; an error
    /// after the first byte ends the write without being one.
    pub(super) fn gather(
        &self,
        buffers: Buffers,
        mut take: impl FnMut(&[u8], u64) -> Result<usize, Errno>,
    ) -> Result<u32, Errno> {
        let (mut done, mut part) = (0_u32, buffers.part);
        for index in 0..buffers.count {
            let taken = self.buffer_part(buffers, index, &mut part).and_then(|(address, length)| {
                let buffer = self.bytes(address, length)?;
                if buffer.is_empty() {
                    return Ok((0, 0));
                }
                Ok((take(buffer, u64::from(done))?.min(buffer.len()), buffer.len()))
            });
            match progress(taken, &mut done)? {
                Progress::Whole => {}
                Progress::Part => break,
            }
        }
        Ok(done)
    }
}

enum Progress {
    Whole,
    Part,
}

/// Adds what one buffer took (of its length) to what is done.
fn progress(result: Result<(usize, usize), Errno>, done: &mut u32) -> Result<Progress, Errno> {
    let (moved, length) = match result {
        Ok(moved) => moved,
        Err(_) if *done > 0 => return Ok(Progress::Part),
        Err(errno) => return Err(errno),
    };
    let Some(sum) = u32::try_from(moved).ok().and_then(|moved| done.checked_add(moved)) else {
        return Ok(Progress::Part);
    };
    *done = sum;
    Ok(if moved == length { Progress::Whole } else { Progress::Part })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(memory: &mut [u8], at: usize, address: u32, length: u32) {
        memory[at..at + 4].copy_from_slice(&address.to_le_bytes());
        memory[at + 4..at + 8].copy_from_slice(&length.to_le_bytes());
    }

    #[test]
    fn an_address_outside_the_memory_is_a_fault_even_where_the_sum_wraps() {
        let mut bytes = [0; 64];
        let memory = GuestMemory::new(&mut bytes);
        assert_eq!(memory.check(64, 0), Ok(()));
        for (address, length) in [(65, 0), (60, 5), (u32::MAX, 1), (u32::MAX, u32::MAX), (1, u32::MAX)] {
            assert_eq!(memory.check(address, length), Err(Errno::Fault));
        }
    }

    #[test]
    fn texts_must_be_short_utf8_without_nul() {
        let mut bytes = vec![b'a'; 8192];
        bytes[0] = 0xff;
        bytes[10] = 0;
        let memory = GuestMemory::new(&mut bytes);
        assert_eq!(memory.text(0, 3), Err(Errno::IlSeq));
        assert_eq!(memory.text(9, 3), Err(Errno::Inval));
        assert_eq!(memory.text(20, 0), Err(Errno::NoEnt));
        assert_eq!(memory.text(20, 4097), Err(Errno::NameTooLong));
        assert_eq!(memory.text(20, 2), Ok("aa"));
    }

    #[test]
    fn too_many_buffers_or_too_much_in_them_is_refused_before_anything_is_read() {
        let mut bytes = vec![0; 16384];
        for index in 0..3 {
            record(&mut bytes, index * 8, 0, 16384);
        }
        let memory = GuestMemory::new(&mut bytes);
        assert_eq!(memory.buffers(0, 1025).map(|_| ()), Err(Errno::Inval));
        assert_eq!(memory.buffers(0, u32::MAX).map(|_| ()), Err(Errno::Inval));
        assert_eq!(memory.buffers(16380, 1).map(|_| ()), Err(Errno::Fault));
        assert!(memory.buffers(0, 3).is_ok());
    }

    #[test]
    fn a_read_over_its_own_buffer_records_goes_no_further_than_they_then_say() {
        let mut bytes = vec![0; 64];
        record(&mut bytes, 0, 8, 8);
        record(&mut bytes, 8, 16, 8);
        let mut memory = GuestMemory::new(&mut bytes);
        let buffers = memory.buffers(0, 2).expect("both lie within");
        let read = memory.scatter(buffers, |buffer, _| {
            buffer.fill(0xff);
            Ok(buffer.len())
        });
        assert_eq!(read, Ok(8));
    }
}
