//! Syntax tree of a parsed script.

use std::sync::{Arc, OnceLock};

/// Commands one after the other.
pub(in crate::shell) type List = Vec<Item>;

/// Item of a list: pipelines joined by `&&` and `||`.
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

/// Operator between two pipelines.
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

/// Command with its redirections.
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

/// Arm of a `case` command.
#[derive(Debug)]
pub(in crate::shell) struct Arm {
    pub(in crate::shell) patterns: Vec<Word>,
    pub(in crate::shell) body: List,
    pub(in crate::shell) then: Then,
}

/// Continuation after an arm of `case` that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::shell) enum Then {
    /// End of the `case`, written `;;`.
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

/// Value of an assignment.
#[derive(Debug)]
pub(in crate::shell) enum Assigned {
    Text(Word),
    List(Vec<Word>),
}

/// Redirection of a descriptor.
#[derive(Debug)]
pub(in crate::shell) struct Redirection {
    /// The descriptor written before it.
    pub(in crate::shell) descriptor: Option<u32>,
    /// True when the redirection is written with `<`.
    pub(in crate::shell) reads: bool,
    pub(in crate::shell) to: Target,
}

/// Target of a redirection.
#[derive(Debug)]
pub(in crate::shell) enum Target {
    /// Input from a file, `<`.
    Read(Word),
    /// Output to a file, `>` or `>|`.
    Write(Word),
    /// Output at the end of a file, `>>`.
    Append(Word),
    /// File opened without truncation, `<>`.
    ReadWrite(Word),
    /// `&>` and `>&` before a file.
    Both(Word),
    /// Output and errors at the end of a file, `&>>`.
    BothAppend(Word),
    /// `>&` and `<&` before a number or `-`.
    Same(Word),
    /// `<<`: its body, which is read when its line ends.
    Here(Arc<OnceLock<Word>>),
    /// Input from a word, `<<<`.
    HereString(Word),
}

/// A word, not expanded.
#[derive(Debug, Clone, Default)]
pub(in crate::shell) struct Word(pub(in crate::shell) Vec<Piece>);

impl Word {
    /// Returns the text of a word that has neither quotes nor expansions.
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
    /// Text outside of quotes.
    Plain(String),
    /// Text as it stands: `'…'`, `\x`, `$'…'`, and text within `"…"`.
    Quoted(String),
    /// A piece that several words of a brace expansion have.
    Shared(Arc<Piece>),
    /// Text in double quotes, `"…"`.
    Double(Vec<Piece>),
    /// `$name`, `${…}`
    Parameter(Arc<Parameter>),
    /// `$(…)`, `` `…` ``
    Command(Arc<List>),
    /// Arithmetic expansion, `$((…))`.
    Arithmetic(Arc<Vec<Piece>>),
}

/// Parameter expansion, such as `${…}`.
#[derive(Debug)]
pub(in crate::shell) struct Parameter {
    pub(in crate::shell) name: Name,
    pub(in crate::shell) index: Option<Index>,
    pub(in crate::shell) form: Form,
}

/// Name of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::shell) enum Name {
    Variable(String),
    Positional(usize),
    /// Special parameter, from `@ * # ? - $ !`.
    Special(char),
}

/// Index of an array: an element or a selection.
#[derive(Debug)]
pub(in crate::shell) enum Index {
    /// Elements as separate words, `[@]`.
    All,
    /// Elements joined to one word, `[*]`.
    Joined,
    One(Word),
}

/// Operation on the value.
#[derive(Debug)]
pub(in crate::shell) enum Form {
    Value,
    /// Length of the value, `${#name}`.
    Length,
    /// Value of the variable that the value names, `${!name}`.
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
    /// Substring or part of an array, `:offset:length`.
    Slice {
        offset: Vec<Piece>,
        length: Option<Vec<Piece>>,
    },
    /// `^`, `^^`, `,`, `,,`
    Case {
        upper: bool,
        all: bool,
    },
    /// Value quoted for the shell, `@Q`.
    Quoted,
}

/// Selection of the matches to replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::shell) enum Anchor {
    First,
    All,
    Start,
    End,
}

/// Test within `[[ … ]]`.
#[derive(Debug)]
pub(in crate::shell) enum Test {
    Word(Word),
    Unary(String, Word),
    Binary(Word, String, Word),
    Not(Box<Test>),
    And(Box<Test>, Box<Test>),
    Or(Box<Test>, Box<Test>),
}
