//! Parts of values, by name, index or path.

use super::shown::{described, shortened};
use super::value::{BYTES_A_VALUE, Failure, MAX_DEPTH, Memory, Names, Value};
use std::sync::Arc;

/// Largest index that an array is extended to.
const MAX_INDEX: usize = 1 << 20;

/// The parts of a path.
pub(super) fn parts(path: &Value) -> &[Value] {
    match path {
        Value::Array(parts) => &parts.content,
        _ => &[],
    }
}

/// A path with one more part.
pub(super) fn push(memory: &Memory, path: &Value, part: Value) -> Result<Value, Failure> {
    let mut all = parts(path).to_vec();
    all.push(part);
    memory.array(all)
}

/// A path followed by another.
pub(super) fn concat(memory: &Memory, path: &Value, more: &Value) -> Result<Value, Failure> {
    memory.array([parts(path), parts(more)].concat())
}

/// A slice as a part of a path.
pub(super) fn range(memory: &Memory, from: Value, to: Value) -> Result<Value, Failure> {
    let mut names = Names::new();
    names.insert("start".into(), from);
    names.insert("end".into(), to);
    memory.object(names)
}

/// The place of an index, which counts from the end if it is negative; none before the start.
fn place(index: f64, length: usize) -> Option<usize> {
    let index = index.floor();
    let index = if index < 0.0 { index + length as f64 } else { index };
    (index >= 0.0).then_some(index as usize)
}

/// The part of a value that a name or an index leads to.
pub(super) fn index(memory: &Memory, value: &Value, by: &Value) -> Result<Value, Failure> {
    match (value, by) {
        (Value::Null, Value::Null | Value::String(_) | Value::Number(_) | Value::Object(_)) => Ok(Value::Null),
        (Value::Object(object), Value::String(name)) => {
            Ok(object.content.get(name.content.as_str()).cloned().unwrap_or(Value::Null))
        }
        (Value::Array(array), Value::Number(number)) => {
            let found = place(*number, array.content.len()).and_then(|at| array.content.get(at));
            Ok(found.cloned().unwrap_or(Value::Null))
        }
        (Value::Array(_) | Value::String(_), Value::Object(range)) => {
            let end = |name: &str| range.content.get(name).cloned().unwrap_or(Value::Null);
            slice(memory, value, &end("start"), &end("end"))
        }
        (value, Value::String(name)) => {
            Err(memory.error(format!("Cannot index {} with \"{}\"", value.kind(), name.content)))
        }
        (value, by) => Err(memory.error(format!("Cannot index {} with {}", value.kind(), by.kind()))),
    }
}

/// First and last place of a slice.
fn bounds(memory: &Memory, length: usize, from: &Value, to: &Value) -> Result<(usize, usize), Failure> {
    let end = |value: &Value, default: usize, round: fn(f64) -> f64| match value {
        Value::Null => Ok(default),
        Value::Number(number) => {
            let number = round(*number);
            let number = if number < 0.0 { number + length as f64 } else { number };
            Ok(number.clamp(0.0, length as f64) as usize)
        }
        _ => Err(memory.error("Start and end indices of an array slice must be numbers")),
    };
    let (from, to) = (end(from, 0, f64::floor)?, end(to, length, f64::ceil)?);
    Ok((from, to.max(from)))
}

/// A slice of an array, or of the characters of a string.
pub(super) fn slice(memory: &Memory, value: &Value, from: &Value, to: &Value) -> Result<Value, Failure> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Array(array) => {
            let (from, to) = bounds(memory, array.content.len(), from, to)?;
            memory.array(array.content[from..to].to_vec())
        }
        Value::String(text) => {
            let text = &text.content;
            let (from, to) = bounds(memory, text.chars().count(), from, to)?;
            memory.string(text.chars().skip(from).take(to - from).collect::<String>())
        }
        value => Err(memory.error(format!("Cannot index {} with object", value.kind()))),
    }
}

/// Returns the value at a path; null where there is nothing.
pub(super) fn get_path(memory: &Memory, value: &Value, path: &Value) -> Result<Value, Failure> {
    let Value::Array(parts) = path else { return Err(memory.error("Path must be specified as an array")) };
    let mut found = value.clone();
    for part in &parts.content {
        if matches!(found, Value::Null) {
            return Ok(Value::Null);
        }
        found = index(memory, &found, part)?;
    }
    Ok(found)
}

