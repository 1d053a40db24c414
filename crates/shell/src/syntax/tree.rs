//! Syntax tree of a parsed script.

use std::sync::{Arc, OnceLock};

/// State of double quotes around a part of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quoting {
    Quoted,
    Unquoted,
}

/// Commands one after the other.
pub(crate) type List = Vec<Item>;

/// Item of a list: pipelines joined by `&&` and `||`.
#[derive(Debug)]
pub(crate) struct Item {
    /// Shared, as what runs in the background may outlive the rest of the script.
    pub(crate) chain: Arc<Chain>,
    pub(crate) background: bool,
}

/// Pipelines joined by `&&` and `||`, of equal rank.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) first: Pipeline,
    pub(crate) rest: Vec<(ListOp, Pipeline)>,
}

impl Chain {
    /// Returns whether it is one simple command.
    pub(crate) fn is_simple(&self) -> bool {
        let [command] = self.first.commands.as_slice() else { return false };
        self.rest.is_empty() && matches!(command.kind, Kind::Simple { .. })
    }
}

/// Operator between two pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListOp {
    And,
    Or,
}

/// Commands, each reading what the one before it writes.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) negated: bool,
    pub(crate) timed: bool,
    pub(crate) commands: Vec<Command>,
}

/// Command with its redirections.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) line: usize,
    pub(crate) kind: Kind,
    pub(crate) redirections: Vec<Redirection>,
}

/// The kinds of commands.
#[derive(Debug)]
pub(crate) enum Kind {
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
pub(crate) struct Arm {
    pub(crate) patterns: Vec<Word>,
    pub(crate) body: List,
    pub(crate) then: Then,
}

/// Continuation after an arm of `case` that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// End of the `case`, written `;;`.
    Leave,
    /// `;&`: the next arm's body.
    Fall,
    /// `;;&`: the next arm that matches.
    Match,
}

/// `name=value`, `name+=value`, `name[index]=value`, `name=(value …)`.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) index: Option<Word>,
    pub(crate) append: bool,
    pub(crate) value: Assigned,
}

/// Value of an assignment.
#[derive(Debug)]
pub(crate) enum Assigned {
    Text(Word),
    List(Vec<Word>),
}

/// Redirection of a descriptor.
#[derive(Debug)]
pub(crate) struct Redirection {
    /// The descriptor written before it.
    pub(crate) descriptor: Option<u32>,
    /// True when the redirection is written with `<`.
    pub(crate) reads: bool,
    pub(crate) to: Target,
}

/// Target of a redirection.
#[derive(Debug)]
pub(crate) enum Target {
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
pub(crate) struct Word(pub(crate) Vec<Piece>);

impl Word {
    /// Returns the text of a word that has neither quotes nor expansions.
    pub(crate) fn plain(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Piece::Plain(text)] => Some(text),
            [] => Some(""),
            _ => None,
        }
    }
}

/// A part of a word.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
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
    /// Process substitution, `<(…)`: the path of what the commands write.
    Process(Arc<List>),
    /// Arithmetic expansion, `$((…))`.
    Arithmetic(Arc<Vec<Piece>>),
}

/// Parameter expansion, such as `${…}`.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: Name,
    pub(crate) index: Option<Index>,
    pub(crate) form: Form,
}

/// Name of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Name {
    Variable(String),
    Positional(usize),
    /// Special parameter, from `@ * # ? - $ !`.
    Special(char),
}

/// Index of an array: an element or a selection.
#[derive(Debug)]
pub(crate) enum Index {
    /// Elements as separate words, `[@]`.
    All,
    /// Elements joined to one word, `[*]`.
    Joined,
    One(Word),
}

/// Operation on the value.
#[derive(Debug)]
pub(crate) enum Form {
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
pub(crate) enum Anchor {
    First,
    All,
    Start,
    End,
}

/// Test within `[[ … ]]`.
#[derive(Debug)]
pub(crate) enum Test {
    Word(Word),
    Unary(String, Word),
    Binary(Word, String, Word),
    Not(Box<Test>),
    And(Box<Test>, Box<Test>),
    Or(Box<Test>, Box<Test>),
}
