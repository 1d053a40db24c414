//! Program `make`, as GNU's is, without its built-in rules.

mod build;
mod function_names;
mod functions;
mod makefile;
mod rules;
mod variables;

use super::options::{Given, Order, read};
use crate::bounds::Held;
use crate::state::{Done, Shell, Stop};
use build::State;
use proofbox_vfs::{FileKind, lock};
use rules::{PatternRule, Target};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use variables::{Automatic, Flavor, Origin, Variable};

/// Exit code of whatever went wrong.
const FAILURE: i32 = 2;
/// Exit code of `-q` when something is out of date.
const OUT_OF_DATE: i32 = 1;
/// Rules of patterns.
const MAX_PATTERNS: usize = 1000;
/// Targets and prerequisites of all rules of patterns: a search looks at all of them, again and again.
const MAX_PATTERN_NAMES: usize = 4000;

/// Names that are compared in a step.
const NAMES_A_STEP: usize = 8;
/// Bytes of text that are read or made in a step.
const BYTES_A_STEP: usize = 256;

const USAGE: &str = "\
Usage: make [options] [target] ...
Options:
  -b, -m                      Ignored for compatibility.
  -B, --always-make           Unconditionally make all targets.
  -C DIRECTORY, --directory=DIRECTORY
                              Change to DIRECTORY before doing anything.
  -e, --environment-overrides
                              Environment variables override makefiles.
  -f FILE, --file=FILE, --makefile=FILE
                              Read FILE as a makefile.
  -h, --help                  Print this message and exit.
  -i, --ignore-errors         Ignore errors from recipes.
  -I DIRECTORY, --include-dir=DIRECTORY
                              Search DIRECTORY for included makefiles.
  -j [N], --jobs[=N]          Ignored: one job at a time.
  -k, --keep-going            Keep going when some targets can't be made.
  -n, --just-print, --dry-run, --recon
                              Don't actually run any recipe; just print them.
  -q, --question              Run no recipe; exit status says if up to date.
  -r, --no-builtin-rules      There are none.
  -s, --silent, --quiet       Don't echo recipes.
  -v, --version               Print the version number of make and exit.
  -w, --print-directory       Print the current directory.
  --no-print-directory        Turn off -w, even if it was turned on implicitly.
";

const LONG_OPTIONS: &[(&str, char)] = &[
    ("always-make", 'B'),
    ("directory", 'C'),
    ("environment-overrides", 'e'),
    ("file", 'f'),
    ("makefile", 'f'),
    ("help", 'h'),
    ("ignore-errors", 'i'),
    ("include-dir", 'I'),
    ("jobs", 'J'),
    ("keep-going", 'k'),
    ("just-print", 'n'),
    ("dry-run", 'n'),
    ("recon", 'n'),
    ("question", 'q'),
    ("no-builtin-rules", 'r'),
    ("no-builtin-variables", 'R'),
    ("silent", 's'),
    ("quiet", 's'),
    ("no-keep-going", 'S'),
    ("version", 'v'),
    ("print-directory", 'w'),
    ("no-print-directory", 'W'),
    ("warn-undefined-variables", 'U'),
    ("output-sync", 'J'),
];

/// Reason why make ends.
#[derive(Debug)]
enum Failure {
    /// Message, complete.
    Fatal(String),
    Memory,
    Stop(Stop),
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

type Result<T> = std::result::Result<T, Failure>;

#[derive(Debug, Default, Clone)]
struct Options {
    is_dry: bool,
    is_silent: bool,
    is_question: bool,
    makes_all: bool,
    keeps_going: bool,
    ignores_errors: bool,
}

struct Make<'s> {
    shell: &'s mut Shell,
    /// Name in messages: `make`, or `make[1]` when another one runs it.
    who: String,
    level: usize,
    options: Options,
    variables: HashMap<String, Variable>,
    automatic: Option<Automatic>,
    /// Variables whose values are being expanded.
    expanding: Vec<String>,
    nesting: usize,
    /// Arguments of the `call` that is being expanded.
    call_arguments: usize,
    exports_all: bool,
    /// Assignments of the command line, for a make that this one runs.
    given: Vec<String>,
    targets: HashMap<String, Target>,
    patterns: Vec<PatternRule>,
    phony: HashSet<String>,
    specials: BTreeMap<String, Vec<String>>,
    default_goal: Option<String>,
    has_rules: bool,
    includes: usize,
    include_directories: Vec<String>,
    /// File and line of what is being read or run.
    position: Option<(Arc<str>, usize)>,
    warnings: Vec<String>,
    states: HashMap<String, State>,
    has_recipe: HashSet<String>,
    /// Commands that were started.
    started: usize,
    held: Held,
}

