//! What a script is made of, once parsed.

use std::sync::{Arc, OnceLock};

/// Commands one after the other.
pub(in crate::shell) type List = Vec<Item>;

/// One of them: pipelines joined by `&&` and `||`.
#[derive(Debug)]
pub(in crate::shell) struct Item {
    /// Shared, as what runs in the background may outlive the rest of the script.
    pub(in crate::shell) chain: Arc<Chain>,
    pub(in crate::shell) background: bool,
}

/// Pipelines joined by `&&` and `||`, of equal rank.
#[derive(Debug)]
pub(in crate::shell) struct Chain {
    pub(in crate::shell) first: Pipeline,
    pub(in crate::shell) rest: Vec<(Joint, Pipeline)>,
}

/// What joins two pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::shell) enum Joint {
    And,
    Or,
}

/// Commands, each reading what the one before it writes.
#[derive(Debug)]
pub(in crate::shell) struct Pipeline {
    pub(in crate::shell) negated: bool,
    pub(in crate::shell) timed: bool,
    pub(in crate::shell) commands: Vec<Command>,
}

/// One command with its redirections.
#[derive(Debug)]
pub(in crate::shell) struct Command {
    pub(in crate::shell) line: usize,
    pub(in crate::shell) kind: Kind,
    pub(in crate::shell) redirections: Vec<Redirection>,
}

/// The kinds of commands.
#[derive(Debug)]
pub(in crate::shell) enum Kind {
    Simple { assignments: Vec<Assignment>, words: Vec<Word> },
    Subshell(List),
    Group(List),
    If { branches: Vec<(List, List)>, otherwise: Option<List> },
    While { until: bool, condition: List, body: List },
    For { name: String, words: Option<Vec<Word>>, body: List },
    CountingFor { start: Vec<Piece>, condition: Vec<Piece>, step: Vec<Piece>, body: List },
    Case { word: Word, arms: Vec<Arm> },
    Function { name: String, body: Arc<Command> },
    Arithmetic(Vec<Piece>),
    Test(Test),
}

/// One arm of `case`.
#[derive(Debug)]
pub(in crate::shell) struct Arm {
    pub(in crate::shell) patterns: Vec<Word>,
    pub(in crate::shell) body: List,
    pub(in crate::shell) then: Then,
}

/// What comes after an arm of `case` that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::shell) enum Then {
    /// `;;`
    Leave,
    /// `;&`: the next arm's body.
    Fall,
    /// `;;&`: the next arm that matches.
    Match,
}

/// `name=value`, `name+=value`, `name[index]=value`, `name=(value …)`.
#[derive(Debug)]
pub(in crate::shell) struct Assignment {
    pub(in crate::shell) name: String,
    pub(in crate::shell) index: Option<Word>,
    pub(in crate::shell) append: bool,
    pub(in crate::shell) value: Assigned,
}

/// What is assigned.
#[derive(Debug)]
pub(in crate::shell) enum Assigned {
    Text(Word),
    List(Vec<Word>),
}

/// A redirection.
#[derive(Debug)]
pub(in crate::shell) struct Redirection {
    /// The descriptor written before it.
    pub(in crate::shell) descriptor: Option<u32>,
    /// It is written with `<`.
    pub(in crate::shell) reads: bool,
    pub(in crate::shell) to: Target,
}

/// Where a redirection leads.
#[derive(Debug)]
pub(in crate::shell) enum Target {
    /// `<`
    Read(Word),
    /// `>`, `>|`
    Write(Word),
    /// `>>`
    Append(Word),
    /// `<>`
    ReadWrite(Word),
    /// `&>` and `>&` before a file.
    Both(Word),
    /// `&>>`
    BothAppend(Word),
    /// `>&` and `<&` before a number or `-`.
    Same(Word),
    /// `<<`: its body, which is read when its line ends.
    Here(Arc<OnceLock<Word>>),
    /// `<<<`
    HereString(Word),
}

/// A word, not expanded.
#[derive(Debug, Clone, Default)]
pub(in crate::shell) struct Word(pub(in crate::shell) Vec<Piece>);

impl Word {
    /// Its text, where it has neither quotes nor expansions.
    pub(in crate::shell) fn plain(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Piece::Plain(text)] => Some(text),
            [] => Some(""),
            _ => None,
        }
    }
}

/// A part of a word.
#[derive(Debug, Clone)]
pub(in crate::shell) enum Piece {
    /// Text without quotes.
    Plain(String),
    /// Text as it stands: `'…'`, `\x`, `$'…'`, and text within `"…"`.
    Quoted(String),
    /// A piece that several words of a brace expansion have.
    Shared(Arc<Piece>),
    /// `"…"`
    Double(Vec<Piece>),
    /// `$name`, `${…}`
    Parameter(Arc<Parameter>),
    /// `$(…)`, `` `…` ``
    Command(Arc<List>),
    /// `$((…))`
    Arithmetic(Arc<Vec<Piece>>),
}

/// `${…}`
#[derive(Debug)]
pub(in crate::shell) struct Parameter {
    pub(in crate::shell) name: Name,
    pub(in crate::shell) index: Option<Index>,
    pub(in crate::shell) form: Form,
}

/// Whose value is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::shell) enum Name {
    Variable(String),
    Positional(usize),
    /// One of `@ * # ? - $ !`.
    Special(char),
}

/// Which elements of an array.
#[derive(Debug)]
pub(in crate::shell) enum Index {
    /// `[@]`
    All,
    /// `[*]`
    Joined,
    One(Word),
}

/// What is made of the value.
#[derive(Debug)]
pub(in crate::shell) enum Form {
    Value,
    /// `${#name}`
    Length,
    /// `${!name}`
    Indirect,
    /// `${!name[@]}`
    Indexes,
    /// `-`, `=`, `?`, `+`, with or without the colon.
    Otherwise {
        colon: bool,
        sign: char,
        word: Word,
    },
    /// `#`, `##`, `%`, `%%`
    Trim {
        front: bool,
        longest: bool,
        pattern: Word,
    },
    /// `/`, `//`, `/#`, `/%`
    Replace {
        anchor: Anchor,
        pattern: Word,
        with: Word,
    },
    /// `:offset:length`
    Slice {
        offset: Vec<Piece>,
        length: Option<Vec<Piece>>,
    },
    /// `^`, `^^`, `,`, `,,`
    Case {
        upper: bool,
        all: bool,
    },
    /// `@Q`
    Quoted,
}

/// Which matches are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::shell) enum Anchor {
    First,
    All,
    Start,
    End,
}

/// What stands within `[[ … ]]`.
#[derive(Debug)]
pub(in crate::shell) enum Test {
    Word(Word),
    Unary(String, Word),
    Binary(Word, String, Word),
    Not(Box<Test>),
    And(Box<Test>, Box<Test>),
    Or(Box<Test>, Box<Test>),
}
