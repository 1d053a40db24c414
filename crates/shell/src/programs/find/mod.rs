//! Program `find`.

mod expression;
mod format;

use super::execute::execute;
use crate::execute::file_test;
use crate::state::{Done, Shell, Stop, reason};
use expression::{Action, Age, Expression, Options, Parser, Test, Time};
use futures_util::future::BoxFuture;
use proofbox_vfs::{FileEntry, FileKind, lock};

/// An entry on the way.
struct Found {
    path: String,
    /// Path that it was found below.
    start: String,
    entry: FileEntry,
    depth: usize,
}

/// Effects of the expression so far.
#[derive(Default)]
struct Effects {
    /// The entries of the directory at hand are left out.
    prunes: bool,
    quits: bool,
    failed: bool,
    /// Paths for each `-exec … +`, with the words before them.
    gathered: Vec<(Vec<String>, Vec<String>)>,
}

pub(super) async fn find(shell: &mut Shell, arguments: &[String]) -> Done {
    let leading = arguments.iter().take_while(|word| matches!(word.as_str(), "-H" | "-L" | "-P")).count();
    let follow = arguments[..leading].last().map_or("-P", String::as_str);
    let arguments = &arguments[leading..];
    let arguments = arguments.strip_prefix(["--".to_owned()].as_slice()).unwrap_or(arguments);
    let count = arguments.iter().take_while(|word| !is_expression(word)).count();
    let (starts, words) = arguments.split_at(count);
    let parsed = Parser::new(shell, words).parse();
    let (expression, mut options) = match parsed {
        Ok(parsed) => parsed,
        Err(why) => return Err(shell.fails("find", &why).await),
    };
    options.follows_links |= follow == "-L";
    let dot = [".".to_owned()];
    let starts = if starts.is_empty() { &dot } else { starts };
    let mut effects = Effects::default();
    for start in starts {
        let followed = (options.follows_links || follow == "-H").then(|| shell.stat(start).ok()).flatten();
        let entry = match followed.map_or_else(|| shell.lstat(start), Ok) {
            Ok(entry) => entry,
            Err(error) => {
                shell.error("find", &format!("'{start}': {}", reason(&error))).await;
                effects.failed = true;
                continue;
            }
        };
        let found = Found { path: start.clone(), start: start.clone(), entry, depth: 0 };
        walk(shell, found, &expression, &options, &mut effects).await?;
        if effects.quits {
            break;
        }
    }
    for (words, paths) in std::mem::take(&mut effects.gathered) {
        effects.failed |= execute(shell, words, paths).await? != 0;
    }
    Ok(i32::from(effects.failed))
}

/// Returns whether a word begins the expression.
fn is_expression(word: &str) -> bool {
    matches!(word, "(" | ")" | "!" | ",") || word.len() > 1 && word.starts_with('-')
}

async fn walk(
    shell: &mut Shell,
    start: Found,
    expression: &Expression,
    options: &Options,
    effects: &mut Effects,
) -> Result<(), Stop> {
    let mut waiting = vec![(start, false)];
    while let Some((found, entered)) = waiting.pop() {
        shell.step(1).await?;
        let enters = found.entry.kind == FileKind::Directory && found.depth < options.most && !entered;
        // What is in a directory comes before it.
        if options.contents_first && enters {
            let below = children(shell, &found, options);
            waiting.push((found, true));
            waiting.extend(below);
            continue;
        }
        effects.prunes = false;
        if found.depth >= options.least {
            evaluate(shell, expression, &found, effects).await?;
        }
        if effects.quits {
            return Ok(());
        }
        if enters && !effects.prunes {
            waiting.extend(children(shell, &found, options));
        }
    }
    Ok(())
}

/// The entries of a directory, the last one first.
fn children(shell: &Shell, above: &Found, options: &Options) -> Vec<(Found, bool)> {
    let entries = lock(&shell.tree).list(&shell.path(&above.path), 1).unwrap_or_default();
    let child = |entry: FileEntry| {
        let path = format!("{}/{}", above.path.trim_end_matches('/'), entry.name);
        let leads_up =
            |target: &FileEntry| target.kind == FileKind::Directory && above.depth >= expression::MAX_DEPTH_OF_LINKS;
        let target = match options.follows_links && entry.kind == FileKind::Link {
            true => shell.stat(&path).ok().filter(|target| !leads_up(target)),
            false => None,
        };
        (Found { path, start: above.start.clone(), entry: target.unwrap_or(entry), depth: above.depth + 1 }, false)
    };
    entries.into_iter().rev().map(child).collect()
}