impl Make<'_> {
    /// Takes memory, which is kept to the end.
    fn grow(&mut self, bytes: usize) -> Result<()> {
        if self.held.grow(bytes) { Ok(()) } else { Err(Failure::Memory) }
    }

    /// Returns what messages begin with.
    fn place(&self) -> String {
        match &self.position {
            Some((file, line)) => format!("{file}:{line}: "),
            None => format!("{}: ", self.who),
        }
    }

    fn fatal<T>(&self, what: &str) -> Result<T> {
        Err(Failure::Fatal(format!("{}*** {what}.  Stop.\n", self.place())))
    }

    fn put_back(&mut self, name: &str, variable: Option<Variable>) {
        match variable {
            Some(variable) => self.variables.insert(name.to_owned(), variable),
            None => self.variables.remove(name),
        };
    }

    fn exists(&self, name: &str) -> bool {
        self.shell.stat(name).is_ok()
    }

    /// Returns the time of the last change of a file; none if there is none.
    fn modified(&self, name: &str) -> Option<u64> {
        self.shell.stat(name).ok().map(|entry| entry.modified)
    }

    /// Returns the files that match patterns.
    async fn wildcard(&mut self, patterns: &str) -> Result<String> {
        let mut all: Vec<String> = Vec::new();
        let mut bytes = 0;
        for pattern in patterns.split_whitespace() {
            for name in self.shell.names_matching(pattern).await? {
                bytes += name.len() + 1;
                all.push(name);
            }
            if bytes > variables::MAX_EXPANSION {
                return Err(Failure::Memory);
            }
        }
        Ok(all.join(" "))
    }

    /// Returns the flags for a make that this one runs.
    fn flags(&self) -> String {
        let letters = [
            ('B', self.options.makes_all),
            ('i', self.options.ignores_errors),
            ('k', self.options.keeps_going),
            ('n', self.options.is_dry),
            ('q', self.options.is_question),
            ('s', self.options.is_silent),
        ];
        let mut flags: String = letters.iter().filter(|(_, is_set)| *is_set).map(|(letter, _)| *letter).collect();
        if !self.given.is_empty() {
            flags.push_str(" -- ");
            flags.push_str(&self.given.join(" "));
        }
        flags
    }

    /// Sets the variables that are there before any makefile is read.
    async fn set_defaults(&mut self, given: &Given, goals: &[String]) -> Result<()> {
        for (name, value) in [
            ("AR", "ar"),
            ("AS", "as"),
            ("CC", "cc"),
            ("CXX", "g++"),
            ("CPP", "$(CC) -E"),
            ("LD", "ld"),
            ("RM", "rm -f"),
            ("MAKE", "$(MAKE_COMMAND)"),
            ("MAKE_COMMAND", "make"),
            ("MAKE_VERSION", "4.3"),
            ("SHELL", "/bin/sh"),
            (".SHELLFLAGS", "-c"),
        ] {
            self.set(name, value, Flavor::Recursive, Origin::Default)?;
        }
        let origin = if given.has('e') { Origin::Override } else { Origin::Environment };
        for (name, value) in self.shell.environment() {
            self.shell.step(1).await?;
            if matches!(name.as_str(), "SHELL" | "MAKEFLAGS" | "MAKELEVEL") {
                continue;
            }
            self.set(&name, &value.replace('$', "$$"), Flavor::Recursive, origin)?;
            if let Some(variable) = self.variables.get_mut(&name) {
                variable.is_exported = true;
            }
        }
        let directory = self.shell.cwd.clone();
        self.set("CURDIR", &directory, Flavor::Simple, Origin::File)?;
        self.set("MAKELEVEL", &self.level.to_string(), Flavor::Simple, Origin::File)?;
        self.set("MAKEFLAGS", &self.flags(), Flavor::Simple, Origin::File)?;
        self.set("MAKECMDGOALS", &goals.join(" "), Flavor::Simple, Origin::Default)?;
        for assignment in self.given.clone() {
            let (name, value) = assignment.split_once('=').unwrap_or((&assignment, ""));
            let (name, flavor) = match name.strip_suffix("::").or_else(|| name.strip_suffix(':')) {
                Some(name) => (name, Flavor::Simple),
                None => (name, Flavor::Recursive),
            };
            let value = if flavor == Flavor::Simple { self.expand(value).await? } else { value.to_owned() };
            self.set(name, &value, flavor, Origin::CommandLine)?;
            if let Some(variable) = self.variables.get_mut(name) {
                variable.is_exported = crate::expand::is_name(name);
            }
        }
        // They are passed on with their blanks behind backslashes.
        self.given = self.given.iter().map(|one| one.replace('\\', "\\\\").replace(' ', "\\ ")).collect();
        Ok(())
    }

    /// Reads the makefiles and makes the goals; the exit code.
    async fn run(&mut self, given: &Given, goals: &[String]) -> Result<i32> {
        self.set_defaults(given, goals).await?;
        let files = given.values('f');
        let mut is_read = !files.is_empty();
        for path in files {
            if !self.read_file(path).await? {
                self.shell.say(&format!("{}: {path}: No such file or directory\n", self.who)).await;
                return self.fatal(&format!("No rule to make target '{path}'"));
            }
        }
        for path in ["GNUmakefile", "makefile", "Makefile"] {
            is_read = is_read || self.read_file(path).await?;
        }
        self.position = None;
        for warning in std::mem::take(&mut self.warnings) {
            self.shell.say(&warning).await;
        }
        let names = self.patterns.iter().map(|rule| rule.targets.len() + rule.prerequisites.len());
        if self.patterns.len() > MAX_PATTERNS || names.sum::<usize>() > MAX_PATTERN_NAMES {
            return self.fatal("too many rules of patterns");
        }
        let chosen = self.value(".DEFAULT_GOAL").await?;
        let chosen = Some(chosen.trim().to_owned()).filter(|goal| !goal.is_empty()).or(self.default_goal.clone());
        let goals = match (goals, chosen) {
            ([], Some(goal)) => vec![goal],
            ([], None) if is_read => return self.fatal("No targets"),
            ([], None) => return self.fatal("No targets specified and no makefile found"),
            (goals, _) => goals.to_vec(),
        };
        let mut is_made = true;
        for goal in &goals {
            let goal = makefile::without_dot(goal);
            if !self.make_goal(goal).await? {
                is_made = false;
                if !self.options.keeps_going {
                    break;
                }
            }
        }
        Ok(match (is_made, self.options.is_question) {
            (true, _) => 0,
            (false, true) => OUT_OF_DATE,
            (false, false) => FAILURE,
        })
    }
}

