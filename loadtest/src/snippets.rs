//! The two small programs that everything is measured with: over HTTP, as a subprocess and forked.

use clap::ValueEnum;

/// Task of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Snippet {
    /// print(1+1)
    Print,
    /// A small function, held against 10 asserts
    Function,
}

/// Code of `Snippet::Print`.
pub(crate) const PRINT: &str = "print(1+1)";
/// Expected output of the task.
pub(crate) const PRINTED: &str = "2\n";

/// Code of `Snippet::Function`.
pub(crate) const FUNCTION: &str = r#"def roman(number):
    """The Roman numeral of a number from 1 to 3999."""
    if not 0 < number < 4000:
        raise ValueError(f"{number} has no Roman numeral")
    values = [1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1]
    letters = ["M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"]
    numeral = []
    for value, letter in zip(values, letters):
        count, number = divmod(number, value)
        numeral.append(letter * count)
    return "".join(numeral)
"#;

/// Tests of the function, each of which passes.
pub(crate) const ASSERTS: [&str; 10] = [
    "assert roman(1) == 'I'",
    "assert roman(4) == 'IV'",
    "assert roman(9) == 'IX'",
    "assert roman(14) == 'XIV'",
    "assert roman(40) == 'XL'",
    "assert roman(90) == 'XC'",
    "assert roman(400) == 'CD'",
    "assert roman(1994) == 'MCMXCIV'",
    "assert roman(2026) == 'MMXXVI'",
    "assert roman(3999) == 'MMMCMXCIX'",
];

impl Snippet {
    /// The same work as one program without a grader, and what it writes.
    pub(crate) fn native_program(self) -> NativeProgram {
        match self {
            Self::Print => NativeProgram { code: PRINT.to_owned(), output: PRINTED.to_owned() },
            Self::Function => NativeProgram {
                code: format!("{FUNCTION}\n{}", asserts_loop()),
                output: format!("{}\n", ASSERTS.len()),
            },
        }
    }
}

/// Python source for a plain interpreter.
pub(crate) struct NativeProgram {
    pub code: String,
    /// Output that the program must write; any other is an error.
    pub output: String,
}

/// Program in which each assert is compiled and run on its own, as in the service; the number that passed is written.
fn asserts_loop() -> String {
    format!(
        "passed = 0
for source in {ASSERTS:?}:
    try:
        exec(compile(source, '<assert>', 'exec'), globals())
    except BaseException:
        pass
    else:
        passed += 1
print(passed)
"
    )
}
