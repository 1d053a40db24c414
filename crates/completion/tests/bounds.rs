//! Time that hostile answers take: it grows with their length, and no faster.

use std::time::{Duration, Instant};

use proofbox_completion::{extract, names_tested};

/// Length of an answer, in bytes.
const LENGTH: usize = if cfg!(debug_assertions) { 1 << 17 } else { 1 << 20 };
/// Most that an answer may take, on a machine that has other work too; what is quadratic takes a minute.
const MAX_TIME: Duration = Duration::from_secs(10);

#[test]
fn a_mebibyte_of_marks_takes_no_time() {
    let units = [
        "`",
        "\n",
        "~",
        "```\n",
        "~~~\n",
        "```python\n",
        "```python\nx\n    ```\n",
        "```python\n\"\"\"\n```\n",
        "```zzz\nx\n     ```\n",
        "```python\nx```\n",
        "x:```\n",
        "x```\n",
        "```markdown\n",
        "````\n```\n",
        "```x y\n",
        "<think>",
        "</think>",
        "<think>\n",
        "</think>\n",
        "<think><think></think>\n",
        "<think>a </think> b\n",
        "◁think▷",
        "[THINK]\n",
        "a</think>b\n",
        "```</think>\n",
        "<|channel|>",
        "<|channel|>final",
        "<|start|>",
        "<|channel|>a<|message|>",
        "analysis",
        "> ",
        ">",
        "> ```\n",
        "> > > ```python\n> x\n",
        "> ```\nx\n",
        ">>> ",
        ">>> x\n",
        "'",
        "\"",
        "\"\"\"",
        "\"\"\"\n",
        "'''\n",
        "<code>",
        "<code>\n",
        "[PYTHON]\n",
        "<answer>",
        "<answer>\n",
        "<answer>\nx</answer>\n",
        "<answer>x</answer>",
        "match x:\n",
        "case 1:\n",
        "x = (\n",
        "def f(\n",
        "# wrong\n",
        "wrong ",
        "```python\ndef f(x): return (\n```\nright:\n",
        "`x` ",
        "``x` ",
        "\\",
        "\t",
        "\u{3000}",
    ];
    for unit in units {
        let text = unit.repeat(LENGTH / unit.len());
        for text in
            [text.clone(), format!("```python\n{text}"), format!("<think>{text}"), format!("x\n{text}\n</think>\ny")]
        {
            let start = Instant::now();
            extract(&text, &["f", "g"]);
            assert!(
                start.elapsed() < MAX_TIME,
                "{unit:?} {:?}: {:?}",
                &text.chars().take(20).collect::<String>(),
                start.elapsed()
            );
        }
        let start = Instant::now();
        names_tested(&text);
        assert!(start.elapsed() < MAX_TIME, "{unit:?}: {:?}", start.elapsed());
    }
}
