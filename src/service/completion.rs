//! Extraction of code from a model's answer.

/// Fenced block of a completion.
struct Block<'a> {
    language: &'a str,
    code: String,
}

/// The code in `completion`: of its fenced blocks those marked as Python, else the unmarked ones; without any fence
/// the whole text. Of several blocks the first that defines `entry_point`, else the first. An unfinished fence ends
/// with the text (the answer was cut).
pub fn code_of_completion(completion: &str, entry_point: Option<&str>) -> String {
    let blocks = blocks(completion);
    let is_python = |block: &&Block| {
        matches!(block.language.to_ascii_lowercase().as_str(), "python" | "py" | "python3" | "ipython")
    };
    let mut candidates: Vec<&Block> = blocks.iter().filter(is_python).collect();
    if candidates.is_empty() {
        candidates = blocks.iter().filter(|block| block.language.is_empty()).collect();
    }
    let Some(first) = candidates.first() else {
        return if blocks.is_empty() { completion.to_owned() } else { blocks[0].code.clone() };
    };
    let defines = |name: &str, code: &str| {
        [format!("def {name}("), format!("class {name}"), format!("{name} =")]
            .iter()
            .any(|text| code.contains(text.as_str()))
    };
    let chosen =
        entry_point.and_then(|name| candidates.iter().find(|block| defines(name, &block.code))).unwrap_or(first);
    chosen.code.clone()
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    // The open block with its fence's characters and indentation (CommonMark 0.31, 4.5).
    let mut open: Option<(Block<'_>, char, usize, usize)> = None;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start_matches(' ');
        let indent = line.len() - trimmed.len();
        let mark = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'));
        let length = mark.map_or(0, |mark| trimmed.chars().take_while(|c| *c == mark).count());
        let rest = trimmed[length..].trim();
        match (&mut open, mark) {
            (None, Some(mark)) if length >= 3 && !(mark == '`' && rest.contains('`')) => {
                let language = rest.split([' ', '{', ',']).next().unwrap_or("");
                open = Some((Block { language, code: String::new() }, mark, length, indent));
            }
            (Some((_, open_mark, open_length, _)), Some(mark))
                if mark == *open_mark && length >= *open_length && rest.is_empty() =>
            {
                blocks.extend(open.take().map(|(block, ..)| block));
            }
            (Some((block, _, _, open_indent)), _) => {
                let strip = indent.min(*open_indent);
                block.code.push_str(&line[strip..]);
            }
            (None, _) => {}
        }
    }
    blocks.extend(open.map(|(block, ..)| block));
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fenced_block_is_taken_out() {
        assert_eq!(code_of_completion("Sure!\n```python\nx = 1\n```\nDone.", None), "x = 1\n");
    }

    #[test]
    fn an_unfinished_fence_ends_with_the_text() {
        assert_eq!(code_of_completion("Sure!\n```python\nx = 1\ny = ", None), "x = 1\ny = ");
    }

    #[test]
    fn bare_code_is_the_whole_text() {
        assert_eq!(code_of_completion("x = 1\n", None), "x = 1\n");
    }

    #[test]
    fn python_is_preferred_and_the_entry_point_decides() {
        let text = "```sh\npip install x\n```\n```python\nprint(1)\n```\n~~~py\ndef f():\n    pass\n~~~\n";
        assert_eq!(code_of_completion(text, None), "print(1)\n");
        assert_eq!(code_of_completion(text, Some("f")), "def f():\n    pass\n");
    }

    #[test]
    fn backquotes_inside_a_line_open_nothing() {
        assert_eq!(code_of_completion("```x``` = 1", None), "```x``` = 1");
    }
}