/// Leaves out `-j` and its number, which need not be there.
fn without_jobs(arguments: &[String]) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut after_jobs = false;
    for argument in arguments {
        let is_number = !argument.is_empty() && argument.bytes().all(|byte| byte.is_ascii_digit());
        if std::mem::take(&mut after_jobs) && is_number {
            continue;
        }
        let jobs = argument.strip_prefix('-').and_then(|letters| letters.split_once('j'));
        match jobs.filter(|(before, _)| before.chars().all(|letter| "bmBehiknqrRsSvw".contains(letter))) {
            None => kept.push(argument.clone()),
            Some((before, after)) => {
                let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
                after_jobs = after.is_empty();
                if !before.is_empty() || !rest.is_empty() {
                    kept.push(format!("-{before}{rest}"));
                }
            }
        }
    }
    kept
}

/// Splits assignments that a make above has passed on: blanks in values are behind backslashes.
fn split_assignments(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut one = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => one.extend(characters.next()),
            ' ' => all.extend(Some(std::mem::take(&mut one)).filter(|one| !one.is_empty())),
            c => one.push(c),
        }
    }
    all.extend(Some(one).filter(|one| !one.is_empty()));
    all
}

pub(super) async fn make(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(&without_jobs(arguments), "bmBC:ef:hiI:JknqrRsSvwWUd", LONG_OPTIONS, Order::Any) {
        Ok(given) => given,
        Err(why) => {
            shell.say(&format!("make: {why}\n{USAGE}")).await;
            return Ok(FAILURE);
        }
    };
    if given.has('h') {
        shell.out("make", USAGE.as_bytes()).await?;
        return Ok(0);
    }
    if given.has('v') {
        shell.out("make", b"GNU Make 4.3\nThis is a small make of the same language.\n").await?;
        return Ok(0);
    }
    let cwd = shell.cwd.clone();
    shell.deeper().await?;
    let done = run_in(shell, &given).await;
    shell.level -= 1;
    shell.cwd = cwd;
    done
}

