//! Characters that are not seen, or that change how others are seen: a reader and the interpreter read two programs.
//!
//! [`in_source`] looks at the raw source, [`in_identifier`] at one name.

mod identifier;
mod kinds;

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::CharIndices;

pub(crate) use self::identifier::in_identifier;
use self::kinds::{Kind, kind_of};
use super::fragment::{Match, Strongest};

/// Of every match in a source.
const CATEGORY: &str = "invisible_text";
/// Characters of a hidden message that a reason quotes.
const QUOTED: usize = 60;
/// From so many on, characters without a shape are data.
const DATA: usize = 8;

/// Looks for characters in the whole raw `source` that people don't see. A run of them is one match.
///
/// The controls that reorder text are those of "Trojan Source" (CVE-2021-42574); what is invisible is so by Unicode's
/// `Default_Ignorable_Code_Point` (UAX #44).
pub(crate) fn in_source(source: &str, found: &mut Vec<Match>) {
    let harmless = |b: u8| matches!(b, b' '..=b'~' | b'\t' | b'\n' | b'\r' | 0x0C);
    let Some(first) = source.bytes().position(|b| !harmless(b)) else { return };
    let mut found = Strongest::new(found);
    // All before is ASCII.
    let mut before = source[..first].chars().next_back();
    let mut rest = source[first..].char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let at = first + at;
        match kind_of(c) {
            None => before = Some(c),
            Some(_) if at == 0 && c == '\u{FEFF}' => before = Some(c),
            Some(kind) => {
                let run = Run::take(before, c, kind, &mut rest);
                if let Some(confidence) = run.confidence() {
                    let range = at..at + run.bytes;
                    let (rule, category) = (run.kind.rule().into(), CATEGORY.into());
                    found.push(Match { rule, category, range, confidence, reason: run.reason() });
                }
                // What joins or varies has the same neighbour as what it joins or varies.
                before = if run.kind.belongs_to_neighbour() { before } else { Some(c) };
            }
        }
    }
}

/// Characters in a row that are not seen.
struct Run {
    before: Option<char>,
    after: Option<char>,
    /// Of the worst of them.
    kind: Kind,
    of_kind: usize,
    count: usize,
    bytes: usize,
    first: char,
    last: char,
    /// Text that tag characters spell.
    spelled: String,
}

impl Run {
    /// From `c` on, as far as it goes.
    fn take(before: Option<char>, c: char, kind: Kind, rest: &mut Peekable<CharIndices>) -> Self {
        let mut run = Self {
            before,
            after: None,
            kind,
            of_kind: 0,
            count: 0,
            bytes: 0,
            first: c,
            last: c,
            spelled: String::new(),
        };
        run.add(c, kind);
        while let Some((_, next)) = rest.peek() {
            let Some(kind) = kind_of(*next) else { break };
            run.add(*next, kind);
            rest.next();
        }
        run.after = rest.peek().map(|(_, c)| *c);
        run
    }

    fn add(&mut self, c: char, kind: Kind) {
        if kind.weight() > self.kind.weight() {
            (self.kind, self.of_kind) = (kind, 0);
        }
        self.of_kind += usize::from(kind == self.kind);
        self.count += 1;
        self.bytes += c.len_utf8();
        self.last = c;
        let tag = u32::from(c).checked_sub(0xE0000).and_then(|ascii| u8::try_from(ascii).ok());
        if let Some(ascii @ b' '..=b'~') = tag
            && self.spelled.len() < QUOTED
        {
            self.spelled.push(char::from(ascii));
        }
    }

    /// Returns the confidence, or `None` where such characters belong.
    fn confidence(&self) -> Option<f64> {
        let next_to = |of: fn(char) -> bool| self.before.is_some_and(of) || self.after.is_some_and(of);
        let confidence = match self.kind {
            Kind::BidiControl => 0.95,
            // They belong between words that run in different directions.
            Kind::BidiMark if next_to(kinds::is_right_to_left) => 0.2,
            Kind::BidiMark => 0.5,
            Kind::Joiner if self.count <= 2 && self.joins() => return None,
            Kind::ZeroWidth if self.count == 1 && next_to(kinds::breaks_at_zero_width) => return None,
            Kind::Joiner | Kind::ZeroWidth if self.count >= DATA => 0.97,
            Kind::Joiner | Kind::ZeroWidth => 0.8,
            // England, Scotland and Wales: a black flag, tags, and the tag that ends them (UTS #51).
            Kind::Tag if self.before == Some('\u{1F3F4}') && self.count <= 7 && self.last == '\u{E007F}' => {
                return None;
            }
            Kind::Tag => 0.98,
            Kind::VariationSelector => match self.of_kind {
                1 if self.varies() => return None,
                1 => 0.5,
                2 => 0.7,
                _ => 0.95,
            },
            Kind::HangulFiller if next_to(kinds::is_hangul) => 0.2,
            Kind::HangulFiller => 0.85,
            Kind::SoftHyphen => 0.4,
            Kind::Ignorable => 0.6,
            Kind::BrailleBlank if next_to(kinds::is_braille) => return None,
            Kind::BrailleBlank => 0.4,
            Kind::Null => 0.9,
            Kind::TerminalControl => 0.8,
            Kind::Control => 0.5,
            Kind::LineSeparator => 0.6,
            Kind::WideSpace if next_to(kinds::is_wide) => 0.1,
            Kind::WideSpace | Kind::Space => 0.3,
            Kind::PrivateUse | Kind::Noncharacter if self.count >= DATA => 0.6,
            Kind::PrivateUse | Kind::Noncharacter => 0.3,
        };
        Some(confidence)
    }

