//! Programs `realpath` and `readlink`.

use std::collections::VecDeque;

use super::input::usage;
use super::options::{Order, read};
use crate::state::{Done, Shell, describe, reason};
use proofbox_vfs::{Fault, FileKind, lock};

/// Number of links that a path may lead through.
const MAX_LINKS: usize = 40;

/// Components of a path that have to exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Existing {
    /// Every one (`-e`).
    All,
    /// All but the last (`-f`, and `realpath` by itself).
    AllButLast,
    /// None (`-m`).
    Any,
}

/// Treatment of the links on a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    Follow,
    /// Kept as parts of it (`-s`).
    Keep,
}

/// Runs `realpath` or `readlink`.
pub(super) async fn realpath(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let is_readlink = who == "readlink";
    let letters = if is_readlink { "femnqsvz" } else { "emLPqszr:b:" };
    let long = [
        ("canonicalize", 'f'),
        ("canonicalize-existing", 'e'),
        ("canonicalize-missing", 'm'),
        ("no-newline", 'n'),
        ("zero", 'z'),
        ("quiet", 'q'),
        ("silent", 's'),
        ("strip", 's'),
        ("no-symlinks", 's'),
        ("verbose", 'v'),
        ("logical", 'L'),
        ("physical", 'P'),
        ("relative-to", 'r'),
        ("relative-base", 'b'),
    ];
    let given = match read(arguments, letters, &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, who, &why, 1).await),
    };
    if given.operands.is_empty() {
        return Err(usage(shell, who, "missing operand", 1).await);
    }
    let existing = match given.last_of("fem") {
        Some('e') => Some(Existing::All),
        Some('m') => Some(Existing::Any),
        Some(_) => Some(Existing::AllButLast),
        None if is_readlink => None,
        None => Some(Existing::AllButLast),
    };
    let (base, start) = (given.value('b'), given.value('r').or_else(|| given.value('b')));
    let canonical_option = |shell: &Shell, path: Option<&str>| {
        path.and_then(|path| canonical(shell, path, Existing::Any, Links::Follow).ok())
    };
    let (base, start) = (canonical_option(shell, base), canonical_option(shell, start));
    let links = if !is_readlink && given.has('s') { Links::Keep } else { Links::Follow };
    let tells = if is_readlink { given.has('v') } else { !given.has('q') };
    let end = match given.has('z') {
        true => "\0",
        false if is_readlink && given.has('n') && given.operands.len() == 1 => "",
        false => "\n",
    };
    let mut status = 0;
    for name in &given.operands {
        shell.step(1).await?;
        let found = match existing {
            Some(existing) => canonical(shell, name, existing, links),
            None => match shell.lstat(name) {
                Ok(entry) => entry.link_target.ok_or("Invalid argument"),
                Err(error) => Err(reason(&error)),
            },
        };
        match found {
            Ok(path) => {
                let is_inside = base.as_ref().is_none_or(|base| lies_below(&path, base));
                let path = match &start {
                    Some(start) if is_inside => relative(start, &path),
                    _ => path,
                };
                shell.out(who, format!("{path}{end}").as_bytes()).await?;
            }
            Err(why) => {
                if tells {
                    shell.error(who, &format!("{name}: {why}")).await;
                }
                status = 1;
            }
        }
    }
    Ok(status)
}

/// Makes a path canonical, with `..` after the links before it.
fn canonical(shell: &Shell, name: &str, existing: Existing, links: Links) -> Result<String, &'static str> {
    if name.is_empty() {
        return Err(describe(Fault::NotFound));
    }
    let mut rest: VecDeque<String> = VecDeque::new();
    if !name.starts_with('/') {
        rest.extend(components(&shell.cwd));
    }
    rest.extend(components(name));
    let mut needs_directory = name.ends_with('/');
    let tree = lock(&shell.tree);
    let (mut path, mut followed) = (String::new(), 0);
    while let Some(component) = rest.pop_front() {
        if component == ".." {
            path.truncate(path.rfind('/').unwrap_or(0));
            continue;
        }
        let parent = path.len();
        path.push('/');
        path.push_str(&component);
        let entry = match tree.stat(&path) {
            Ok(entry) => entry,
            Err(_) if existing == Existing::Any || existing == Existing::AllButLast && rest.is_empty() => continue,
            Err(error) => return Err(reason(&error)),
        };
        match entry.link_target {
            Some(target) if links == Links::Follow => {
                followed += 1;
                if followed > MAX_LINKS {
                    return Err(describe(Fault::LinkLoop));
                }
                path.truncate(if target.starts_with('/') { 0 } else { parent });
                needs_directory |= rest.is_empty() && target.ends_with('/');
                for component in components(&target).rev() {
                    rest.push_front(component);
                }
            }
            _ if entry.kind == FileKind::Directory || existing == Existing::Any || links == Links::Keep => {}
            _ if rest.is_empty() && !needs_directory => {}
            _ => return Err(describe(Fault::NotADirectory)),
        }
    }
    Ok(if path.is_empty() { "/".to_owned() } else { path })
}

fn components(path: &str) -> impl DoubleEndedIterator<Item = String> + '_ {
    path.split('/').filter(|name| !matches!(*name, "" | ".")).map(str::to_owned)
}

fn lies_below(path: &str, base: &str) -> bool {
    components(base)
        .zip(components(path).map(Some).chain(std::iter::repeat_with(|| None)))
        .all(|(base, path)| path.is_some_and(|path| path == base))
}

/// Returns the way from one canonical path to another.
fn relative(start: &str, path: &str) -> String {
    let (start, path): (Vec<_>, Vec<_>) = (components(start).collect(), components(path).collect());
    let common = start.iter().zip(&path).take_while(|(one, other)| one == other).count();
    let up = std::iter::repeat_n("..", start.len() - common);
    let way: Vec<&str> = up.chain(path[common..].iter().map(String::as_str)).collect();
    if way.is_empty() { ".".to_owned() } else { way.join("/") }
}