/// Runs in the directory that is asked for.
async fn run_in(shell: &mut Shell, given: &Given) -> Done {
    let inherited = shell.text_of("MAKEFLAGS").unwrap_or_default().to_string();
    let level = shell.text_of("MAKELEVEL").and_then(|level| level.parse().ok()).unwrap_or(0_usize);
    let who = if level == 0 { "make".to_owned() } else { format!("make[{level}]") };
    for directory in given.values('C') {
        let path = shell.path(directory);
        let found = lock(&shell.tree).stat_followed(&path).map(|entry| entry.kind);
        let why = match found {
            Ok(FileKind::Directory) => {
                shell.cwd = path;
                continue;
            }
            Ok(_) => "Not a directory",
            Err(error) => crate::state::reason(&error),
        };
        shell.say(&format!("{who}: *** {directory}: {why}.  Stop.\n")).await;
        return Ok(FAILURE);
    }
    let (letters, assignments) = inherited.split_once(" -- ").unwrap_or((&inherited, ""));
    let letters = if letters.contains('=') { "" } else { letters };
    let has = |letter| given.has(letter) || letters.contains(letter);
    let options = Options {
        is_dry: has('n'),
        is_silent: has('s'),
        is_question: has('q'),
        makes_all: has('B'),
        keeps_going: has('k') && !given.has('S'),
        ignores_errors: has('i'),
    };
    let (assigned, goals): (Vec<String>, Vec<String>) =
        given.operands.iter().cloned().partition(|operand| operand.contains('='));
    let mut all = split_assignments(assignments);
    all.extend(assigned);
    let shows_directory = given.has('w') || ((given.has('C') || level > 0) && !options.is_silent);
    let shows_directory = shows_directory && !given.has('W');
    let held = shell.shared.used.hold(0).ok_or(Stop::Failed(FAILURE))?;
    let directory = shell.cwd.clone();
    let mut make = Make {
        shell,
        who,
        level,
        options,
        variables: HashMap::new(),
        automatic: None,
        expanding: Vec::new(),
        nesting: 0,
        call_arguments: 0,
        exports_all: false,
        given: all,
        targets: HashMap::new(),
        patterns: Vec::new(),
        phony: HashSet::new(),
        specials: BTreeMap::new(),
        default_goal: None,
        has_rules: false,
        includes: 0,
        include_directories: given.values('I').into_iter().map(str::to_owned).collect(),
        position: None,
        warnings: Vec::new(),
        states: HashMap::new(),
        has_recipe: HashSet::new(),
        started: 0,
        held,
    };
    if shows_directory {
        make.shell.out("make", format!("{}: Entering directory '{directory}'\n", make.who).as_bytes()).await?;
    }
    let code = match make.run(given, &goals).await {
        Ok(code) => code,
        Err(Failure::Fatal(message)) => {
            make.shell.say(&message).await;
            FAILURE
        }
        Err(Failure::Memory) => {
            make.shell.say(&format!("{}: *** virtual memory exhausted.  Stop.\n", make.who)).await;
            FAILURE
        }
        Err(Failure::Stop(Stop::Failed(_))) => FAILURE,
        Err(Failure::Stop(stop)) => return Err(stop),
    };
    if shows_directory {
        make.shell.out("make", format!("{}: Leaving directory '{directory}'\n", make.who).as_bytes()).await?;
    }
    Ok(code)
}