fn evaluate<'a>(
    shell: &'a mut Shell,
    expression: &'a Expression,
    found: &'a Found,
    effects: &'a mut Effects,
) -> BoxFuture<'a, Result<bool, Stop>> {
    Box::pin(async move {
        match expression {
            Expression::Test(test) => Ok(test_holds(shell, test, found)),
            Expression::Action(action) => act(shell, action, found, effects).await,
            Expression::Not(inner) => Ok(!evaluate(shell, inner, found, effects).await?),
            Expression::All(parts) => {
                for part in parts {
                    if !evaluate(shell, part, found, effects).await? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Expression::Any(parts) => {
                for part in parts {
                    if evaluate(shell, part, found, effects).await? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Expression::Last(parts) => {
                let mut holds = true;
                for part in parts {
                    holds = evaluate(shell, part, found, effects).await?;
                }
                Ok(holds)
            }
        }
    })
}

/// The last part of a path.
fn name_of(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" => "/",
        path => path.rsplit('/').next().unwrap_or(path),
    }
}

fn test_holds(shell: &Shell, test: &Test, found: &Found) -> bool {
    let Found { path, entry, .. } = found;
    match test {
        Test::Always(holds) => *holds,
        Test::Name(pattern) => pattern.is(name_of(path)),
        Test::Path(pattern) => pattern.is(path),
        Test::Regular(regular) => regular.takes(path.len()) && regular.is_match(path.as_bytes()),
        Test::Kinds(kinds) => kinds.contains(&entry.kind),
        Test::Empty => match entry.kind {
            FileKind::File => entry.size == 0,
            FileKind::Directory => lock(&shell.tree).list(&shell.path(path), 1).is_ok_and(|entries| entries.is_empty()),
            FileKind::Link | FileKind::Device | FileKind::NamedPipe => false,
        },
        Test::Size { count, unit } => count.takes(entry.size.div_ceil(*unit)),
        Test::Age(Age { time, unit, count }) => {
            count.takes(shell.now().saturating_sub(time_of(entry, *time)) / 1_000_000_000 / unit)
        }
        Test::Newer(time, than) => time_of(entry, *time) > *than,
        Test::Inode(number) => entry.inode == *number,
        Test::Links(count) => count.takes(entry.links),
        Test::Mode(mode) => mode.takes(entry.mode),
        Test::File(operator) => file_test(shell, operator, path).unwrap_or(false),
    }
}

fn time_of(entry: &FileEntry, time: Time) -> u64 {
    match time {
        Time::Accessed => entry.accessed,
        Time::Modified => entry.modified,
        Time::Changed => entry.changed,
    }
}

async fn act(shell: &mut Shell, action: &Action, found: &Found, effects: &mut Effects) -> Result<bool, Stop> {
    let path = &found.path;
    match action {
        Action::Print { end } => shell.out("find", format!("{path}{end}").as_bytes()).await?,
        Action::Format(format) => shell.out("find", &format::render(format, found)).await?,
        Action::Prune => effects.prunes = true,
        Action::Quit => effects.quits = true,
        Action::Delete => {
            // The directory at hand is left, as it is by `find`.
            if path == "." {
                return Ok(true);
            }
            let removed = lock(&shell.tree).remove(&shell.path(path), shell.now());
            if let Err(error) = removed {
                shell.error("find", &format!("cannot delete '{path}': {}", reason(&error))).await;
                effects.failed = true;
                return Ok(false);
            }
        }
        Action::Gather(index, words) => {
            while effects.gathered.len() <= *index {
                effects.gathered.push((Vec::new(), Vec::new()));
            }
            let (before, paths) = &mut effects.gathered[*index];
            before.clone_from(words);
            paths.push(path.clone());
        }
        Action::Execute { words, in_directory } => {
            let (directory, path) = match in_directory {
                true => (path.trim_end_matches('/').rsplit_once('/').map(|(above, _)| above), {
                    format!("./{}", name_of(path))
                }),
                false => (None, path.clone()),
            };
            let words = words.iter().map(|word| word.replace("{}", &path)).collect();
            let cwd = shell.cwd.clone();
            if let Some(directory) = directory {
                shell.cwd = shell.path(if directory.is_empty() { "/" } else { directory });
            }
            let done = execute(shell, words, Vec::new()).await;
            shell.cwd = cwd;
            return Ok(done? == 0);
        }
    }
    Ok(true)
}
