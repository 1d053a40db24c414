//! Program `cmp`.

use super::input::{open, options, usage};
use crate::PIPE_BYTES;
use crate::state::{Done, Shell, Stop};
use crate::streams::Reader;

pub(super) async fn cmp(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [
        ("silent", 's'),
        ("quiet", 's'),
        ("verbose", 'l'),
        ("print-bytes", 'b'),
        ("bytes", 'n'),
        ("ignore-initial", 'i'),
    ];
    let given = options(shell, "cmp", arguments, "slbn:i:", &long, 2).await?;
    let mut operands = given.operands.clone();
    if operands.len() == 1 {
        operands.push("-".to_owned());
    }
    let [left, right, skips @ ..] = operands.as_slice() else {
        return Err(usage(shell, "cmp", "missing operand after 'cmp'", 2).await);
    };
    let number = |text: &str| text.parse::<u64>().ok();
    let both = given.value('i').map(|text| text.split_once(':').unwrap_or((text, text)));
    let skip = |at: usize| match (skips.get(at), both) {
        (Some(text), _) => number(text),
        (None, Some((first, second))) => number(if at == 0 { first } else { second }),
        (None, None) => Some(0),
    };
    let most = given.value('n').map_or(Some(u64::MAX), number);
    let (Some(first), Some(second), Some(mut left_over)) = (skip(0), skip(1), most) else {
        return Err(usage(shell, "cmp", "invalid --bytes or --ignore-initial value", 2).await);
    };
    let (Some(one), Some(other)) = (open(shell, "cmp", left).await, open(shell, "cmp", right).await) else {
        return Ok(2);
    };
    let (mut one, mut other) = (Blocks::new(one), Blocks::new(other));
    one.skip(shell, first).await?;
    other.skip(shell, second).await?;
    let (mut place, mut line, mut newline_last, mut different) = (0_u64, 1_u64, false, false);
    while left_over > 0 {
        one.fill(shell).await?;
        other.fill(shell).await?;
        let (a, b) = (one.rest(), other.rest());
        if a.is_empty() || b.is_empty() {
            if a.is_empty() && b.is_empty() {
                break;
            }
            let short = if a.is_empty() { left } else { right };
            if !given.has('s') {
                let lines = match (place, given.has('l'), newline_last) {
                    (0, ..) => " which is empty".to_owned(),
                    (_, true, _) => format!(" after byte {place}"),
                    (_, false, true) => format!(" after byte {place}, line {}", line - 1),
                    (_, false, false) => format!(" after byte {place}, in line {line}"),
                };
                shell.error("cmp", &format!("EOF on {short}{lines}")).await;
            }
            return Ok(1);
        }
        let length = a.len().min(b.len()).min(usize::try_from(left_over).unwrap_or(usize::MAX));
        let mut out = Vec::new();
        for (x, y) in a[..length].iter().zip(&b[..length]) {
            place += 1;
            if x != y {
                different = true;
                if given.has('s') {
                    return Ok(1);
                }
                if !given.has('l') {
                    let text = match given.has('b') {
                        true => {
                            format!(
                                "{left} {right} differ: byte {place}, line {line} is {x:3o} {} {y:3o} {}\n",
                                visible(*x),
                                visible(*y)
                            )
                        }
                        false => format!("{left} {right} differ: byte {place}, line {line}\n"),
                    };
                    shell.out("cmp", text.as_bytes()).await?;
                    return Ok(1);
                }
                out.extend(format!("{place} {x:3o} {y:3o}\n").bytes());
            }
            newline_last = *x == b'\n';
            line += u64::from(newline_last);
        }
        shell.out("cmp", &out).await?;
        one.at += length;
        other.at += length;
        left_over -= length as u64;
    }
    Ok(i32::from(different))
}

/// A byte as `cmp -b` shows it.
fn visible(byte: u8) -> String {
    match byte {
        128.. => format!("M-{}", visible(byte - 128)),
        127 => "^?".to_owned(),
        0..32 => format!("^{}", char::from(byte + 64)),
        byte => char::from(byte).to_string(),
    }
}

/// Input in blocks.
struct Blocks {
    reader: Reader,
    bytes: Vec<u8>,
    at: usize,
}

impl Blocks {
    fn new(reader: Reader) -> Self {
        Self { reader, bytes: Vec::new(), at: 0 }
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    async fn fill(&mut self, shell: &Shell) -> Result<(), Stop> {
        if self.rest().is_empty() {
            self.at = 0;
            self.bytes.clear();
            let read = self.reader.read_into(&mut self.bytes, PIPE_BYTES, None).await;
            shell.step(1 + read as u64 / 1024).await?;
        }
        Ok(())
    }

    async fn skip(&mut self, shell: &Shell, count: u64) -> Result<(), Stop> {
        let mut left = count;
        while left > 0 {
            self.fill(shell).await?;
            let skipped = self.rest().len().min(usize::try_from(left).unwrap_or(usize::MAX));
            if skipped == 0 {
                return Ok(());
            }
            self.at += skipped;
            left -= skipped as u64;
        }
        Ok(())
    }
}
