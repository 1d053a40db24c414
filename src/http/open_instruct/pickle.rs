//! Data in Python's pickle format: texts, numbers, lists and dicts. What would make another object or call anything is
//! refused, so nothing is run.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Maximum depth of lists and dicts in each other.
const MAX_DEPTH: usize = 16;
/// Maximum number of values.
const MAX_VALUES: usize = 200_000;
/// Size of a value beside its text, in bytes, as it is read and when it has been.
const VALUE_BYTES: usize = 128;
/// Ratio of the size of all texts, as often as they stand in the value, to that of the pickle, where each stands once.
const TEXT_RATIO: usize = 4;
/// Size of all texts that is admitted however small the pickle is, in bytes.
const MIN_TEXT: usize = 4 << 10;

/// Returns the memory that reading a pickle of this size takes at most, in bytes.
pub(super) fn cost(pickle_bytes: usize) -> usize {
    pickle_bytes * (1 + TEXT_RATIO) + MIN_TEXT + pickle_bytes.min(MAX_VALUES) * 2 * VALUE_BYTES
}

/// Reads the value of a pickle of any protocol from 2 on.
///
/// # Errors
/// Returns an error that says what can't be read.
pub(super) fn read(pickle: &[u8]) -> Result<Value, &'static str> {
    let mut reader = Reader {
        rest: pickle,
        values: pickle.len().min(MAX_VALUES),
        nodes: Vec::new(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
    };
    let value = reader.run()?;
    let mut left = Left { text: pickle.len() * TEXT_RATIO + MIN_TEXT, values: pickle.len().min(MAX_VALUES) };
    reader.render(value, MAX_DEPTH, &mut left)
}

/// Room for what is made of a pickle: values may stand in it once, and be used many times.
struct Left {
    /// Bytes of texts.
    text: usize,
    values: usize,
}

impl Left {
    fn spend(&mut self, text: usize) -> Result<(), &'static str> {
        self.text = self.text.checked_sub(text).ok_or("the pickle has too much text")?;
        self.values = self.values.checked_sub(1).ok_or(TOO_MANY)?;
        Ok(())
    }
}

/// Number of a node.
type Id = usize;

/// A value, whose parts are other nodes: a list that stands in two places is filled in both.
enum Node {
    Plain(Value),
    Text(String),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
}

struct Reader<'a> {
    rest: &'a [u8],
    /// Values that may still be read.
    values: usize,
    nodes: Vec<Node>,
    stack: Vec<Id>,
    marks: Vec<usize>,
    memo: HashMap<u64, Id>,
}

const SHORT: &str = "the pickle is cut off";
const BROKEN: &str = "the pickle is broken";
const TOO_MANY: &str = "the pickle has too many values";

