//! Brace expansion: `{a,b}`, `{1..5}`, before anything else is expanded.

use crate::bounds::{MAX_FIELDS, MAX_TEXT};
use crate::syntax::{Piece, Word};
use std::sync::Arc;

/// Braces within each other; deeper ones stay as they are.
const MAX_NESTING: usize = 16;

#[derive(Clone)]
enum Token {
    Character(char),
    /// Anything but plain text: the words share it, however long it is.
    Piece(Arc<Piece>),
}

/// A pair of braces, and the commas between.
struct Pair {
    close: usize,
    commas: Vec<usize>,
}

/// Words that have become too many, or too long.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooMany;

/// The words that one becomes; none if there is nothing to expand in it.
pub(super) fn expand(word: &Word) -> Result<Option<Vec<Word>>, TooMany> {
    let braces = word.0.iter().any(|piece| matches!(piece, Piece::Plain(text) if text.contains('{')));
    if !braces {
        return Ok(None);
    }
    let mut tokens = Vec::new();
    for piece in &word.0 {
        match piece {
            Piece::Plain(text) => tokens.extend(text.chars().map(Token::Character)),
            other => tokens.push(Token::Piece(Arc::new(other.clone()))),
        }
    }
    let mut pairs: Vec<Option<Pair>> = (0..tokens.len()).map(|_| None).collect();
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Character('{') => open.push((at, Vec::new())),
            Token::Character(',') => {
                if let Some((_, commas)) = open.last_mut() {
                    commas.push(at);
                }
            }
            Token::Character('}') => {
                if let Some((start, commas)) = open.pop() {
                    pairs[start] = Some(Pair { close: at, commas });
                }
            }
            Token::Character(_) | Token::Piece(_) => {}
        }
    }
    let mut budget = MAX_TEXT / size_of::<Token>();
    let words = alternatives(&tokens, &pairs, 0, tokens.len(), 0, &mut budget)?;
    Ok(Some(words.into_iter().map(word_of).collect()))
}

fn alternatives(
    tokens: &[Token],
    pairs: &[Option<Pair>],
    from: usize,
    to: usize,
    depth: usize,
    budget: &mut usize,
) -> Result<Vec<Vec<Token>>, TooMany> {
    let mut words: Vec<Vec<Token>> = vec![Vec::new()];
    let mut at = from;
    while at < to {
        let expanded = match &pairs[at] {
            Some(pair) if pair.close < to && depth < MAX_NESTING => {
                choices(tokens, pairs, at, pair, depth, budget)?.map(|choices| (choices, pair.close + 1))
            }
            Some(_) | None => None,
        };
        let Some((choices, after)) = expanded else {
            *budget = budget.checked_sub(words.len()).ok_or(TooMany)?;
            words.iter_mut().for_each(|word| word.push(tokens[at].clone()));
            at += 1;
            continue;
        };
        if words.len() * choices.len() > MAX_FIELDS {
            return Err(TooMany);
        }
        let mut product = Vec::with_capacity(words.len() * choices.len());
        for word in &words {
            for choice in &choices {
                *budget = budget.checked_sub(word.len() + choice.len() + 1).ok_or(TooMany)?;
                product.push(word.iter().chain(choice).cloned().collect());
            }
        }
        words = product;
        at = after;
    }
    Ok(words)
}

/// Returns the alternatives of one pair of braces; `None` for a pair that is just braces.
fn choices(
    tokens: &[Token],
    pairs: &[Option<Pair>],
    open: usize,
    pair: &Pair,
    depth: usize,
    budget: &mut usize,
) -> Result<Option<Vec<Vec<Token>>>, TooMany> {
    if pair.commas.is_empty() {
        return sequence(&tokens[open + 1..pair.close]);
    }
    let mut found = Vec::new();
    let mut from = open + 1;
    for end in pair.commas.iter().copied().chain([pair.close]) {
        found.extend(alternatives(tokens, pairs, from, end, depth + 1, budget)?);
        if found.len() > MAX_FIELDS {
            return Err(TooMany);
        }
        from = end + 1;
    }
    Ok(Some(found))
}

