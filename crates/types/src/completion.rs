//! Report on the code in a model's answer.

use serde::Serialize;

use crate::wire_enum;

wire_enum! {
    /// Form in which a block stands in the answer.
    BlockForm {
        /// Between fences of backquotes or tildes.
        Fenced = "fenced",
        /// Between tags, such as `[PYTHON]` or `<code>`.
        Tagged = "tagged",
        /// Lines of code without any mark.
        Bare = "bare",
        /// The same, indented under prose.
        Indented = "indented",
        /// Between backquotes within a line.
        Inline = "inline",
    }
}

wire_enum! {
    /// Kind of content of a block.
    BlockContent {
        /// Source code, shell commands, queries, pages and diffs.
        Code = "code",
        /// Transcript of an interactive interpreter.
        Transcript = "transcript",
        /// JSON, YAML and other data, and output of programs.
        Data = "data",
        /// Prose, also where it is declared to be code.
        Text = "text",
        /// Nothing but white space and comments.
        Empty = "empty",
    }
}

wire_enum! {
    /// Reason for which a block was chosen as the program, or none was.
    ChoiceReason {
        /// Definition of the entry point, or of most of the names that the tests use.
        EntryPoint = "entry_point",
        /// Declaration of the block to be Python.
        DeclaredPython = "declared_python",
        /// Recognition of the block as Python.
        RecognisedPython = "recognised_python",
        /// There is code, but none in Python.
        OtherLanguage = "other_language",
        /// There is no code.
        NoCode = "no_code",
    }
}

/// Block of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Block {
    /// Form in which it stands.
    pub form: BlockForm,
    /// Kind of its content.
    pub content: BlockContent,
    /// Language, declared or recognised, in lower case.
    pub language: Option<String>,
    /// Language that the answer declares, as it is written there; cut after 40 characters.
    pub declared: Option<String>,
    /// First line of the content, from 1.
    pub first_line: usize,
    /// Last line of the content.
    pub last_line: usize,
    /// True when the end is marked: an answer that was cut has a block without one.
    pub complete: bool,
}

/// Report on the code in a model's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CompletionReport {
    /// True when there is code in any language.
    pub contains_code: bool,
    /// Blocks in the order of the answer.
    pub blocks: Vec<Block>,
    /// Number of blocks beyond those.
    pub blocks_dropped: usize,
    /// Index of the block that is the program.
    pub chosen: Option<usize>,
    /// Reason for the choice.
    pub reason: ChoiceReason,
}
