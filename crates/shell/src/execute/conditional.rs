//! `[[ … ]]`, and the tests that it shares with `test`.

use crate::regular::{Case, Regular, Syntax, posix};
use crate::state::{Shell, Stop};
use crate::syntax::Test;
use futures_util::future::BoxFuture;
use proofbox_vfs::{FileKind, Permission, lock};
use std::cmp::Ordering;

/// An operator that compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// Of numbers: which outcomes hold.
    Numbers(&'static [Ordering]),
    /// Comparison of texts; the orderings are those that make it true.
    Texts(&'static [Ordering]),
    NewerThan,
    OlderThan,
    SameFile,
}

impl Comparison {
    pub(crate) fn of(operator: &str) -> Option<Self> {
        use Ordering::{Equal, Greater, Less};
        Some(match operator {
            "-eq" => Self::Numbers(&[Equal]),
            "-ne" => Self::Numbers(&[Less, Greater]),
            "-lt" => Self::Numbers(&[Less]),
            "-le" => Self::Numbers(&[Less, Equal]),
            "-gt" => Self::Numbers(&[Greater]),
            "-ge" => Self::Numbers(&[Greater, Equal]),
            "=" | "==" => Self::Texts(&[Equal]),
            "!=" => Self::Texts(&[Less, Greater]),
            "<" => Self::Texts(&[Less]),
            ">" => Self::Texts(&[Greater]),
            "-nt" => Self::NewerThan,
            "-ot" => Self::OlderThan,
            "-ef" => Self::SameFile,
            _ => return None,
        })
    }
}

/// Returns whether a test of one file or text holds; `None` for a letter that is no such test.
pub(crate) fn file_test(shell: &Shell, operator: &str, operand: &str) -> Option<bool> {
    let path = shell.path(operand);
    let tree = lock(&shell.tree);
    let followed = || match operand {
        "" => None,
        _ => tree.stat_followed(&path).ok(),
    };
    let may = |permission| !operand.is_empty() && tree.may(&path, permission) == Ok(true);
    let has = |bit| followed().is_some_and(|entry| entry.mode & bit != 0);
    let is = |kind| followed().is_some_and(|entry| entry.kind == kind);
    // These devices are not in the tree.
    if matches!(operator, "-e" | "-a" | "-c" | "-r" | "-w") && Shell::is_device(&path) {
        return Some(true);
    }
    Some(match operator {
        "-z" => operand.is_empty(),
        "-n" => !operand.is_empty(),
        "-e" | "-a" => followed().is_some(),
        "-f" => is(FileKind::File),
        "-d" => is(FileKind::Directory),
        "-c" => is(FileKind::Device),
        "-s" => followed().is_some_and(|entry| entry.size > 0),
        "-r" => may(Permission::Read),
        "-w" => may(Permission::Write),
        "-x" => may(Permission::Execute),
        "-h" | "-L" => !operand.is_empty() && tree.stat(&path).is_ok_and(|entry| entry.kind == FileKind::Link),
        "-O" | "-G" => followed().is_some_and(|entry| entry.owner == shell.tree.credentials().user),
        "-u" => has(0o4000),
        "-g" => has(0o2000),
        "-k" => has(0o1000),
        "-t" => shell.streams.is_terminal(operand),
        "-p" => is(FileKind::NamedPipe),
        "-b" | "-S" | "-N" => false,
        "-v" => shell.variables.get(operand).is_some_and(|variable| variable.value.is_some()),
        "-o" => match operand {
            "errexit" => shell.options.exit_on_error,
            "nounset" => shell.options.unset_is_error,
            "pipefail" => shell.options.pipe_fail,
            "xtrace" => shell.options.trace,
            _ => false,
        },
        _ => return None,
    })
}

/// Numbers that a comparison takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Arithmetic expressions, as in `[[`.
    Expressions,
    /// Integers, as in `test`.
    Integers,
}

