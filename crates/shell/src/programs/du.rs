//! Program `du`.

use super::input::usage;
use super::metadata::{blocks, human};
use super::options::{Order, read};
use crate::state::{Done, Shell, reason};
use proofbox_vfs::{FileEntry, FileKind, lock};

pub(super) async fn du(shell: &mut Shell, arguments: &[String]) -> Done {
    let long =
        [("summarize", 's'), ("human-readable", 'h'), ("bytes", 'b'), ("all", 'a'), ("total", 'c'), ("max-depth", 'd')];
    let given = match read(arguments, "shbackmd:", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "du", &why, 1).await),
    };
    let mut operands = given.operands.clone();
    if operands.is_empty() {
        operands.push(".".to_owned());
    }
    let most = match given.has('s') {
        true => 0,
        false => given.value('d').and_then(|depth| depth.parse::<usize>().ok()).unwrap_or(usize::MAX),
    };
    let weight = |entry: &FileEntry| if given.has('b') { entry.size } else { blocks(entry) * 1024 };
    let shown = |bytes: u64| match (given.has('h'), given.has('b')) {
        (true, _) => human(bytes),
        (false, true) => bytes.to_string(),
        (false, false) => bytes.div_ceil(1024).to_string(),
    };
    let (mut status, mut all) = (0, 0);
    for name in &operands {
        let top = match shell.lstat(name) {
            Ok(entry) => entry,
            Err(error) => {
                shell.error("du", &format!("cannot access '{name}': {}", reason(&error))).await;
                status = 1;
                continue;
            }
        };
        let path = shell.path(name);
        let entries = lock(&shell.tree).list(&path, usize::MAX).unwrap_or_default();
        shell.step(1 + entries.len() as u64 / 16).await?;
        let prefix = if path == "/" { 1 } else { path.len() + 1 };
        let mut sums: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
        let mut total = weight(&top);
        for entry in &entries {
            total += weight(entry);
            let below = &entry.path[prefix..];
            if entry.kind == FileKind::Directory {
                *sums.entry(below.to_owned()).or_default() += weight(entry);
            } else if given.has('a') {
                sums.insert(below.to_owned(), weight(entry));
            }
            for (end, _) in below.match_indices('/') {
                *sums.entry(below[..end].to_owned()).or_default() += weight(entry);
            }
        }
        all += total;
        let mut text = String::new();
        // What lies deeper comes first.
        let mut rows: Vec<(String, u64)> = sums.into_iter().collect();
        rows.sort_by(|(one, _), (other, _)| {
            let key = |name: &str| format!("{name}/\u{10ffff}");
            key(one).cmp(&key(other))
        });
        for (below, bytes) in rows {
            if below.matches('/').count() < most {
                text.push_str(&format!("{}\t{}/{below}\n", shown(bytes), name.trim_end_matches('/')));
            }
        }
        text.push_str(&format!("{}\t{name}\n", shown(total)));
        shell.out("du", text.as_bytes()).await?;
    }
    if given.has('c') {
        shell.out("du", format!("{}\ttotal\n", shown(all)).as_bytes()).await?;
    }
    Ok(status)
}
