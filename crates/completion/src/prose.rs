//! Prose: the lines of an answer outside its blocks, and what reads as such.

use super::shell;

/// Lines of an answer that follow each other.
pub(crate) struct Prose<'a> {
    /// Lines, each with its end.
    pub lines: Vec<&'a str>,
    /// Number of the first line, from 1.
    pub first_line: usize,
    pub extent: Extent,
}

/// Share of an answer that its prose is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The whole answer: nothing stands beside it.
    Whole,
    /// Blocks stand beside it.
    Part,
}

/// Returns whether a line reads as prose: words, markup of documents, or a script other than Latin.
pub(crate) fn is_prose(line: &str) -> bool {
    let text = line.trim();
    if text.starts_with(['|', '>', '<', '•', '–', '—', '$', '\\'])
        || ["- ", "* ", "**", "#"].iter().any(|mark| text.starts_with(mark))
    {
        return true;
    }
    let numbered = text.trim_start_matches(|char: char| char.is_ascii_digit());
    if numbered.len() < text.len() && numbered.starts_with(['.', ')']) && numbered[1..].starts_with(' ') {
        return true;
    }
    let wide = text.chars().filter(|char| char.is_alphabetic() && *char as u32 > 0x24f).count();
    if wide * 2 > text.chars().filter(|char| char.is_alphabetic()).count() {
        return true;
    }
    let (mut words, mut tokens) = (0, 0);
    for token in text.split_whitespace() {
        tokens += 1;
        let word = token.trim_matches(['.', ',', ':', ';', '!', '?', '(', ')', '"', '\'', '*', '`', '’']);
        let is_word = !word.is_empty()
            && word.chars().all(|char| char.is_alphabetic() || matches!(char, '\'' | '’' | '-'))
            && !token.ends_with("()");
        words += usize::from(is_word);
    }
    words == tokens || (words >= 3 && words * 10 >= tokens * 6)
}

/// Returns whether a line has words that only sentences have, outside quotes and comments.
pub(crate) fn is_sentence(line: &str) -> bool {
    let (mut count, mut quote) = (0, None);
    for word in line.split_whitespace() {
        if quote.is_none() && matches!(word, "//" | "#" | "--" | "/*" | "%" | ";") {
            break;
        }
        let starts =
            |mark: char| word.starts_with(mark) || word.contains(&['(', mark][..]) || word.contains(&['=', mark][..]);
        for mark in ['"', '\'', '`'] {
            let marks = word.matches(mark).count();
            if quote == Some(mark) && marks % 2 == 1 {
                quote = None;
            } else if quote.is_none() && marks % 2 == 1 && starts(mark) {
                quote = Some(mark);
            }
        }
        let name = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
        count += usize::from(quote.is_none() && shell::is_function_word(name));
    }
    count > 1 || (count == 1 && line.ends_with(['.', '!', '?', ':', ',']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_prose_are_told_from_code() {
        for line in
            ["It returns its argument.", "Explanation:", "- so", "1. First", "вот решение", "The `x` is a list."]
        {
            assert!(is_prose(line), "{line}");
        }
        for line in ["x = foo(1", "return shortest[:", "total += x", "main()"] {
            assert!(!is_prose(line), "{line}");
        }
    }
}
