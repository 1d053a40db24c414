//! Characters and parts of texts.

/// Characters of a text; of what is no UTF-8, its bytes.
pub(super) fn characters(bytes: &[u8]) -> Option<&str> {
    match bytes.is_ascii() {
        true => None,
        false => std::str::from_utf8(bytes).ok(),
    }
}

/// Number of characters of a text.
pub(super) fn length(bytes: &[u8]) -> usize {
    characters(bytes).map_or(bytes.len(), |text| text.chars().count())
}

/// Finds the first occurrence of some bytes, in time proportional to both lengths.
pub(super) fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    if wanted.is_empty() {
        return Some(0);
    }
    // For each prefix of what is wanted, the length of its longest end that is a prefix too.
    let mut borders = vec![0; wanted.len()];
    let mut length = 0;
    for at in 1..wanted.len() {
        while length > 0 && wanted[at] != wanted[length] {
            length = borders[length - 1];
        }
        length += usize::from(wanted[at] == wanted[length]);
        borders[at] = length;
    }
    length = 0;
    for (at, byte) in text.iter().enumerate() {
        while length > 0 && *byte != wanted[length] {
            length = borders[length - 1];
        }
        length += usize::from(*byte == wanted[length]);
        if length == wanted.len() {
            return Some(at + 1 - length);
        }
    }
    None
}
