//! Kinds of characters that are not seen, and the characters next to which some of them belong.

use unicode_properties::{EmojiStatus, UnicodeEmoji};
use unicode_script::{Script, UnicodeScript};

/// Kind of invisible or misleading character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Reorders the text around it (UAX #9).
    BidiControl,
    /// Has a direction and nothing else.
    BidiMark,
    /// Zero-width joiner or non-joiner (U+200D, U+200C).
    Joiner,
    /// Further characters that have no width.
    ZeroWidth,
    /// ASCII once more, invisible.
    Tag,
    /// Chooses a shape of the character before.
    VariationSelector,
    /// A letter without a shape.
    HangulFiller,
    /// Shown where a line is broken only.
    SoftHyphen,
    /// Further characters that Unicode wants ignored.
    Ignorable,
    /// A pattern without dots.
    BrailleBlank,
    /// Null character, U+0000.
    Null,
    /// Moves the cursor of a terminal, or begins a command to it.
    TerminalControl,
    /// Further control characters of C0 and C1.
    Control,
    /// Ends a line for some editors, and not for Python.
    LineSeparator,
    /// Ideographic space, U+3000.
    WideSpace,
    /// A space that is not U+0020.
    Space,
    /// Means what the parties agree upon.
    PrivateUse,
    /// Code point that is never a character.
    Noncharacter,
}

impl Kind {
    /// Returns the rule's name for a match.
    pub(super) fn rule(self) -> &'static str {
        match self {
            Self::BidiControl => "bidi_control",
            Self::BidiMark => "bidi_mark",
            Self::Joiner | Self::ZeroWidth => "zero_width",
            Self::Tag => "tag_characters",
            Self::VariationSelector => "variation_selectors",
            Self::HangulFiller => "hangul_filler",
            Self::SoftHyphen => "soft_hyphen",
            Self::Ignorable => "ignorable_character",
            Self::BrailleBlank => "blank_character",
            Self::Null => "null_character",
            Self::TerminalControl => "terminal_control",
            Self::Control => "control_character",
            Self::LineSeparator => "line_separator",
            Self::WideSpace | Self::Space => "unusual_space",
            Self::PrivateUse => "private_use",
            Self::Noncharacter => "noncharacter",
        }
    }

    /// Returns a description for people.
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::BidiControl => "A control that reorders the text around it",
            Self::BidiMark => "An invisible mark of direction",
            Self::Joiner | Self::ZeroWidth => "A character without width",
            Self::Tag => "An invisible tag character",
            Self::VariationSelector => "A variation selector with nothing to vary",
            Self::HangulFiller => "A letter without a shape",
            Self::SoftHyphen => "A soft hyphen",
            Self::Ignorable => "A character that is not shown",
            Self::BrailleBlank => "A blank that is no space",
            Self::Null => "A null character",
            Self::TerminalControl => "A control of terminals",
            Self::Control => "A control character",
            Self::LineSeparator => "A line separator that Python does not know",
            Self::WideSpace | Self::Space => "A space that is not the usual one",
            Self::PrivateUse => "A character of private use",
            Self::Noncharacter => "A code point that is never a character",
        }
    }

    /// Returns the weight that decides which of several characters in a row gives the run its name.
    pub(super) fn weight(self) -> u8 {
        match self {
            Self::Tag => 9,
            Self::BidiControl => 8,
            Self::Null => 7,
            Self::TerminalControl => 6,
            Self::HangulFiller => 5,
            Self::Joiner | Self::ZeroWidth => 4,
            Self::VariationSelector => 3,
            Self::Ignorable | Self::LineSeparator | Self::Control => 2,
            Self::BidiMark | Self::SoftHyphen | Self::BrailleBlank | Self::PrivateUse | Self::Noncharacter => 1,
            Self::WideSpace | Self::Space => 0,
        }
    }

    /// Returns whether the text after the character stands next to the text before it.
    pub(super) fn belongs_to_neighbour(self) -> bool {
        matches!(self, Self::Joiner | Self::VariationSelector | Self::BidiMark)
    }
}

