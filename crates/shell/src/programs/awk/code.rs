//! Instructions that programs are compiled to, for a machine with a stack of values.

/// A variable: of the program, or of the function that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Variable {
    Global(usize),
    Local(usize),
}

/// Destination of a value. The index of a field or the subscript of an element is on the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Variable(Variable),
    Field,
    Element(Variable),
}

/// Operators of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Concatenate,
}

/// Functions that are built in, but for those that need more than values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    And,
    Atan2,
    Compl,
    Cos,
    Exp,
    Index,
    Int,
    Length,
    Log,
    Lshift,
    Mktime,
    Or,
    Rand,
    Rshift,
    Sin,
    Sprintf,
    Sqrt,
    Srand,
    Strftime,
    Strtonum,
    Substr,
    Systime,
    Tolower,
    Toupper,
    Xor,
}

/// Destination of what is printed; its name is on the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Redirection {
    None,
    Replace,
    Append,
    Command,
}

/// Origin of a line that is read; its name is on the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Main,
    File,
    Command,
}

/// Value of `++` and `--`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Yields {
    Old,
    New,
}

/// Matches that are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replaces {
    First,
    All,
}

/// Order of the elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SortBy {
    Key,
    Value,
}

/// One instruction. Places in code are numbers of instructions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Instruction {
    Number(f64),
    Constant(usize),
    /// Pushes a regular expression itself.
    Regex(usize),
    /// Pushes whether the record matches.
    MatchRecord(usize),
    /// Takes a text and an expression.
    Match {
        wanted: bool,
    },
    Load(Target),
    Store(Target),
    Duplicate,
    Pop,
    Adjust {
        target: Target,
        by: f64,
        yields: Yields,
    },
    /// Joins subscripts.
    Subscript(usize),
    Contains(Variable),
    Delete(Variable),
    DeleteAll(Variable),
    Binary(Binary),
    Not,
    Negate,
    ToNumber,
    /// Pushes 1 or 0 for whether the value is true.
    ToTruth,
    Jump(usize),
    JumpIfFalse(usize),
    JumpIfTrue(usize),
    JumpIfActive {
        range: usize,
        to: usize,
    },
    SetActive {
        range: usize,
        active: bool,
    },
    Iterate(Variable),
    /// Pushes the next subscript, or goes to the end of the loop.
    NextKey {
        end: usize,
    },
    EndIteration,
    Call {
        function: usize,
        arguments: usize,
    },
    Return,
    Apply {
        function: Function,
        arguments: usize,
    },
    LengthOf(Variable),
    Split {
        array: Variable,
        separated: bool,
    },
    Substitute {
        replaces: Replaces,
        target: Target,
    },
    Gensub {
        targeted: bool,
    },
    Find {
        array: Option<Variable>,
    },
    Sort {
        array: Variable,
        into: Option<Variable>,
        by: SortBy,
    },
    GetLine {
        source: Source,
        target: Option<Target>,
    },
    Print {
        arguments: usize,
        redirection: Redirection,
    },
    Printf {
        arguments: usize,
        redirection: Redirection,
    },
    System,
    Close,
    Flush,
    Next,
    NextFile,
    Exit {
        coded: bool,
    },
}

/// A function of a program.
#[derive(Debug, Clone, Default)]
pub(super) struct Definition {
    pub(super) segment: usize,
    pub(super) parameters: usize,
    /// By parameter, whether it is an array.
    pub(super) arrays: Vec<bool>,
}

/// A compiled program.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) segments: Vec<Vec<Instruction>>,
    pub(super) begin: Vec<usize>,
    pub(super) rules: Vec<usize>,
    pub(super) end: Vec<usize>,
    pub(super) functions: Vec<Definition>,
    pub(super) constants: Vec<Vec<u8>>,
    pub(super) regexes: Vec<String>,
    /// Names of the variables, those with a meaning first.
    pub(super) names: Vec<String>,
    /// By variable, whether it is an array.
    pub(super) arrays: Vec<bool>,
    pub(super) ranges: usize,
}

/// Variables with a meaning, by number.
pub(super) const SPECIAL: [&str; 18] = [
    "NF",
    "NR",
    "FNR",
    "FS",
    "OFS",
    "ORS",
    "RS",
    "FILENAME",
    "SUBSEP",
    "RSTART",
    "RLENGTH",
    "CONVFMT",
    "OFMT",
    "ENVIRON",
    "ARGC",
    "ARGV",
    "RT",
    "IGNORECASE",
];
pub(super) const NF: usize = 0;
pub(super) const NR: usize = 1;
pub(super) const FNR: usize = 2;
pub(super) const FS: usize = 3;
pub(super) const OFS: usize = 4;
pub(super) const ORS: usize = 5;
pub(super) const RS: usize = 6;
pub(super) const FILENAME: usize = 7;
pub(super) const SUBSEP: usize = 8;
pub(super) const RSTART: usize = 9;
pub(super) const RLENGTH: usize = 10;
pub(super) const CONVFMT: usize = 11;
pub(super) const OFMT: usize = 12;
pub(super) const ENVIRON: usize = 13;
pub(super) const ARGC: usize = 14;
pub(super) const ARGV: usize = 15;
