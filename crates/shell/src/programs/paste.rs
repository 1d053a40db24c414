//! Program `paste`.

use super::input::{AllLines, or_input, usage};
use super::options::{Order, read};
use crate::state::{Done, Shell};

/// Runs `paste`, which joins lines.
pub(super) async fn paste(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(arguments, "d:s", &[("delimiters", 'd'), ("serial", 's')], Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "paste", &why, 1).await),
    };
    let between: Vec<char> =
        given.value('d').unwrap_or("\t").replace("\\n", "\n").replace("\\t", "\t").chars().collect();
    let separator = |at: usize| between.get(at % between.len().max(1)).map(char::to_string).unwrap_or_default();
    let mut files = Vec::new();
    let mut status = 0;
    for path in or_input(given.operands.clone()) {
        let all = AllLines::read(shell, "paste", &[path], b'\n').await?;
        status |= all.status;
        files.push(all);
    }
    let columns: Vec<Vec<String>> = files
        .iter()
        .map(|all| all.lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect())
        .collect();
    let longest = columns.iter().map(Vec::len).max().unwrap_or(0);
    let rows: Vec<Vec<&str>> = match given.has('s') {
        true => columns.iter().map(|column| column.iter().map(String::as_str).collect()).collect(),
        false => (0..longest)
            .map(|row| columns.iter().map(|column| column.get(row).map_or("", String::as_str)).collect())
            .collect(),
    };
    for row in rows {
        let mut out = String::new();
        for (at, text) in row.iter().enumerate() {
            if at > 0 {
                out.push_str(&separator(at - 1));
            }
            out.push_str(text);
        }
        out.push('\n');
        shell.out("paste", out.as_bytes()).await?;
    }
    Ok(status)
}