/// Returns the kind of an invisible character, or `None` when `c` is visible.
pub(super) fn kind_of(c: char) -> Option<Kind> {
    let kind = match c {
        '\t' | '\n' | '\r' | '\x0C' | ' '..='~' => return None,
        '\0' => Kind::Null,
        '\x08' | '\x1B' | '\x7F' | '\u{90}' | '\u{9B}' | '\u{9D}' => Kind::TerminalControl,
        '\u{85}' | '\x0B' | '\u{2028}' | '\u{2029}' => Kind::LineSeparator,
        '\x01'..='\x1F' | '\u{80}'..='\u{9F}' => Kind::Control,
        '\u{AD}' => Kind::SoftHyphen,
        '\u{061C}' | '\u{200E}' | '\u{200F}' => Kind::BidiMark,
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => Kind::BidiControl,
        '\u{200C}' | '\u{200D}' => Kind::Joiner,
        '\u{200B}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' => Kind::ZeroWidth,
        '\u{180B}'..='\u{180D}' | '\u{180F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => {
            Kind::VariationSelector
        }
        '\u{E0000}'..='\u{E007F}' => Kind::Tag,
        '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}' => Kind::HangulFiller,
        '\u{034F}' | '\u{17B4}' | '\u{17B5}' | '\u{180E}' | '\u{2065}' | '\u{206A}'..='\u{206F}' => Kind::Ignorable,
        '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' => Kind::Ignorable,
        '\u{E0080}'..='\u{E00FF}' | '\u{E01F0}'..='\u{E0FFF}' => Kind::Ignorable,
        '\u{2800}' => Kind::BrailleBlank,
        '\u{3000}' => Kind::WideSpace,
        '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' => Kind::Space,
        '\u{FDD0}'..='\u{FDEF}' => Kind::Noncharacter,
        _ if u32::from(c) & 0xFFFE == 0xFFFE => Kind::Noncharacter,
        '\u{E000}'..='\u{F8FF}' | '\u{F0000}'..='\u{10FFFF}' => Kind::PrivateUse,
        _ => return None,
    };
    Some(kind)
}

/// Returns whether `c` is of a script that is written from right to left.
pub(super) fn is_right_to_left(c: char) -> bool {
    matches!(
        c.script(),
        Script::Arabic
            | Script::Hebrew
            | Script::Syriac
            | Script::Thaana
            | Script::Nko
            | Script::Samaritan
            | Script::Adlam
    )
}

/// Returns whether U+200D and U+200C after `c` choose between shapes of letters (The Unicode Standard, chapters 9, 12,
/// 13).
pub(super) fn joins_letters(c: char) -> bool {
    let script = if c.script() == Script::Inherited { c.script_extension().iter().next() } else { Some(c.script()) };
    matches!(
        script,
        Some(
            Script::Arabic
                | Script::Syriac
                | Script::Nko
                | Script::Mongolian
                | Script::Devanagari
                | Script::Bengali
                | Script::Gurmukhi
                | Script::Gujarati
                | Script::Oriya
                | Script::Tamil
                | Script::Telugu
                | Script::Kannada
                | Script::Malayalam
                | Script::Sinhala
                | Script::Khmer
                | Script::Myanmar
        )
    )
}

/// Returns whether U+200B shows where a line may end: these scripts have no spaces between words.
pub(super) fn breaks_at_zero_width(c: char) -> bool {
    matches!(c.script(), Script::Thai | Script::Lao | Script::Khmer | Script::Myanmar | Script::Tibetan)
}

pub(super) fn is_hangul(c: char) -> bool {
    c.script() == Script::Hangul && !matches!(kind_of(c), Some(Kind::HangulFiller))
}

pub(super) fn is_braille(c: char) -> bool {
    ('\u{2801}'..='\u{28FF}').contains(&c)
}

/// Returns whether `c` is as wide as an ideograph.
pub(super) fn is_wide(c: char) -> bool {
    matches!(c.script(), Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul | Script::Bopomofo)
        || ('\u{3001}'..='\u{303F}').contains(&c)
        || ('\u{FF01}'..='\u{FF60}').contains(&c)
}

/// Returns whether `c` is an emoji, or gives an emoji its colour; digits are not.
pub(super) fn is_emoji(c: char) -> bool {
    !c.is_ascii() && !matches!(c.emoji_status(), EmojiStatus::NonEmoji | EmojiStatus::NonEmojiButEmojiComponent)
}