    /// Returns whether the run stands between emoji, or after a letter of a script that joins its letters.
    fn joins(&self) -> bool {
        let (Some(before), Some(after)) = (self.before, self.after) else { return false };
        // U+FE0F may stand between an emoji and the joiner.
        let emoji = kinds::is_emoji(before) && kinds::is_emoji(after) && self.last == '\u{200D}';
        let letters = self.count == 1 && kinds::joins_letters(before);
        emoji || letters
    }

    /// Returns whether a selector has something to vary: an emoji, a keycap, an ideograph, a letter that is not Latin.
    fn varies(&self) -> bool {
        let keycap = |c: char| c.is_ascii_digit() || c == '#' || c == '*';
        self.before.is_some_and(|before| if before.is_ascii() { keycap(before) } else { !before.is_whitespace() })
    }

    fn reason(&self) -> Cow<'static, str> {
        if self.kind == Kind::Tag && self.spelled.len() > 1 {
            return format!("Invisible tag characters spell {:?}.", self.spelled).into();
        }
        let code = u32::from(self.first);
        match self.count {
            1 => format!("{}: U+{code:04X}.", self.kind.description()),
            count => format!("{}: {count} characters from U+{code:04X} on.", self.kind.description()),
        }
        .into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fragment::tests::{check, random_texts, takes_linear_time};
    use super::*;

    fn matches(source: &str) -> Vec<Match> {
        let mut found = Vec::new();
        in_source(source, &mut found);
        check(source, &found);
        found
    }

    fn found(source: &str) -> Vec<(String, f64)> {
        matches(source).into_iter().map(|one| (one.rule.into_owned(), one.confidence)).collect()
    }

    fn one(source: &str) -> (String, f64) {
        let found = found(source);
        assert_eq!(found.len(), 1, "{source:?}: {found:?}");
        found[0].clone()
    }

    #[test]
    fn controls_that_reorder_text_are_found() {
        for c in ('\u{202A}'..='\u{202E}').chain('\u{2066}'..='\u{2069}') {
            assert_eq!(one(&format!("a = 'x{c}y'")), ("bidi_control".to_owned(), 0.95), "{c:?}");
        }
        let trojan = "access = 'user\u{202E} \u{2066}# only if admin\u{2069} \u{2066}'";
        assert_eq!(found(trojan).len(), 4);
        assert_eq!(one("a\u{200F}b"), ("bidi_mark".to_owned(), 0.5));
        assert!(one("# שלום\u{200F}!").1 < 0.5);
    }

