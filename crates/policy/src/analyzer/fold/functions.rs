//! Functions of the standard library that only compute.

use std::rc::Rc;

use num_bigint::BigInt;
use num_traits::Num;
use ruff_python_ast::Operator;

use super::encodings::{
    ALPHABET_85, ALPHABET_ASCII85, STANDARD, URL_SAFE, decode, from_json, inflated, unbase32, unbase64, unbase85,
    unescape_html, unhex, unquote,
};
use super::methods::to_bytes;
use super::{binary, formatted, item, method, shown};
use crate::analyzer::abstract_value::{AbstractValue, MAX_LENGTH};

/// A function of the standard library that only computes. None when it is no such.
pub(crate) fn function<'a>(
    name: &str,
    args: &[AbstractValue<'a>],
    keywords: &[(&str, AbstractValue<'a>)],
) -> Option<AbstractValue<'a>> {
    let first = args.first();
    Some(match (name, first?) {
        ("builtins.chr", value) => {
            let char = value.as_int().and_then(|code| u32::try_from(code).ok()).and_then(char::from_u32);
            char.map_or(AbstractValue::Unknown, |char| AbstractValue::text(char.encode_utf8(&mut [0; 4])))
        }
        ("builtins.ord", AbstractValue::Text(text)) => {
            let mut chars = text.chars();
            match (chars.next(), chars.next()) {
                (Some(char), None) => AbstractValue::Int(char as i128),
                _ => AbstractValue::Unknown,
            }
        }
        ("builtins.ord", AbstractValue::Bytes(bytes)) if bytes.len() == 1 => AbstractValue::Int(i128::from(bytes[0])),
        ("builtins.len", value) => match value {
            AbstractValue::Text(text) => AbstractValue::Int(text.chars().count() as i128),
            AbstractValue::Bytes(_) | AbstractValue::Sequence(_) | AbstractValue::Dict(_) => {
                AbstractValue::Int(value.length() as i128)
            }
            _ => AbstractValue::Unknown,
        },
        ("builtins.str", AbstractValue::Bytes(_)) if args.len() > 1 || !keywords.is_empty() => {
            decode(first?, args.get(1).and_then(AbstractValue::as_text).unwrap_or("utf-8"))
        }
        ("builtins.str", value) => shown(value).map_or(AbstractValue::Unknown, |text| AbstractValue::text(&text)),
        ("builtins.repr" | "builtins.ascii", AbstractValue::Int(value)) => AbstractValue::text(&value.to_string()),
        ("builtins.format", value) => formatted(value, args.get(1).map_or(Some(""), AbstractValue::as_text)?)
            .map_or(AbstractValue::Unknown, |text| AbstractValue::text(&text)),
        ("builtins.hex", AbstractValue::Int(value)) if *value >= 0 => AbstractValue::text(&format!("{value:#x}")),
        ("builtins.hex", AbstractValue::Large(value)) => AbstractValue::text(&format!("0x{}", value.to_str_radix(16))),
        ("builtins.abs", AbstractValue::Int(value)) => {
            value.checked_abs().map_or(AbstractValue::Unknown, AbstractValue::Int)
        }
        ("builtins.int", AbstractValue::Text(text)) => {
            let base =
                args.get(1).or(keywords.first().map(|(_, value)| value)).and_then(AbstractValue::as_int).unwrap_or(10);
            number(text, base).unwrap_or_default()
        }
        ("builtins.int", value) => value.as_int().map_or(AbstractValue::Unknown, AbstractValue::Int),
        ("builtins.bool", value) => value.truth().map_or(AbstractValue::Unknown, AbstractValue::Bool),
        ("builtins.reversed", value) => {
            let mut items = value.items()?;
            items.reverse();
            AbstractValue::sequence(items)
        }
        ("builtins.list" | "builtins.tuple" | "builtins.iter" | "builtins.set" | "collections.deque", value) => {
            value.items().map_or(AbstractValue::Unknown, AbstractValue::sequence)
        }
        ("builtins.next", value) => value.items().and_then(|items| items.into_iter().next()).unwrap_or_default(),
        ("builtins.bytes" | "builtins.bytearray" | "builtins.memoryview", value) => match value {
            AbstractValue::Bytes(_) => value.clone(),
            AbstractValue::Text(text) => AbstractValue::bytes(text.as_bytes()),
            AbstractValue::Sequence(items) => {
                let bytes: Option<Vec<u8>> =
                    items.iter().map(|item| item.as_int().and_then(|byte| u8::try_from(byte).ok())).collect();
                bytes.map_or(AbstractValue::Unknown, |bytes| AbstractValue::bytes(&bytes))
            }
            _ => AbstractValue::Unknown,
        },
        (
            "builtins.bytes.fromhex" | "builtins.bytearray.fromhex" | "binascii.unhexlify" | "binascii.a2b_hex",
            value,
        ) => unhex(value),
        ("base64.b16decode", value) => unhex(value),
        ("base64.b64decode" | "base64.standard_b64decode" | "base64.decodebytes" | "binascii.a2b_base64", value) => {
            unbase64(value, &STANDARD)
        }
        ("base64.urlsafe_b64decode", value) => unbase64(value, &URL_SAFE),
        ("base64.b32decode", value) => unbase32(value),
        ("base64.b85decode", value) => unbase85(value, ALPHABET_85),
        ("base64.a85decode", value) => unbase85(value, ALPHABET_ASCII85),
        ("zlib.decompress", AbstractValue::Bytes(bytes)) => {
            inflated(miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(bytes, MAX_LENGTH).ok())
        }
        ("gzip.decompress", AbstractValue::Bytes(bytes)) if bytes.len() > 18 && bytes[3] & !8 == 0 => {
            // RFC 1952: a header of ten bytes, perhaps a name, and eight bytes at the end.
            let name =
                if bytes[3] == 8 { bytes[10..].iter().position(|byte| *byte == 0).map_or(0, |end| end + 1) } else { 0 };
            inflated(
                miniz_oxide::inflate::decompress_to_vec_with_limit(&bytes[10 + name..bytes.len() - 8], MAX_LENGTH).ok(),
            )
        }
        ("ast.literal_eval", AbstractValue::Text(text)) => {
            let quoted = |quote: char| {
                text.strip_prefix(quote)?.strip_suffix(quote).filter(|inner| !inner.contains([quote, '\\']))
            };
            match quoted('"').or_else(|| quoted('\'')) {
                Some(inner) => AbstractValue::text(inner),
                None => serde_json::from_str(text).map_or(AbstractValue::Unknown, |value| from_json(&value, 0)),
            }
        }
        ("builtins.slice", _) => AbstractValue::Unknown,
        ("builtins.max" | "builtins.min", value) if keywords.is_empty() => {
            let items = if args.len() == 1 { value.items()? } else { args.to_vec() };
            let largest = name.ends_with("max");
            if items.iter().all(|item| item.as_int().is_some()) {
                let numbers = items.iter().filter_map(AbstractValue::as_int);
                if largest { numbers.max() } else { numbers.min() }.map_or(AbstractValue::Unknown, AbstractValue::Int)
            } else if items.iter().all(|item| item.as_text().is_some()) {
                let texts = items.iter().filter_map(AbstractValue::as_text);
                if largest { texts.max() } else { texts.min() }.map_or(AbstractValue::Unknown, AbstractValue::text)
            } else {
                AbstractValue::Unknown
            }
        }
        ("string.Template", AbstractValue::Text(text)) => AbstractValue::Text(Rc::clone(text)),
        ("re.sub", AbstractValue::Text(pattern)) => match (args.get(1), args.get(2)) {
            (Some(AbstractValue::Text(to)), Some(AbstractValue::Text(text)))
                if pattern.len() < 200 && !to.contains('\\') && text.len() < 4096 =>
            {
                let small = regex::RegexBuilder::new(pattern).size_limit(1 << 16).build().ok()?;
                AbstractValue::text(&small.replace_all(text, regex::NoExpand(to)))
            }
            _ => AbstractValue::Unknown,
        },
        ("codecs.decode" | "codecs.encode", value) => {
            let codec = args.get(1).and_then(AbstractValue::as_text).unwrap_or("utf-8");
            if name == "codecs.encode" && !codec.contains("rot") {
                return Some(AbstractValue::Unknown);
            }
            decode(value, codec)
        }
        ("urllib.parse.unquote" | "urllib.parse.unquote_plus", AbstractValue::Text(text)) => {
            AbstractValue::text(&unquote(text))
        }
        ("html.unescape", AbstractValue::Text(text)) => unescape_html(text),
        ("json.loads", AbstractValue::Text(text)) => match serde_json::from_str::<serde_json::Value>(text) {
            Ok(value) => from_json(&value, 0),
            Err(_) => AbstractValue::Unknown,
        },
        ("builtins.str.join", separator) => method(separator, "join", &args[1..], &[]),
        ("builtins.str.maketrans", AbstractValue::Text(from)) => {
            let to = args.get(1).and_then(AbstractValue::as_text)?;
            let code = |char: char| AbstractValue::Int(char as i128);
            let mut items: Vec<_> = from.chars().zip(to.chars()).map(|(from, to)| (code(from), code(to))).collect();
            let gone = args.get(2).and_then(AbstractValue::as_text).unwrap_or("");
            items.extend(gone.chars().map(|char| (code(char), AbstractValue::Nothing)));
            AbstractValue::dict(items)
        }
        ("builtins.str.maketrans", AbstractValue::Dict(items)) => AbstractValue::dict(
            items
                .iter()
                .map(|(key, value)| match key.as_text().and_then(|text| text.chars().next()) {
                    Some(char) => (AbstractValue::Int(char as i128), value.clone()),
                    None => (key.clone(), value.clone()),
                })
                .collect(),
        ),
        ("builtins.range", _) => {
            let bounds: Option<Vec<i128>> = args.iter().map(AbstractValue::as_int).collect();
            let (start, stop, step) = match bounds?.as_slice() {
                [stop] => (0, *stop, 1),
                [start, stop] => (*start, *stop, 1),
                [start, stop, step] if *step != 0 => (*start, *stop, *step),
                _ => return Some(AbstractValue::Unknown),
            };
            const MAX_RANGE: usize = 512;
            let numbers = std::iter::successors(Some(start), |n| n.checked_add(step))
                .take_while(|n| if step > 0 { *n < stop } else { *n > stop })
                .take(MAX_RANGE + 1)
                .map(AbstractValue::Int)
                .collect::<Vec<_>>();
            if numbers.len() > MAX_RANGE { AbstractValue::Unknown } else { AbstractValue::sequence(numbers) }
        }
        ("builtins.zip", _) => {
            let columns: Option<Vec<Vec<AbstractValue>>> = args.iter().map(AbstractValue::items).collect();
            let columns = columns?;
            let rows = columns.iter().map(Vec::len).min().unwrap_or(0);
            AbstractValue::sequence(
                (0..rows)
                    .map(|row| AbstractValue::sequence(columns.iter().map(|c| c[row].clone()).collect()))
                    .collect(),
            )
        }
        ("builtins.enumerate", value) => {
            let start = args.get(1).and_then(AbstractValue::as_int).unwrap_or(0);
            let items = value.items()?.into_iter().enumerate();
            AbstractValue::sequence(
                items
                    .map(|(n, item)| AbstractValue::sequence(vec![AbstractValue::Int(start + n as i128), item]))
                    .collect(),
            )
        }
        ("builtins.sorted", value) if keywords.iter().all(|(name, _)| *name == "reverse") => {
            let mut items = value.items()?;
            if items.iter().all(|item| item.as_int().is_some()) {
                items.sort_by_key(AbstractValue::as_int);
            } else if items.iter().all(|item| item.as_text().is_some()) {
                items.sort_by(|a, b| a.as_text().cmp(&b.as_text()));
            } else {
                return Some(AbstractValue::Unknown);
            }
            if keywords.first().is_some_and(|(_, reverse)| reverse.truth() == Some(true)) {
                items.reverse();
            }
            AbstractValue::sequence(items)
        }
        ("builtins.sum", value) => {
            let start = args.get(1).cloned().unwrap_or(AbstractValue::Int(0));
            value.items()?.iter().fold(start, |sum, item| binary(Operator::Add, &sum, item))
        }
        ("builtins.dict", value) => match value {
            AbstractValue::Dict(_) => value.clone(),
            AbstractValue::Sequence(items) => {
                let pairs: Option<Vec<(AbstractValue, AbstractValue)>> = items
                    .iter()
                    .map(|item| match item.items()?.as_slice() {
                        [key, value] => Some((key.clone(), value.clone())),
                        _ => None,
                    })
                    .collect();
                pairs.map_or(AbstractValue::Unknown, AbstractValue::dict)
            }
            _ => AbstractValue::Unknown,
        },
        ("builtins.int.to_bytes", value) => to_bytes(value, &args[1..], keywords),
        ("operator.add" | "operator.concat", left) => binary(Operator::Add, left, args.get(1)?),
        ("operator.xor", left) => binary(Operator::BitXor, left, args.get(1)?),
        ("operator.getitem", left) => item(left, args.get(1)?),
        ("itertools.chain", _) => {
            let items: Option<Vec<Vec<AbstractValue>>> = args.iter().map(AbstractValue::items).collect();
            AbstractValue::sequence(items?.concat())
        }
        ("os.path.join", AbstractValue::Text(_)) => {
            let parts: Option<Vec<&str>> = args.iter().map(AbstractValue::as_text).collect();
            parts.map_or(AbstractValue::Unknown, |parts| {
                let from = parts.iter().rposition(|part| part.starts_with('/')).unwrap_or(0);
                AbstractValue::text(
                    &parts[from..].iter().map(|part| part.trim_end_matches('/')).collect::<Vec<_>>().join("/"),
                )
            })
        }
        ("textwrap.dedent" | "inspect.cleandoc", AbstractValue::Text(text)) => AbstractValue::text(&dedent(text)),
        ("bytes.decode" | "builtins.bytes.decode", value) => method(value, "decode", &args[1..], keywords),
        ("copy.copy" | "copy.deepcopy", value) => value.clone(),
        _ => return None,
    })
}

/// Removes common indentation of spaces, like `textwrap.dedent`.
fn dedent(text: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let least = text.lines().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    text.lines().map(|line| line.get(least..).unwrap_or("")).collect::<Vec<_>>().join("\n")
}

fn number<'a>(text: &str, base: i128) -> Option<AbstractValue<'a>> {
    let text = text.trim().replace('_', "").to_ascii_lowercase();
    let base = u32::try_from(base).ok().filter(|base| *base == 0 || (2..=36).contains(base))?;
    let prefixed = [("0x", 16), ("0o", 8), ("0b", 2)].into_iter().find_map(|(prefix, of)| {
        text.strip_prefix(prefix).filter(|_| base == 0 || base == of).map(|digits| (digits.to_owned(), of))
    });
    let (digits, base) = prefixed.unwrap_or((text, if base == 0 { 10 } else { base }));
    if digits.len() > 1024 {
        return None;
    }
    if let Ok(value) = i128::from_str_radix(&digits, base) {
        return Some(AbstractValue::Int(value));
    }
    BigInt::from_str_radix(&digits, base).ok().map(|value| AbstractValue::Large(Rc::new(value)))
}