/// `1..5`, `a..e`, `01..10..2`
fn sequence(tokens: &[Token]) -> Result<Option<Vec<Vec<Token>>>, TooMany> {
    let characters = tokens.iter().take(64).map(|token| match token {
        Token::Character(c) => Some(*c),
        Token::Piece(_) => None,
    });
    let Some(text) = characters.collect::<Option<String>>() else { return Ok(None) };
    let parts: Vec<&str> = text.split("..").collect();
    let (first, last, step) = match parts.as_slice() {
        [first, last] => (*first, *last, 1),
        [first, last, step] => match step.parse::<i64>() {
            Ok(step) => (*first, *last, step.unsigned_abs().max(1)),
            Err(_) => return Ok(None),
        },
        _ => return Ok(None),
    };
    let letter = |text: &str| {
        let mut characters = text.chars();
        characters.next().filter(|c| c.is_ascii_alphabetic() && characters.next().is_none())
    };
    let (from, to, letters) = match (letter(first), letter(last)) {
        (Some(from), Some(to)) => (i64::from(from as u32), i64::from(to as u32), true),
        _ => match (first.parse::<i64>(), last.parse::<i64>()) {
            (Ok(from), Ok(to)) => (from, to, false),
            _ => return Ok(None),
        },
    };
    let count = from.abs_diff(to) / step + 1;
    if count > MAX_FIELDS as u64 {
        return Err(TooMany);
    }
    let padded = |text: &str| text.trim_start_matches('-').starts_with('0') && text.trim_start_matches('-').len() > 1;
    let width = if padded(first) || padded(last) { first.len().max(last.len()) } else { 0 };
    let values = (0..count).map(|index| {
        let moved = (index * step) as i64;
        let value = if from <= to { from.wrapping_add(moved) } else { from.wrapping_sub(moved) };
        let text = match letters {
            true => char::from(value as u8).to_string(),
            false => format!("{value:0width$}"),
        };
        text.chars().map(Token::Character).collect()
    });
    Ok(Some(values.collect()))
}

fn word_of(tokens: Vec<Token>) -> Word {
    let mut pieces = Vec::new();
    for token in tokens {
        match (token, pieces.last_mut()) {
            (Token::Character(c), Some(Piece::Plain(text))) => text.push(c),
            (Token::Character(c), _) => pieces.push(Piece::Plain(c.to_string())),
            (Token::Piece(piece), _) => pieces.push(Piece::Shared(piece)),
        }
    }
    Word(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<Vec<String>, TooMany> {
        let word = Word(vec![Piece::Plain(text.to_owned())]);
        let words = expand(&word)?.unwrap_or_else(|| vec![word]);
        Ok(words.iter().map(|word| word.plain().unwrap_or("?").to_owned()).collect())
    }

    #[test]
    fn alternatives_and_sequences_multiply() {
        assert_eq!(expanded("a{b,c{d,e}}f").expect("few"), ["abf", "acdf", "acef"]);
        assert_eq!(expanded("{1..3}{a,}").expect("few"), ["1a", "1", "2a", "2", "3a", "3"]);
        assert_eq!(expanded("{08..10}").expect("few"), ["08", "09", "10"]);
        assert_eq!(expanded("{c..a}").expect("few"), ["c", "b", "a"]);
        assert_eq!(expanded("{a}{,").expect("few"), ["{a}{,"]);
    }

    #[test]
    fn quoted_text_is_shared_by_the_words() {
        let word = Word(vec![Piece::Plain("{1..4000}".to_owned()), Piece::Quoted("x".repeat(100_000))]);
        let words = expand(&word).expect("few").expect("braces");
        let shared: Vec<_> = words
            .iter()
            .filter_map(|word| match word.0.as_slice() {
                [Piece::Plain(_), Piece::Shared(piece)] => Some(Arc::as_ptr(piece)),
                _ => None,
            })
            .collect();
        assert_eq!(shared.len(), 4000);
        assert!(shared.iter().all(|piece| *piece == shared[0]));
    }

    #[test]
    fn a_bomb_is_refused() {
        assert_eq!(expanded(&"{a,b}".repeat(30)), Err(TooMany));
        assert_eq!(expanded("{1..1000000000}"), Err(TooMany));
        assert_eq!(expanded(&format!("{}{}", "{1..9000}", "x".repeat(100_000))), Err(TooMany));
        assert_eq!(expanded(&"{a..a}".repeat(500)).map(|words| words.len()), Ok(1));
        assert_eq!(expanded(&format!("{}{}", "{a,".repeat(5000), "}".repeat(5000))).map(|words| words.len()), Ok(17));
    }
}
