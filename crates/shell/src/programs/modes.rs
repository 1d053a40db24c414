//! Permission bits as programs are given them, and `chmod`, `chown` and the builtin `umask`.

use super::input::{options, usage};
use crate::state::{Done, Shell, absolute, reason};
use proofbox_vfs::{FileEntry, FileKind, MODE_BITS, User, lock};

const USER: u16 = 0o4700;
const GROUP: u16 = 0o2070;
const OTHERS: u16 = 0o1007;

/// Change of permission bits, as `chmod` takes it.
#[derive(Debug, Clone)]
pub(super) enum ModeChange {
    /// All bits, in octal.
    Exactly(u16),
    /// Clauses such as `u+x`, applied in order.
    Symbolic(Vec<Clause>),
}

#[derive(Debug, Clone)]
pub(super) struct Clause {
    /// Bits of those whom the clause concerns; none: of all, without those of the creation mask.
    who: Option<u16>,
    operator: char,
    bits: Bits,
}

#[derive(Debug, Clone, Copy)]
enum Bits {
    /// These bits, of everybody.
    Given { all: u16, executes_if_any: bool },
    /// The present bits of one of them, as `g=u` has it: how far they are shifted.
    Copied(u16),
}

impl ModeChange {
    /// Parses a mode; none for what is no mode.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            let bits = u16::from_str_radix(text, 8).ok()?;
            return (bits <= MODE_BITS).then_some(Self::Exactly(bits));
        }
        let mut clauses = Vec::new();
        for clause in text.split(',') {
            parse_clause(clause, &mut clauses)?;
        }
        Some(Self::Symbolic(clauses))
    }

    /// Returns the bits of an entry after the change.
    pub(super) fn apply(&self, before: u16, kind: FileKind, mask: u16) -> u16 {
        let clauses = match self {
            // Those of a directory stay, as GNU has it.
            Self::Exactly(bits) if kind == FileKind::Directory => return bits | before & 0o6000,
            Self::Exactly(bits) => return *bits,
            Self::Symbolic(clauses) => clauses,
        };
        let mut mode = before;
        for Clause { who, operator, bits } in clauses {
            let value = match bits {
                Bits::Given { all, executes_if_any } => {
                    let executes = *executes_if_any && (kind == FileKind::Directory || mode & 0o111 != 0);
                    if executes { all | 0o111 } else { *all }
                }
                Bits::Copied(shift) => (mode >> shift & 7) * 0o111,
            };
            let concerned = who.unwrap_or(MODE_BITS);
            let value = value & concerned & if who.is_none() { !mask } else { MODE_BITS };
            mode = match operator {
                '+' => mode | value,
                '-' => mode & !value,
                // Set-user-ID and set-group-ID of a directory stay unless they are named.
                _ if kind == FileKind::Directory => mode & (!concerned | 0o6000) | value,
                _ => mode & !concerned | value,
            };
        }
        mode
    }
}

fn parse_clause(clause: &str, clauses: &mut Vec<Clause>) -> Option<()> {
    let at = clause.find(['+', '-', '='])?;
    let mut who = None;
    for letter in clause[..at].chars() {
        let bits = match letter {
            'u' => USER,
            'g' => GROUP,
            'o' => OTHERS,
            'a' => MODE_BITS,
            _ => return None,
        };
        who = Some(who.unwrap_or(0) | bits);
    }
    let mut rest = &clause[at..];
    while let Some(operator) = rest.chars().next() {
        rest = &rest[1..];
        let end = rest.find(['+', '-', '=']).unwrap_or(rest.len());
        let bits = parse_bits(&rest[..end])?;
        clauses.push(Clause { who, operator, bits });
        rest = &rest[end..];
    }
    Some(())
}

fn parse_bits(letters: &str) -> Option<Bits> {
    match letters {
        "u" => return Some(Bits::Copied(6)),
        "g" => return Some(Bits::Copied(3)),
        "o" => return Some(Bits::Copied(0)),
        _ => {}
    }
    let (mut all, mut executes_if_any) = (0, false);
    for letter in letters.chars() {
        all |= match letter {
            'r' => 0o444,
            'w' => 0o222,
            'x' => 0o111,
            's' => 0o6000,
            't' => 0o1000,
            'X' => {
                executes_if_any = true;
                0
            }
            _ => return None,
        };
    }
    Some(Bits::Given { all, executes_if_any })
}

/// Renders permission bits as `rwxr-xr-x`.
pub(super) fn letters(mode: u16) -> String {
    let triple = |shift: u16, special: u16, set: char| {
        let bits = mode >> shift;
        let bit = |bit: u16, letter: char| if bits & bit != 0 { letter } else { '-' };
        let last = match (mode & special != 0, bits & 1 != 0) {
            (true, true) => set,
            (true, false) => set.to_ascii_uppercase(),
            (false, executes) => {
                if executes {
                    'x'
                } else {
                    '-'
                }
            }
        };
        [bit(4, 'r'), bit(2, 'w'), last]
    };
    [triple(6, 0o4000, 's'), triple(3, 0o2000, 's'), triple(0, 0o1000, 't')].as_flattened().iter().collect()
}

