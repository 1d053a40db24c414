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
use crate::scan::tree::known::{Known, MAX_LENGTH};

/// A function of the standard library that only computes. None when it is no such.
pub fn function<'a>(name: &str, args: &[Known<'a>], keywords: &[(&str, Known<'a>)]) -> Option<Known<'a>> {
    let first = args.first();
    Some(match (name, first?) {
        ("builtins.chr", value) => {
            let char = value.as_int().and_then(|code| u32::try_from(code).ok()).and_then(char::from_u32);
            char.map_or(Known::Unknown, |char| Known::text(char.encode_utf8(&mut [0; 4])))
        }
        ("builtins.ord", Known::Text(text)) => {
            let mut chars = text.chars();
            match (chars.next(), chars.next()) {
                (Some(char), None) => Known::Int(char as i128),
                _ => Known::Unknown,
            }
        }
        ("builtins.ord", Known::Bytes(bytes)) if bytes.len() == 1 => Known::Int(i128::from(bytes[0])),
        ("builtins.len", value) => match value {
            Known::Text(text) => Known::Int(text.chars().count() as i128),
            Known::Bytes(_) | Known::Sequence(_) | Known::Dict(_) => Known::Int(value.length() as i128),
            _ => Known::Unknown,
        },
        ("builtins.str", Known::Bytes(_)) if args.len() > 1 || !keywords.is_empty() => {
            decode(first?, args.get(1).and_then(Known::as_text).unwrap_or("utf-8"))
        }
        ("builtins.str", value) => shown(value).map_or(Known::Unknown, |text| Known::text(&text)),
        ("builtins.repr" | "builtins.ascii", Known::Int(value)) => Known::text(&value.to_string()),
        ("builtins.format", value) => formatted(value, args.get(1).map_or(Some(""), Known::as_text)?)
            .map_or(Known::Unknown, |text| Known::text(&text)),
        ("builtins.hex", Known::Int(value)) if *value >= 0 => Known::text(&format!("{value:#x}")),
        ("builtins.hex", Known::Large(value)) => Known::text(&format!("0x{}", value.to_str_radix(16))),
        ("builtins.abs", Known::Int(value)) => value.checked_abs().map_or(Known::Unknown, Known::Int),
        ("builtins.int", Known::Text(text)) => {
            let base = args.get(1).or(keywords.first().map(|(_, value)| value)).and_then(Known::as_int).unwrap_or(10);
            number(text, base).unwrap_or_default()
        }
        ("builtins.int", value) => value.as_int().map_or(Known::Unknown, Known::Int),
        ("builtins.bool", value) => value.truth().map_or(Known::Unknown, Known::Bool),
        ("builtins.reversed", value) => {
            let mut items = value.items()?;
            items.reverse();
            Known::sequence(items)
        }
        ("builtins.list" | "builtins.tuple" | "builtins.iter" | "builtins.set" | "collections.deque", value) => {
            value.items().map_or(Known::Unknown, Known::sequence)
        }
        ("builtins.next", value) => value.items().and_then(|items| items.into_iter().next()).unwrap_or_default(),
        ("builtins.bytes" | "builtins.bytearray" | "builtins.memoryview", value) => match value {
            Known::Bytes(_) => value.clone(),
            Known::Text(text) => Known::bytes(text.as_bytes()),
            Known::Sequence(items) => {
                let bytes: Option<Vec<u8>> =
                    items.iter().map(|item| item.as_int().and_then(|byte| u8::try_from(byte).ok())).collect();
                bytes.map_or(Known::Unknown, |bytes| Known::bytes(&bytes))
            }
            _ => Known::Unknown,
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
        ("zlib.decompress", Known::Bytes(bytes)) => {
            inflated(miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(bytes, MAX_LENGTH).ok())
        }
        ("gzip.decompress", Known::Bytes(bytes)) if bytes.len() > 18 && bytes[3] & !8 == 0 => {
            // RFC 1952: a header of ten bytes, perhaps a name, and eight bytes at the end.
            let name =
                if bytes[3] == 8 { bytes[10..].iter().position(|byte| *byte == 0).map_or(0, |end| end + 1) } else { 0 };
            inflated(
                miniz_oxide::inflate::decompress_to_vec_with_limit(&bytes[10 + name..bytes.len() - 8], MAX_LENGTH).ok(),
            )
        }
        ("ast.literal_eval", Known::Text(text)) => {
            let quoted = |quote: char| {
                text.strip_prefix(quote)?.strip_suffix(quote).filter(|inner| !inner.contains([quote, '\\']))
            };
            match quoted('"').or_else(|| quoted('\'')) {
                Some(inner) => Known::text(inner),
                None => serde_json::from_str(text).map_or(Known::Unknown, |value| from_json(&value, 0)),
            }
        }
        ("builtins.slice", _) => Known::Unknown,
        ("builtins.max" | "builtins.min", value) if keywords.is_empty() => {
            let items = if args.len() == 1 { value.items()? } else { args.to_vec() };
            let largest = name.ends_with("max");
            if items.iter().all(|item| item.as_int().is_some()) {
                let numbers = items.iter().filter_map(Known::as_int);
                if largest { numbers.max() } else { numbers.min() }.map_or(Known::Unknown, Known::Int)
            } else if items.iter().all(|item| item.as_text().is_some()) {
                let texts = items.iter().filter_map(Known::as_text);
                if largest { texts.max() } else { texts.min() }.map_or(Known::Unknown, Known::text)
            } else {
                Known::Unknown
            }
        }
        ("string.Template", Known::Text(text)) => Known::Text(text.clone()),
        ("re.sub", Known::Text(pattern)) => match (args.get(1), args.get(2)) {
            (Some(Known::Text(to)), Some(Known::Text(text)))
                if pattern.len() < 200 && !to.contains('\\') && text.len() < 4096 =>
            {
                let small = regex::RegexBuilder::new(pattern).size_limit(1 << 16).build().ok()?;
                Known::text(&small.replace_all(text, regex::NoExpand(to)))
            }
            _ => Known::Unknown,
        },
        ("codecs.decode" | "codecs.encode", value) => {
            let codec = args.get(1).and_then(Known::as_text).unwrap_or("utf-8");
            if name == "codecs.encode" && !codec.contains("rot") {
                return Some(Known::Unknown);
            }
            decode(value, codec)
        }
        ("urllib.parse.unquote" | "urllib.parse.unquote_plus", Known::Text(text)) => Known::text(&unquote(text)),
        ("html.unescape", Known::Text(text)) => unescape_html(text),
        ("json.loads", Known::Text(text)) => match serde_json::from_str::<serde_json::Value>(text) {
            Ok(value) => from_json(&value, 0),
            Err(_) => Known::Unknown,
        },
        ("builtins.str.join", separator) => method(separator, "join", &args[1..], &[]),
        ("builtins.str.maketrans", Known::Text(from)) => {
            let to = args.get(1).and_then(Known::as_text)?;
            let code = |char: char| Known::Int(char as i128);
            let mut items: Vec<_> = from.chars().zip(to.chars()).map(|(from, to)| (code(from), code(to))).collect();
            let gone = args.get(2).and_then(Known::as_text).unwrap_or("");
            items.extend(gone.chars().map(|char| (code(char), Known::Nothing)));
            Known::dict(items)
        }
        ("builtins.str.maketrans", Known::Dict(items)) => Known::dict(
            items
                .iter()
                .map(|(key, value)| match key.as_text().and_then(|text| text.chars().next()) {
                    Some(char) => (Known::Int(char as i128), value.clone()),
                    None => (key.clone(), value.clone()),
                })
                .collect(),
        ),
        ("builtins.range", _) => {
            let bounds: Option<Vec<i128>> = args.iter().map(Known::as_int).collect();
            let (start, stop, step) = match bounds?.as_slice() {
                [stop] => (0, *stop, 1),
                [start, stop] => (*start, *stop, 1),
                [start, stop, step] if *step != 0 => (*start, *stop, *step),
                _ => return Some(Known::Unknown),
            };
            const MAX_RANGE: usize = 512;
            let numbers = std::iter::successors(Some(start), |n| n.checked_add(step))
                .take_while(|n| if step > 0 { *n < stop } else { *n > stop })
                .take(MAX_RANGE + 1)
                .map(Known::Int)
                .collect::<Vec<_>>();
            if numbers.len() > MAX_RANGE { Known::Unknown } else { Known::sequence(numbers) }
        }
        ("builtins.zip", _) => {
            let columns: Option<Vec<Vec<Known>>> = args.iter().map(Known::items).collect();
            let columns = columns?;
            let rows = columns.iter().map(Vec::len).min().unwrap_or(0);
            Known::sequence(
                (0..rows).map(|row| Known::sequence(columns.iter().map(|c| c[row].clone()).collect())).collect(),
            )
        }
        ("builtins.enumerate", value) => {
            let start = args.get(1).and_then(Known::as_int).unwrap_or(0);
            let items = value.items()?.into_iter().enumerate();
            Known::sequence(items.map(|(n, item)| Known::sequence(vec![Known::Int(start + n as i128), item])).collect())
        }
        ("builtins.sorted", value) if keywords.iter().all(|(name, _)| *name == "reverse") => {
            let mut items = value.items()?;
            if items.iter().all(|item| item.as_int().is_some()) {
                items.sort_by_key(Known::as_int);
            } else if items.iter().all(|item| item.as_text().is_some()) {
                items.sort_by(|a, b| a.as_text().cmp(&b.as_text()));
            } else {
                return Some(Known::Unknown);
            }
            if keywords.first().is_some_and(|(_, reverse)| reverse.truth() == Some(true)) {
                items.reverse();
            }
            Known::sequence(items)
        }
        ("builtins.sum", value) => {
            let start = args.get(1).cloned().unwrap_or(Known::Int(0));
            value.items()?.iter().fold(start, |sum, item| binary(Operator::Add, &sum, item))
        }
        ("builtins.dict", value) => match value {
            Known::Dict(_) => value.clone(),
            Known::Sequence(items) => {
                let pairs: Option<Vec<(Known, Known)>> = items
                    .iter()
                    .map(|item| match item.items()?.as_slice() {
                        [key, value] => Some((key.clone(), value.clone())),
                        _ => None,
                    })
                    .collect();
                pairs.map_or(Known::Unknown, Known::dict)
            }
            _ => Known::Unknown,
        },
        ("builtins.int.to_bytes", value) => to_bytes(value, &args[1..], keywords),
        ("operator.add" | "operator.concat", left) => binary(Operator::Add, left, args.get(1)?),
        ("operator.xor", left) => binary(Operator::BitXor, left, args.get(1)?),
        ("operator.getitem", left) => item(left, args.get(1)?),
        ("itertools.chain", _) => {
            let items: Option<Vec<Vec<Known>>> = args.iter().map(Known::items).collect();
            Known::sequence(items?.concat())
        }
        ("os.path.join", Known::Text(_)) => {
            let parts: Option<Vec<&str>> = args.iter().map(Known::as_text).collect();
            parts.map_or(Known::Unknown, |parts| {
                let from = parts.iter().rposition(|part| part.starts_with('/')).unwrap_or(0);
                Known::text(&parts[from..].iter().map(|part| part.trim_end_matches('/')).collect::<Vec<_>>().join("/"))
            })
        }
        ("textwrap.dedent" | "inspect.cleandoc", Known::Text(text)) => Known::text(&dedent(text)),
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

fn number<'a>(text: &str, base: i128) -> Option<Known<'a>> {
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
        return Some(Known::Int(value));
    }
    BigInt::from_str_radix(&digits, base).ok().map(|value| Known::Large(Rc::new(value)))
}