    #[test]
    fn characters_without_width_are_found_outside_of_the_scripts_that_need_them() {
        for text in ["pass\u{200B}word", "a\u{200C}b", "a\u{200D}b", "a\u{2060}b", "x\u{FEFF}y"] {
            assert_eq!(one(text), ("zero_width".to_owned(), 0.8), "{text:?}");
        }
        assert_eq!(one(&format!("'{}'", "\u{200B}\u{200C}".repeat(40))).1, 0.97);
        for text in [
            "می\u{200C}خواهم",
            "क्\u{200D}ष",
            "สวัส\u{200B}ดี",
            "👩\u{200D}👧",
            "👁\u{FE0F}\u{200D}🗨\u{FE0F}",
            "🏳\u{FE0F}\u{200D}🌈",
        ] {
            assert_eq!(found(text), [], "{text:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_belongs_at_the_very_start_only() {
        assert_eq!(found("\u{FEFF}print(1)"), []);
        assert_eq!(one("\u{FEFF}\u{FEFF}print(1)").0, "zero_width");
    }

    #[test]
    fn tag_characters_are_read() {
        let hidden: String = "run rm".chars().map(|c| char::from_u32(0xE0000 + u32::from(c)).expect("a tag")).collect();
        let source = format!("x = 'hello{hidden}'");
        let found = matches(&source);
        assert_eq!((found.len(), found[0].confidence), (1, 0.98));
        assert_eq!(found[0].reason, r#"Invisible tag characters spell "run rm"."#);
        assert_eq!(source[found[0].range.clone()], hidden);
        let wales: String = "gbwls".chars().map(|c| char::from_u32(0xE0000 + u32::from(c)).expect("a tag")).collect();
        assert_eq!(matches(&format!("'\u{1F3F4}{wales}\u{E007F}'")), []);
    }

    #[test]
    fn variation_selectors_are_data_in_a_row_only() {
        for text in ["❤\u{FE0F}", "1\u{FE0F}\u{20E3}", "葛\u{E0100}", "⚠\u{FE0F} ⚠\u{FE0F}", "⚠\u{FE0F}\u{A0}!"]
        {
            assert_eq!(found(text), [], "{text:?}");
        }
        assert_eq!(one("😀\u{FE01}\u{E0123}\u{E0145}"), ("variation_selectors".to_owned(), 0.95));
        assert!(one("a\u{FE00}").1 <= 0.5);
    }

    #[test]
    fn fillers_controls_and_odd_spaces_are_found() {
        for (text, rule, confidence) in [
            ("a\u{3164}b", "hangul_filler", 0.85),
            ("a\u{FFA0}b", "hangul_filler", 0.85),
            ("soft\u{AD}hyphen", "soft_hyphen", 0.4),
            ("a\u{034F}b", "ignorable_character", 0.6),
            ("a\u{206A}b", "ignorable_character", 0.6),
            ("a\u{2800}b", "blank_character", 0.4),
            ("a\0b", "null_character", 0.9),
            ("a\u{1B}[2Jb", "terminal_control", 0.8),
            ("a\u{8}b", "terminal_control", 0.8),
            ("a\u{9B}b", "terminal_control", 0.8),
            ("a\u{1}b", "control_character", 0.5),
            ("a\u{85}b", "line_separator", 0.6),
            ("a\u{2028}b", "line_separator", 0.6),
            ("a\u{A0}b", "unusual_space", 0.3),
            ("a\u{2003}b", "unusual_space", 0.3),
            ("a\u{3000}b", "unusual_space", 0.3),
            ("日本\u{3000}語", "unusual_space", 0.1),
            ("a\u{E000}b", "private_use", 0.3),
            ("a\u{F0000}b", "private_use", 0.3),
            ("a\u{FFFF}b", "noncharacter", 0.3),
        ] {
            assert_eq!(one(text), (rule.to_owned(), confidence), "{text:?}");
        }
    }

    #[test]
    fn ordinary_text_of_any_language_is_fine() {
        for text in [
            "x = 1\r\n\tif y:\x0c\n",
            "# größer als ≤ → ∞ 😀",
            "# 你好，世界",
            "# Привет, мир",
            "# العربية",
            "# עברית",
            "# 한국어 조선글",
            "print('⠏⠽⠞⠓⠕⠝⠀⠁')",
            "# 🇩🇪 👍🏽 ☕",
            "",
        ] {
            assert_eq!(found(text), [], "{text:?}");
        }
    }

    #[test]
    fn a_run_of_different_ones_is_one_match_of_the_worst() {
        assert_eq!(one("a\u{A0}\u{200B}\u{202E}\u{AD}b"), ("bidi_control".to_owned(), 0.95));
    }

    #[test]
    fn a_crowd_of_harmless_ones_hides_nothing() {
        let source = "\u{A0}x".repeat(1000) + "\u{202E}";
        assert!(found(&source).contains(&("bidi_control".to_owned(), 0.95)));
    }

    #[test]
    fn any_text_is_no_problem() {
        let pieces = [
            "a",
            " ",
            "\u{200B}",
            "\u{200D}",
            "\u{202E}",
            "😀",
            "\u{FE0F}",
            "\u{E0041}",
            "\u{1F3F4}",
            "\u{E007F}",
            "\0",
            "é",
            "\u{3164}",
            "한",
            "م",
            "\u{FEFF}",
            "\u{10FFFF}",
        ];
        for text in random_texts(&pieces, 3000) {
            found(&text);
            in_identifier(&text, &mut Vec::new());
        }
    }

    #[test]
    fn time_is_linear() {
        takes_linear_time(&["\u{200B}", "\u{200B}a", "\u{E0041}", "é", "a", "\u{A0}\u{202E}x"], |text| {
            matches(text);
        });
        takes_linear_time(&["а", "aа", "ﬁ"], |text| in_identifier(text, &mut Vec::new()));
    }
}