/// Mode options stand before other letters: `chmod -x f` takes `-x` for a mode.
fn split_modes(arguments: &[String]) -> (Vec<String>, Option<String>) {
    let mut mode = None;
    let mut rest = Vec::new();
    let mut words = arguments.iter();
    for word in words.by_ref() {
        if word == "--" {
            rest.push(word.clone());
            break;
        }
        let is_mode = word.len() > 1
            && word.starts_with('-')
            && word[1..].starts_with(|c: char| "rwxXstugo,+=-01234567".contains(c))
            && ModeChange::parse(word).is_some();
        if is_mode && mode.is_none() {
            mode = Some(word.clone());
        } else {
            rest.push(word.clone());
        }
    }
    rest.extend(words.cloned());
    (rest, mode)
}

/// Runs `chmod`.
pub(super) async fn chmod(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [
        ("recursive", 'R'),
        ("verbose", 'v'),
        ("changes", 'c'),
        ("silent", 'f'),
        ("quiet", 'f'),
        ("reference", 'r'),
        ("preserve-root", 'p'),
        ("no-preserve-root", 'P'),
    ];
    let (words, mode) = split_modes(arguments);
    let given = options(shell, "chmod", &words, "RvcfpPr:", &long, 1).await?;
    let mut operands = given.operands.iter();
    let text = match (&mode, given.value('r')) {
        (Some(mode), _) => mode.clone(),
        (None, Some(reference)) => match shell.stat(reference) {
            Ok(entry) => format!("{:o}", entry.mode),
            Err(error) => {
                let what = format!("failed to get attributes of '{reference}': {}", reason(&error));
                return Err(shell.fails("chmod", &what).await);
            }
        },
        (None, None) => match operands.next() {
            Some(mode) => mode.clone(),
            None => return Err(usage(shell, "chmod", "missing operand", 1).await),
        },
    };
    let Some(change) = ModeChange::parse(&text) else {
        return Err(usage(shell, "chmod", &format!("invalid mode: '{text}'"), 1).await);
    };
    if operands.len() == 0 {
        return Err(usage(shell, "chmod", &format!("missing operand after '{text}'"), 1).await);
    }
    let mask = shell.tree.credentials().mask;
    let mut status = 0;
    for operand in operands {
        let mut waiting = vec![operand.clone()];
        while let Some(name) = waiting.pop() {
            shell.step(1).await?;
            let is_named = name == *operand;
            let found = if is_named { shell.stat(&name) } else { shell.lstat(&name) };
            let entry = match found {
                Ok(entry) => entry,
                Err(error) => {
                    if !given.has('f') {
                        let dangling = is_named && shell.lstat(&name).is_ok_and(|entry| entry.kind == FileKind::Link);
                        let what = match dangling {
                            true => format!("cannot operate on dangling symlink '{name}'"),
                            false => format!("cannot access '{name}': {}", reason(&error)),
                        };
                        shell.error("chmod", &what).await;
                    }
                    status = 1;
                    continue;
                }
            };
            // Links below an operand are left alone.
            if entry.kind == FileKind::Link {
                continue;
            }
            let after = change.apply(entry.mode, entry.kind, mask);
            let set = lock(&shell.tree).set_mode(&shell.path(&name), after, shell.now());
            if let Err(error) = set {
                if !given.has('f') {
                    shell.error("chmod", &format!("changing permissions of '{name}': {}", reason(&error))).await;
                }
                status = 1;
            } else if given.has('v') || given.has('c') && after != entry.mode {
                let shown = |mode: u16| format!("{mode:04o} ({})", letters(mode));
                let text = match after == entry.mode {
                    true => format!("mode of '{name}' retained as {}\n", shown(after)),
                    false => format!("mode of '{name}' changed from {} to {}\n", shown(entry.mode), shown(after)),
                };
                shell.out("chmod", text.as_bytes()).await?;
            }
            if given.has('R') && entry.kind == FileKind::Directory {
                status = status.max(below(shell, "chmod", &name, &mut waiting).await?);
            }
        }
    }
    Ok(status)
}

/// Puts the entries of a directory before what waits. Returns 1 if it can't be read.
async fn below(shell: &Shell, who: &str, name: &str, waiting: &mut Vec<String>) -> Done {
    let listed = lock(&shell.tree).list(&shell.path(name), 1);
    match listed {
        Ok(entries) => {
            shell.step(entries.len() as u64 / 16).await?;
            let join = |entry: &FileEntry| super::destination::join_last_name(name, &entry.name);
            waiting.extend(entries.iter().rev().map(join));
            Ok(0)
        }
        Err(error) => {
            shell.error(who, &format!("cannot read directory '{name}': {}", reason(&error))).await;
            Ok(1)
        }
    }
}

