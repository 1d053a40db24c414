//! Tracebacks of cells in IPython's modes.

/// Mode of tracebacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verbosity {
    /// The lines that raised, without those around them.
    Plain,
    /// The lines around as well: how sessions have it.
    Context,
    /// The exception alone.
    Minimal,
}

impl Verbosity {
    /// Returns the mode of a name; what IPython has beside these is nearest to `Context`.
    pub(super) fn named(name: &str) -> Self {
        match name {
            "Plain" => Self::Plain,
            "Minimal" => Self::Minimal,
            _ => Self::Context,
        }
    }

    /// Renders the traceback of a session in this mode.
    pub(super) fn render(self, traceback: &str) -> String {
        match self {
            Self::Context => traceback.to_owned(),
            Self::Plain => plain(traceback),
            Self::Minimal => traceback.rsplit("\n\n").next().unwrap_or_default().to_owned(),
        }
    }
}

fn plain(traceback: &str) -> String {
    let mut lines = Vec::new();
    let mut in_frame = false;
    for line in traceback.lines() {
        if line.trim_start().starts_with("Cell In[") {
            in_frame = true;
        } else if line.is_empty() {
            in_frame = false;
        } else if let Some(code) = arrowed(line).filter(|_| in_frame) {
            lines.push(format!("    {}", code.trim()));
        } else if in_frame && line.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
            // A line around the one that raised.
        } else if line.ends_with("Traceback (most recent call last)") {
            lines.push("Traceback (most recent call last):".to_owned());
        } else if let Some((path, number, name)) = of_file(line) {
            lines.push(format!("  File \"{path}\", line {number}, in {name}"));
            in_frame = true;
        } else if !line.trim_start_matches('-').is_empty() {
            lines.push(line.to_owned());
        }
    }
    lines.join("\n")
}

/// Returns the code of a line with an arrow before its number.
fn arrowed(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('-').strip_prefix("> ")?;
    Some(rest.trim_start_matches(|c: char| c.is_ascii_digit())).filter(|code| code.len() < rest.len())
}

/// Returns path, number and function of a line that begins the frame of a file.
fn of_file(line: &str) -> Option<(&str, &str, &str)> {
    let (place, call) = line.strip_prefix("File ")?.split_once(", in ")?;
    let (path, number) = place.rsplit_once(':')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| (path, number, call.split('(').next().unwrap_or(call)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: &str = "---------------------------------------------------------------------------\n\
        NameError                                 Traceback (most recent call last)\n\
        Cell In[3], line 3\n      1 def f():\n      2     return x\n----> 3 f()\n\n\
        Cell In[3], line 2, in f()\n      1 def f():\n----> 2     return x\n      3 f()\n\n\
        File /usr/lib/python3.13/json/__init__.py:346, in loads(s, cls)\n    345 def loads(s):\n--> 346     return x(s)\n\n\
        NameError: name 'x' is not defined\nand more";

    #[test]
    fn the_lines_around_are_left_out() {
        assert_eq!(
            Verbosity::Plain.render(FAILED),
            "Traceback (most recent call last):\n    f()\n    return x\n  \
             File \"/usr/lib/python3.13/json/__init__.py\", line 346, in loads\n    return x(s)\n\
             NameError: name 'x' is not defined\nand more"
        );
        assert_eq!(Verbosity::Minimal.render(FAILED), "NameError: name 'x' is not defined\nand more");
        assert_eq!(Verbosity::Context.render(FAILED), FAILED);
    }

    #[test]
    fn a_syntax_error_has_its_line() {
        let failed = "  Cell In[2], line 2\n    b = 3\nIndentationError: unexpected indent";
        assert_eq!(Verbosity::Plain.render(failed), "    b = 3\nIndentationError: unexpected indent");
    }
}
