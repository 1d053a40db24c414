//! Program `base64`, with a decoder that works in pieces.

use super::input::{open, or_input, usage};
use super::options::{Order, read};
use crate::PIPE_BYTES;
use crate::state::{Done, Shell};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Characters in a line, unless `-w` says how many.
const WIDTH: usize = 76;

pub(super) async fn base64(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("decode", 'd'), ("ignore-garbage", 'i'), ("wrap", 'w')];
    let given = match read(arguments, "diw:", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "base64", &why, 1).await),
    };
    let Ok(width) = given.value('w').map_or(Ok(WIDTH), str::parse::<usize>) else {
        let what = format!("invalid wrap size: '{}'", given.value('w').unwrap_or_default());
        return Err(shell.fails("base64", &what).await);
    };
    if let Some(operand) = given.operands.get(1) {
        return Err(usage(shell, "base64", &format!("extra operand '{operand}'"), 1).await);
    }
    let operands = or_input(given.operands.clone());
    let Some(mut reader) = open(shell, "base64", &operands[0]).await else { return Ok(1) };
    let mut encoder = Encoder { width, column: 0, group: [0; 3], length: 0 };
    let mut decoder = Decoder { ignores_garbage: given.has('i'), last: 0, length: 0, padding: 0 };
    let decodes = given.has('d');
    let mut bytes = Vec::new();
    loop {
        let read = reader.read_into(&mut bytes, PIPE_BYTES, None).await;
        shell.step(1 + read as u64 / 1024).await?;
        let mut out = Vec::new();
        let valid = match (decodes, read) {
            (true, 0) => decoder.is_complete(),
            (true, _) => decoder.decode(&bytes, &mut out),
            (false, 0) => {
                encoder.finish(&mut out);
                true
            }
            (false, _) => {
                encoder.encode(&bytes, &mut out);
                true
            }
        };
        shell.out("base64", &out).await?;
        if !valid {
            return Err(shell.fails("base64", "invalid input").await);
        }
        if read == 0 {
            return Ok(0);
        }
        bytes.clear();
    }
}

struct Encoder {
    /// Characters in a line; 0: there are no lines.
    width: usize,
    column: usize,
    /// Bytes that have not been encoded, and how many.
    group: [u8; 3],
    length: usize,
}

impl Encoder {
    fn encode(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for byte in bytes {
            self.group[self.length] = *byte;
            self.length += 1;
            if self.length == 3 {
                self.put_group(out);
            }
        }
    }

    /// Encodes what is left, and ends the last line.
    fn finish(&mut self, out: &mut Vec<u8>) {
        if self.length > 0 {
            self.put_group(out);
        }
        if self.column > 0 {
            out.push(b'\n');
        }
    }

    fn put_group(&mut self, out: &mut Vec<u8>) {
        let [first, second, third] = self.group;
        let digits = [first >> 2, ((first & 3) << 4) | (second >> 4), ((second & 15) << 2) | (third >> 6), third & 63];
        for (at, digit) in digits.into_iter().enumerate() {
            if self.width > 0 && self.column == self.width {
                out.push(b'\n');
                self.column = 0;
            }
            out.push(if at <= self.length { ALPHABET[usize::from(digit)] } else { b'=' });
            self.column += usize::from(self.width > 0);
        }
        (self.group, self.length) = ([0; 3], 0);
    }
}

struct Decoder {
    ignores_garbage: bool,
    /// The last digit of a group, how many digits it has, and how many signs that fill it up.
    last: u8,
    length: usize,
    padding: usize,
}

impl Decoder {
    /// Appends the bytes that are complete. False: what follows them is not in base64.
    fn decode(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        for byte in bytes {
            let digit = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                b'=' if self.length >= 2 => {
                    self.padding += 1;
                    if self.length + self.padding == 4 {
                        (self.length, self.padding) = (0, 0);
                    }
                    continue;
                }
                b'\n' => continue,
                _ if self.ignores_garbage => continue,
                _ => return false,
            };
            if self.padding > 0 {
                return false;
            }
            match self.length {
                0 => {}
                1 => out.push((self.last << 2) | (digit >> 4)),
                2 => out.push((self.last << 4) | (digit >> 2)),
                _ => out.push((self.last << 6) | digit),
            }
            (self.last, self.length) = (digit, (self.length + 1) % 4);
        }
        true
    }

    /// Returns whether the last group is complete.
    fn is_complete(&self) -> bool {
        self.length == 0
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::shown;

    fn ok(text: &str) -> (String, String, i32) {
        (text.to_owned(), String::new(), 0)
    }

    #[test]
    fn all_bytes_come_back_whatever_the_width_of_lines() {
        let bytes = "printf '\\0\\1\\177\\200\\376\\377end' > f; cat f f f > g";
        let whole = shown(&format!("{bytes}; base64 g"));
        assert_eq!(whole, ok("AAF/gP7/ZW5kAAF/gP7/ZW5kAAF/gP7/ZW5k\n"));
        for width in [0, 1, 3, 4, 35, 36, 37] {
            assert_eq!(shown(&format!("{bytes}; base64 -w {width} g | base64 -d | base64")), whole, "{width}");
        }
    }

    #[test]
    fn lines_are_ended_unless_there_are_none() {
        assert_eq!(shown("printf abc | base64"), ok("YWJj\n"));
        assert_eq!(shown("printf abc | base64 -w 0"), ok("YWJj"));
        assert_eq!(shown("printf abcd | base64 --wrap=4"), ok("YWJj\nZA==\n"));
        assert_eq!(shown("base64 /dev/null; base64 -d /dev/null"), ok(""));
    }

    #[test]
    fn what_comes_before_a_mistake_is_decoded() {
        for (input, decoded) in [("aG!k=", "h"), ("YQ", "a"), ("YWJjZA", "abcd"), ("YQ==Y", "a"), ("Y=", ""), ("=", "")]
        {
            let told = (decoded.to_owned(), "base64: invalid input\n".to_owned(), 1);
            assert_eq!(shown(&format!("printf '{input}' | base64 -d")), told, "{input}");
        }
        assert_eq!(shown("printf 'YQ==YQ==' | base64 -d; echo 'a-G!k=' | base64 -di"), ok("aahi"));
    }
}