/// Runs `chown`: only root gives files away. A user's group is the user's, and goes along.
pub(super) async fn chown(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("recursive", 'R'), ("verbose", 'v'), ("changes", 'c'), ("silent", 'f'), ("no-dereference", 'h')];
    let given = options(shell, "chown", arguments, "RvcfhLHP", &long, 1).await?;
    let [owner, names @ ..] = given.operands.as_slice() else {
        return Err(usage(shell, "chown", "missing operand", 1).await);
    };
    if names.is_empty() {
        return Err(usage(shell, "chown", &format!("missing operand after '{owner}'"), 1).await);
    }
    let known = |text: &str| User::ALL.into_iter().find(|user| user.name() == text || user.id().to_string() == text);
    let (name, group) = owner.split_once([':', '.']).unwrap_or((owner, ""));
    let user = match (name, group) {
        (_, group) if !group.is_empty() && known(group).is_none() => {
            return Err(shell.fails("chown", &format!("invalid group: '{owner}'")).await);
        }
        ("", _) => None,
        (name, _) => match known(name) {
            Some(user) => Some(user),
            None => return Err(shell.fails("chown", &format!("invalid user: '{owner}'")).await),
        },
    };
    let mut status = 0;
    let mut waiting: Vec<String> = names.iter().rev().cloned().collect();
    while let Some(name) = waiting.pop() {
        shell.step(1).await?;
        let path = shell.path(&name);
        let entry = match shell.lstat(&name) {
            Ok(entry) => entry,
            Err(error) => {
                shell.error("chown", &format!("cannot access '{name}': {}", reason(&error))).await;
                status = 1;
                continue;
            }
        };
        let real = match given.has('h') || given.has('R') {
            true => path,
            false => lock(&shell.tree).real_path(&path).unwrap_or(path),
        };
        if let Some(user) = user {
            let set = lock(&shell.tree).set_owner(&real, user, shell.now());
            if let Err(error) = set {
                shell.error("chown", &format!("changing ownership of '{name}': {}", reason(&error))).await;
                status = 1;
            }
        }
        if given.has('R') && entry.kind == FileKind::Directory {
            status = status.max(below(shell, "chown", &name, &mut waiting).await?);
        }
    }
    Ok(status)
}

/// Runs `umask`.
pub(super) async fn umask(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = options(shell, "umask", arguments, "Sp", &[], 2).await?;
    let credentials = shell.tree.credentials();
    let mask = credentials.mask;
    let symbolic = |mask: u16| {
        let bits = |shift: u16| letters((0o777 & !mask) >> shift & 7)[6..].replace('-', "");
        format!("u={},g={},o={}", bits(6), bits(3), bits(0))
    };
    let Some(text) = given.operands.first() else {
        let text = match (given.has('S'), given.has('p')) {
            (true, true) => format!("umask -S {}\n", symbolic(mask)),
            (true, false) => format!("{}\n", symbolic(mask)),
            (false, true) => format!("umask {mask:04o}\n"),
            (false, false) => format!("{mask:04o}\n"),
        };
        shell.out("umask", text.as_bytes()).await?;
        return Ok(0);
    };
    let new = match ModeChange::parse(text) {
        Some(ModeChange::Exactly(bits)) => bits & 0o777,
        // Symbols say what is allowed.
        Some(change) => 0o777 & !change.apply(0o777 & !mask, FileKind::File, 0),
        None => {
            let digits = text.starts_with(|c: char| c.is_ascii_digit());
            let what = match digits {
                true => format!("{text}: octal number out of range"),
                false => format!("`{}': invalid symbolic mode character", text.chars().next().unwrap_or(' ')),
            };
            return Err(shell.fails("umask", &what).await);
        }
    };
    shell.tree = shell.tree.with_credentials(credentials.with_mask(new));
    if given.has('S') {
        shell.out("umask", format!("{}\n", symbolic(new)).as_bytes()).await?;
    }
    Ok(0)
}

/// Mode that `mkdir -m` and `install -m` ask for. Err: the program's exit code, after the error has been reported.
pub(super) async fn wanted(
    shell: &Shell,
    who: &str,
    text: Option<&str>,
) -> Result<Option<ModeChange>, crate::state::Stop> {
    let Some(text) = text else { return Ok(None) };
    match ModeChange::parse(text) {
        Some(change) => Ok(Some(change)),
        None => Err(shell.fails(who, &format!("invalid mode '{text}'")).await),
    }
}

/// Sets the mode of what a program has just made; returns why it can't be.
pub(super) fn set(shell: &Shell, path: &str, change: &ModeChange, base: u16) -> Result<(), &'static str> {
    let mut tree = lock(&shell.tree);
    let path = absolute(&shell.cwd, path);
    let kind = tree.stat_followed(&path).map(|entry| entry.kind).map_err(|error| reason(&error))?;
    let mode = change.apply(base, kind, shell.tree.credentials().mask);
    tree.set_mode(&path, mode, shell.now()).map_err(|error| reason(&error))
}