impl Shell {
    pub(super) fn run_test<'a>(&'a mut self, test: &'a Test) -> BoxFuture<'a, Result<bool, Stop>> {
        Box::pin(async move {
            self.step(1).await?;
            match test {
                Test::Word(word) => Ok(!self.expand_text(word).await?.is_empty()),
                Test::Not(test) => Ok(!self.run_test(test).await?),
                Test::And(left, right) => Ok(self.run_test(left).await? && self.run_test(right).await?),
                Test::Or(left, right) => Ok(self.run_test(left).await? || self.run_test(right).await?),
                Test::Unary(operator, operand) => {
                    let operand = self.expand_text(operand).await?;
                    Ok(file_test(self, operator, &operand).unwrap_or(false))
                }
                Test::Binary(left, operator, right) => {
                    let left = self.expand_text(left).await?;
                    match operator.as_str() {
                        "=" | "==" | "!=" => {
                            let pattern = self.expand_pattern(right).await?;
                            Ok(self.matches(&left, &pattern).await? == (operator != "!="))
                        }
                        "=~" => {
                            let pattern = self.expand_pattern(right).await?;
                            self.matches_expression(&left, &pattern).await
                        }
                        operator => {
                            let right = self.expand_text(right).await?;
                            self.compare(&left, operator, &right, Operands::Expressions).await
                        }
                    }
                }
            }
        })
    }

    /// `=~`: sets `BASH_REMATCH`.
    async fn matches_expression(&mut self, text: &str, pattern: &str) -> Result<bool, Stop> {
        let regular = match Regular::new(&posix(pattern, Syntax::Extended), Case::Sensitive) {
            Ok(regular) if regular.takes(text.len()) => regular,
            Ok(_) | Err(_) => return Err(Stop::Failed(2)),
        };
        self.step(regular.steps(text.len())).await?;
        let groups = match regular.captures_at(text.as_bytes(), 0) {
            Some(captures) => {
                let text = |group: Option<regex::bytes::Match<'_>>| {
                    group.map_or(String::new(), |group| String::from_utf8_lossy(group.as_bytes()).into_owned())
                };
                captures.iter().map(text).collect()
            }
            None => Vec::new(),
        };
        let matched = !groups.is_empty();
        self.assign_list("BASH_REMATCH", groups).await?;
        Ok(matched)
    }

    /// Compares two operands. `Failed`: one is no number, and that has been told.
    pub(crate) async fn compare(
        &mut self,
        left: &str,
        operator: &str,
        right: &str,
        operands: Operands,
    ) -> Result<bool, Stop> {
        let Some(comparison) = Comparison::of(operator) else {
            let who = if operands == Operands::Expressions { "" } else { "test" };
            self.error(who, &format!("{operator}: binary operator expected")).await;
            return Err(Stop::Failed(2));
        };
        let modified = |shell: &Self, path: &str| {
            lock(&shell.tree).stat_followed(&shell.path(path)).ok().map(|entry| entry.modified)
        };
        let inode = |shell: &Self, path: &str| shell.stat(path).ok().map(|entry| entry.inode);
        Ok(match comparison {
            Comparison::Texts(outcomes) => outcomes.contains(&left.cmp(right)),
            Comparison::NewerThan => modified(self, left) > modified(self, right),
            Comparison::OlderThan => modified(self, left) < modified(self, right),
            Comparison::SameFile => inode(self, left).is_some() && inode(self, left) == inode(self, right),
            Comparison::Numbers(outcomes) => {
                let (left, right) = match operands {
                    Operands::Expressions => (self.arithmetic_text(left).await?, self.arithmetic_text(right).await?),
                    Operands::Integers => (self.integer(left).await?, self.integer(right).await?),
                };
                outcomes.contains(&left.cmp(&right))
            }
        })
    }

    async fn integer(&mut self, text: &str) -> Result<i64, Stop> {
        match text.trim().trim_start_matches('+').parse() {
            Ok(number) => Ok(number),
            Err(_) => {
                self.error("[", &format!("{text}: integer expression expected")).await;
                Err(Stop::Failed(2))
            }
        }
    }
}