impl Reader<'_> {
    fn run(&mut self) -> Result<Id, &'static str> {
        let mut next_memo = 0;
        loop {
            match self.byte()? {
                // PROTO, FRAME
                0x80 => drop(self.take(1)?),
                0x95 => drop(self.take(8)?),
                b'.' => return self.pop(),
                b'N' => self.push(Node::Plain(Value::Null))?,
                0x88 => self.push(Node::Plain(true.into()))?,
                0x89 => self.push(Node::Plain(false.into()))?,
                b'J' => {
                    let number = self.signed(4)?;
                    self.number(number)?;
                }
                b'K' => {
                    let number = i64::from(self.byte()?);
                    self.number(number)?;
                }
                b'M' => {
                    let number = self.unsigned(2)? as i64;
                    self.number(number)?;
                }
                0x8a => {
                    let length = usize::from(self.byte()?);
                    let number = self.signed(length)?;
                    self.number(number)?;
                }
                b'G' => {
                    let bytes = self.take(8)?.try_into().map_err(|_| SHORT)?;
                    self.push(Node::Plain(f64::from_be_bytes(bytes).into()))?;
                }
                0x8c => self.text(1)?,
                b'X' => self.text(4)?,
                0x8d => self.text(8)?,
                b'(' if self.marks.len() < MAX_DEPTH => self.marks.push(self.stack.len()),
                b']' | b')' => self.push(Node::List(Vec::new()))?,
                b'}' => self.push(Node::Dict(Vec::new()))?,
                b'a' => {
                    let item = self.pop()?;
                    self.list()?.push(item);
                }
                b'e' => {
                    let items = self.marked()?;
                    self.list()?.extend(items);
                }
                b't' => {
                    let items = self.marked()?;
                    self.push(Node::List(items))?;
                }
                // TUPLE1 to TUPLE3
                count @ 0x85..=0x87 => {
                    let start = self.stack.len().checked_sub(usize::from(count) - 0x84).ok_or(BROKEN)?;
                    let items = self.stack.split_off(start);
                    self.push(Node::List(items))?;
                }
                b's' => {
                    let (value, key) = (self.pop()?, self.pop()?);
                    self.dict()?.push((key, value));
                }
                b'u' => {
                    let items = self.marked()?;
                    let (pairs, []) = items.as_chunks::<2>() else { return Err(BROKEN) };
                    self.dict()?.extend(pairs.iter().map(|[key, value]| (*key, *value)));
                }
                // MEMOIZE, BINPUT, LONG_BINPUT
                0x94 => {
                    self.remember(next_memo)?;
                    next_memo += 1;
                }
                b'q' => self.put(1)?,
                b'r' => self.put(4)?,
                b'h' => self.get(1)?,
                b'j' => self.get(4)?,
                _ => return Err("the pickle has objects that are no data"),
            }
        }
    }

    fn byte(&mut self) -> Result<u8, &'static str> {
        Ok(self.take(1)?[0])
    }

    fn take(&mut self, length: usize) -> Result<&[u8], &'static str> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(SHORT)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Reads a little-endian number of at most 8 bytes without a sign.
    fn unsigned(&mut self, length: usize) -> Result<u64, &'static str> {
        let mut bytes = [0; 8];
        bytes.get_mut(..length).ok_or("the pickle has numbers that are too large")?.copy_from_slice(self.take(length)?);
        Ok(u64::from_le_bytes(bytes))
    }

    /// Reads a little-endian number of at most 8 bytes in two's complement.
    fn signed(&mut self, length: usize) -> Result<i64, &'static str> {
        let number = self.unsigned(length)?;
        let unused = 64 - 8 * length as u32;
        Ok(if length > 0 { ((number << unused) as i64) >> unused } else { 0 })
    }

    fn number(&mut self, number: i64) -> Result<(), &'static str> {
        self.push(Node::Plain(number.into()))
    }

    fn text(&mut self, length_bytes: usize) -> Result<(), &'static str> {
        let length = usize::try_from(self.unsigned(length_bytes)?).map_err(|_| SHORT)?;
        let text = std::str::from_utf8(self.take(length)?).map_err(|_| "the pickle has text that is no UTF-8")?;
        let text = text.to_owned();
        self.push(Node::Text(text))
    }

    fn push(&mut self, node: Node) -> Result<(), &'static str> {
        self.push_id(self.nodes.len())?;
        self.nodes.push(node);
        Ok(())
    }

    fn push_id(&mut self, id: Id) -> Result<(), &'static str> {
        self.values = self.values.checked_sub(1).ok_or(TOO_MANY)?;
        self.stack.push(id);
        Ok(())
    }

    fn pop(&mut self) -> Result<Id, &'static str> {
        self.stack.pop().ok_or(BROKEN)
    }

    fn top(&self) -> Result<Id, &'static str> {
        self.stack.last().copied().ok_or(BROKEN)
    }

    fn marked(&mut self) -> Result<Vec<Id>, &'static str> {
        let start = self.marks.pop().filter(|start| *start <= self.stack.len()).ok_or(BROKEN)?;
        Ok(self.stack.split_off(start))
    }

    fn list(&mut self) -> Result<&mut Vec<Id>, &'static str> {
        let top = self.top()?;
        match &mut self.nodes[top] {
            Node::List(items) => Ok(items),
            _ => Err(BROKEN),
        }
    }

    fn dict(&mut self) -> Result<&mut Vec<(Id, Id)>, &'static str> {
        let top = self.top()?;
        match &mut self.nodes[top] {
            Node::Dict(items) => Ok(items),
            _ => Err(BROKEN),
        }
    }

    fn put(&mut self, length: usize) -> Result<(), &'static str> {
        let name = self.unsigned(length)?;
        self.remember(name)
    }

    /// Gives the top of the stack a name, which counts as a value.
    fn remember(&mut self, name: u64) -> Result<(), &'static str> {
        self.values = self.values.checked_sub(1).ok_or(TOO_MANY)?;
        self.memo.insert(name, self.top()?);
        Ok(())
    }

    fn get(&mut self, length: usize) -> Result<(), &'static str> {
        let name = self.unsigned(length)?;
        self.push_id(*self.memo.get(&name).ok_or(BROKEN)?)
    }

    fn render(&self, id: Id, depth: usize, left: &mut Left) -> Result<Value, &'static str> {
        let depth = depth.checked_sub(1).ok_or("the pickle is too deep")?;
        match &self.nodes[id] {
            Node::Plain(value) => left.spend(0).map(|()| value.clone()),
            Node::Text(text) => left.spend(text.len()).map(|()| Value::String(text.clone())),
            Node::List(items) => {
                left.spend(0)?;
                items.iter().map(|item| self.render(*item, depth, left)).collect()
            }
            Node::Dict(items) => {
                left.spend(0)?;
                let pair = |(key, value): &(Id, Id)| match &self.nodes[*key] {
                    Node::Text(key) => {
                        left.spend(key.len())?;
                        Ok((key.clone(), self.render(*value, depth, left)?))
                    }
                    _ => Err("the pickle has a key that is no text"),
                };
                items.iter().map(pair).collect::<Result<Map<_, _>, _>>().map(Value::Object)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn data_of_all_protocols_is_read() {
        // pickle.dumps([{"input": "a", "output": "ß"}, ("a", 1, -2, 300, 1.5, None, True), []], protocol)
        let second = b"\x80\x02]q\x00(}q\x01(X\x05\x00\x00\x00inputq\x02X\x01\x00\x00\x00aq\x03X\x06\x00\x00\x00outputq\x04\
            X\x02\x00\x00\x00\xc3\x9fq\x05u(h\x03K\x01J\xfe\xff\xff\xffM,\x01G?\xf8\x00\x00\x00\x00\x00\x00N\x88tq\x06]q\x07e.";
        let fourth =
            b"\x80\x04\x95?\x00\x00\x00\x00\x00\x00\x00]\x94(}\x94(\x8c\x05input\x94\x8c\x01a\x94\x8c\x06output\
            \x94\x8c\x02\xc3\x9f\x94u(h\x03K\x01J\xfe\xff\xff\xffM,\x01G?\xf8\x00\x00\x00\x00\x00\x00N\x88t\x94]\x94e.";
        let expected = json!([{"input": "a", "output": "\u{df}"}, ["a", 1, -2, 300, 1.5, null, true], []]);
        assert_eq!(read(second), Ok(expected.clone()));
        assert_eq!(read(fourth), Ok(expected));
    }

    #[test]
    fn what_would_run_something_is_refused() {
        // os.system("true")
        let pickle = b"\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85\x94R\x94.";
        assert_eq!(read(pickle), Err("the pickle has objects that are no data"));
    }

    #[test]
    fn what_is_broken_or_grows_is_refused() {
        for pickle in [&b""[..], b"\x80\x04]", b".", b"a.", b"(u.", b"h\x00.", b"\x8c\x05abc", b"]\x94(h\x00e."] {
            assert!(read(pickle).is_err(), "{pickle:?}");
        }
        // Each list has the one before ten times.
        let tenfold = |name: u8| [b"](", &[b'h', name].repeat(10)[..], b"e\x94"].concat();
        let pickle = |text: usize| {
            let text = [b"\x80\x04X", &(text as u32).to_le_bytes()[..], &vec![b'a'; text], b"\x94"].concat();
            [text, tenfold(0), tenfold(1), b".".to_vec()].concat()
        };
        assert_eq!(read(&pickle(10)), Err(TOO_MANY));
        assert_eq!(read(&pickle(2000)), Err("the pickle has too much text"));
        assert_eq!(read(&[&b"N"[..], &b"(".repeat(50), b"."].concat()), Err("the pickle has objects that are no data"));
    }
}