/// The value with another at a path. What nobody else has is changed where it is.
pub(super) fn set_path(memory: &Memory, value: Value, path: &[Value], new: Value) -> Result<Value, Failure> {
    if path.len() > MAX_DEPTH {
        return Err(memory.error("Path is too deep"));
    }
    let Some((part, rest)) = path.split_first() else { return Ok(new) };
    match (value, part) {
        (Value::Null, Value::String(_)) => {
            let object = memory.object(Names::new())?;
            set_path(memory, object, path, new)
        }
        (Value::Null, Value::Number(_) | Value::Object(_)) => {
            let array = memory.array(Vec::new())?;
            set_path(memory, array, path, new)
        }
        (Value::Object(object), Value::String(name)) => {
            let name: Arc<str> = Arc::from(name.content.as_str());
            memory.change(object, |names| {
                let before = names.get_mut(&*name).map_or(Value::Null, |value| std::mem::replace(value, Value::Null));
                let value = set_path(memory, before, rest, new)?;
                let added = (value.depth(), name.len());
                names.insert(name, value);
                Ok(added)
            })
        }
        (Value::Array(array), Value::Number(number)) => {
            let Some(at) = place(*number, array.content.len()) else {
                return Err(memory.error("Out of bounds negative array index"));
            };
            if at > MAX_INDEX {
                return Err(memory.error("Array index too large"));
            }
            // Held until the change is counted: the parts below may be as long.
            let _held = memory.hold((at + 1).saturating_sub(array.content.len()) * BYTES_A_VALUE)?;
            memory.change(array, |values| {
                if values.len() <= at {
                    values.resize(at + 1, Value::Null);
                }
                let before = std::mem::replace(&mut values[at], Value::Null);
                values[at] = set_path(memory, before, rest, new)?;
                Ok((values[at].depth(), 0))
            })
        }
        (Value::Array(array), Value::Object(range)) => {
            let end = |name: &str| range.content.get(name).cloned().unwrap_or(Value::Null);
            let (from, to) = bounds(memory, array.content.len(), &end("start"), &end("end"))?;
            let before = memory.array(array.content[from..to].to_vec())?;
            let Value::Array(with) = set_path(memory, before, rest, new)? else {
                return Err(memory.error("A slice of an array can only be assigned another array"));
            };
            let values = [&array.content[..from], &with.content, &array.content[to..]].concat();
            memory.array(values)
        }
        (value, part) => Err(match part {
            Value::String(name) => memory.error(format!("Cannot index {} with \"{}\"", value.kind(), name.content)),
            part => memory.error(format!("Cannot index {} with {}", value.kind(), part.kind())),
        }),
    }
}

/// The value without what paths lead to.
pub(super) fn delete_paths(memory: &Memory, value: Value, mut paths: Vec<Value>) -> Result<Value, Failure> {
    if let Value::Array(array) = &value
        && let Some(places) = places(&paths, array.content.len())
    {
        let Value::Array(array) = value else { return Ok(value) };
        return memory.change(array, |values| {
            let mut at = 0;
            values.retain(|_| {
                at += 1;
                !places[at - 1]
            });
            Ok((0, 0))
        });
    }
    // The last of an array first: those before it keep their places.
    paths.sort_by(|one, other| other.order(one));
    let mut moved = 0;
    paths.into_iter().try_fold(value, |value, path| {
        if parts(&path).len() > MAX_DEPTH {
            return Err(memory.error("Path is too deep"));
        }
        delete(memory, value, parts(&path), &mut moved)
    })
}

/// For each place of an array, whether it is among these paths; none if one of them is no place.
fn places(paths: &[Value], length: usize) -> Option<Vec<bool>> {
    let mut found = vec![false; length];
    for path in paths {
        let [Value::Number(number)] = parts(path) else { return None };
        if let Some(found) = place(*number, length).and_then(|at| found.get_mut(at)) {
            *found = true;
        }
    }
    Some(found)
}

/// Values that all deletions of one call may move, besides those of places of one array.
const MAX_MOVED: usize = 1 << 26;

fn delete(memory: &Memory, value: Value, path: &[Value], moved: &mut usize) -> Result<Value, Failure> {
    let Some((part, rest)) = path.split_first() else { return Ok(Value::Null) };
    match (value, part) {
        (Value::Null, _) => Ok(Value::Null),
        (Value::Object(object), Value::String(name)) => {
            let name = name.content.as_str();
            if !object.content.contains_key(name) {
                return Ok(Value::Object(object));
            }
            memory.change(object, |names| {
                if rest.is_empty() {
                    names.shift_remove(name);
                } else if let Some(value) = names.get_mut(name) {
                    *value = delete(memory, std::mem::replace(value, Value::Null), rest, moved)?;
                }
                Ok((0, 0))
            })
        }
        (Value::Array(array), Value::Number(number)) => {
            let length = array.content.len();
            let Some(at) = place(*number, length).filter(|at| *at < length) else { return Ok(Value::Array(array)) };
            *moved += length - at;
            if *moved > MAX_MOVED {
                return Err(memory.error("too many deletions"));
            }
            memory.change(array, |values| {
                if rest.is_empty() {
                    values.remove(at);
                } else {
                    values[at] = delete(memory, std::mem::replace(&mut values[at], Value::Null), rest, moved)?;
                }
                Ok((0, 0))
            })
        }
        (Value::Array(array), Value::Object(range)) if rest.is_empty() => {
            let end = |name: &str| range.content.get(name).cloned().unwrap_or(Value::Null);
            let (from, to) = bounds(memory, array.content.len(), &end("start"), &end("end"))?;
            *moved += array.content.len() - from;
            if *moved > MAX_MOVED {
                return Err(memory.error("too many deletions"));
            }
            memory.change(array, |values| {
                values.drain(from..to);
                Ok((0, 0))
            })
        }
        (value, part) => {
            Err(memory.error(format!("Cannot delete field at {} of {}", shortened(part), described(&value))))
        }
    }
}
