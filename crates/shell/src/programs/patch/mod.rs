//! Program `patch`, for patches in unified format.

mod parse;

use super::destination::make_directories;
use super::input::{Content, lines_of, options};
use crate::bounds::Pieces;
use crate::execute::WriteAt;
use crate::state::{Done, Shell, Stop, absolute, reason};
use crate::streams::Reader;
use parse::{FilePatch, Hunk, Side, parse, parse_plain};
use proofbox_vfs::{FileUse, lock};

/// Lines at either end of a hunk that need not be there.
const MAX_FUZZ: usize = 2;
/// Memory that a line takes beside its text, about, in bytes.
const BYTES_A_LINE: usize = 100;
/// Exit code of trouble beyond hunks that did not fit.
const FAILURE: i32 = 2;

const LONG: &[(&str, char)] = &[
    ("strip", 'p'),
    ("reverse", 'R'),
    ("input", 'i'),
    ("directory", 'd'),
    ("forward", 'N'),
    ("silent", 's'),
    ("quiet", 's'),
    ("output", 'o'),
    ("backup", 'b'),
    ("fuzz", 'F'),
    ("unified", 'u'),
    ("force", 'f'),
    ("batch", 't'),
    ("remove-empty-files", 'E'),
    ("no-backup-if-mismatch", '2'),
    ("dry-run", '1'),
    ("verbose", '3'),
    ("reject-file", 'r'),
];

pub(super) async fn patch(shell: &mut Shell, arguments: &[String]) -> Done {
    match apply_all(shell, arguments).await {
        // 1 would mean that hunks did not fit.
        Err(Stop::Failed(_)) => Err(Stop::Failed(FAILURE)),
        done => done,
    }
}

async fn apply_all(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = options(shell, "patch", arguments, "p:Ri:d:Nso:bF:uftE12l3r:", LONG, FAILURE).await?;
    let directory = given.value('d').map_or_else(|| shell.cwd.clone(), |directory| shell.path(directory));
    if !shell.is_directory(&directory) {
        let why = format!("Can't change to directory {} : No such file or directory", given.value('d').unwrap_or(""));
        return Err(gives_up(shell, &why).await);
    }
    let strip = match given.value('p').map(str::parse::<usize>) {
        None => None,
        Some(Ok(count)) => Some(count),
        Some(Err(_)) => {
            let why = format!("strip count {} is not a number", given.value('p').unwrap_or_default());
            return Err(gives_up(shell, &why).await);
        }
    };
    let fuzz = given.value('F').and_then(|text| text.parse().ok()).unwrap_or(MAX_FUZZ);
    let input = given.value('i').or(given.operands.get(1).map(String::as_str)).unwrap_or("-");
    let opened = match input {
        "-" => Ok(shell.streams.stdin.clone()),
        path => shell.reader_of(&absolute(&directory, path)),
    };
    let reader = match opened {
        Ok(reader) => reader,
        Err(why) => return Err(gives_up(shell, &format!("Can't open patch file {input} : {why}")).await),
    };
    let mut content = Content::read(shell, "patch", reader).await?;
    let count = content.bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
    content.hold(shell, "patch", count * BYTES_A_LINE).await?;
    shell.step(content.bytes.len() as u64 / 512).await?;
    let lines: Vec<&[u8]> = lines_of(&content.bytes).collect();
    let parsed = parse(&lines).and_then(|patches| match (patches.is_empty(), given.operands.first()) {
        (true, Some(name)) => parse_plain(&lines).map(|hunks| FilePatch::plain(name, hunks).into_iter().collect()),
        _ => Ok(patches),
    });
    let patches = match parsed {
        Ok(patches) => patches,
        Err(line) => {
            let text = lines.get(line - 1).map(|line| String::from_utf8_lossy(line).into_owned()).unwrap_or_default();
            let why = match text.is_empty() {
                true => "unexpected end of file in patch".to_owned(),
                false => format!("malformed patch at line {line}: {text}"),
            };
            return Err(gives_up(shell, &why).await);
        }
    };
    if patches.is_empty() {
        // An empty patch changes nothing.
        return match lines.is_empty() {
            true => Ok(0),
            false => Err(gives_up(shell, "Only garbage was found in the patch input.").await),
        };
    }
    let mut application = Application {
        directory,
        strip,
        fuzz,
        operand: given.operands.first().cloned(),
        output: given.value('o').map(str::to_owned),
        reverse: given.has('R'),
        forward: given.has('N') || given.has('t'),
        force: given.has('f'),
        quiet: given.has('s'),
        dry: given.has('1'),
        backup: given.has('b'),
        backup_if_mismatch: !given.has('2'),
        remove_empty: given.has('E'),
        failed: false,
    };
    for patch in &patches {
        application.apply(shell, patch).await?;
    }
    Ok(i32::from(application.failed))
}

/// Says why it can't go on.
async fn gives_up(shell: &Shell, what: &str) -> Stop {
    shell.error("patch", &format!("**** {what}")).await;
    Stop::Failed(FAILURE)
}

struct Application {
    directory: String,
    /// Parts that names lose; none: all but the last.
    strip: Option<usize>,
    fuzz: usize,
    operand: Option<String>,
    output: Option<String>,
    reverse: bool,
    /// True when a patch that is applied already is passed over.
    forward: bool,
    force: bool,
    quiet: bool,
    dry: bool,
    backup: bool,
    backup_if_mismatch: bool,
    remove_empty: bool,
    failed: bool,
}

/// Position and fit of a hunk.
#[derive(Debug, Clone, Copy)]
struct Fit {
    at: usize,
    /// Lines at the beginning and at the end that were not looked at.
    skipped: (usize, usize),
    fuzz: usize,
}

/// File that a patch is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Exists,
    /// The patch makes it, where it is not there.
    MayBeNew,
}

impl Application {
    fn stripped(&self, name: &str) -> String {
        match self.strip {
            None => name.rsplit('/').next().unwrap_or(name).to_owned(),
            Some(0) => name.to_owned(),
            Some(count) => {
                let mut rest = name.trim_start_matches('/');
                for _ in usize::from(name.starts_with('/'))..count {
                    match rest.split_once('/') {
                        Some((_, more)) => rest = more.trim_start_matches('/'),
                        None => return String::new(),
                    }
                }
                rest.to_owned()
            }
        }
    }

    /// Chooses the file that is meant. None: there is none.
    fn choose(&self, shell: &Shell, names: [&str; 2], target: Target) -> Option<String> {
        if let Some(operand) = &self.operand {
            return Some(operand.clone());
        }
        let exists = |name: &str| shell.lstat(&absolute(&self.directory, name)).is_ok();
        let names = names.into_iter().filter(|name| *name != "/dev/null").map(|name| self.stripped(name));
        let mut names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
        // Of names that are there, the one with the fewest parts, then the shortest.
        names.sort_by_key(|name| (!exists(name), name.matches('/').count(), name.len()));
        names.into_iter().next().filter(|name| target == Target::MayBeNew || exists(name))
    }

    async fn say(&self, shell: &Shell, text: &str) -> Result<(), Stop> {
        match self.quiet {
            true => Ok(()),
            false => shell.out("patch", format!("{text}\n").as_bytes()).await,
        }
    }

    async fn apply(&mut self, shell: &Shell, patch: &FilePatch<'_>) -> Result<(), Stop> {
        shell.step(1).await?;
        let mut hunks = patch.hunks.clone();
        let (mut old, mut new) = (patch.old.as_str(), patch.new.as_str());
        let (mut is_new, mut is_gone) = (patch.is_new, patch.is_gone);
        if self.reverse {
            hunks = hunks.iter().map(Hunk::reversed).collect();
            std::mem::swap(&mut old, &mut new);
            std::mem::swap(&mut is_new, &mut is_gone);
        }
        let creates = is_new || hunks.first().is_some_and(|hunk| hunk.old_start == 0);
        let many = if hunks.len() == 1 { "hunk" } else { "hunks" };
        let target = if creates { Target::MayBeNew } else { Target::Exists };
        let Some(name) = self.choose(shell, [old, new], target) else {
            self.failed = true;
            let mut text = format!("can't find file to patch at input line {}\n", patch.line + patch.header.len());
            text.push_str("Perhaps you used the wrong -p or --strip option?\n");
            if self.strip.is_none() {
                text =
                    text.replace("used the wrong -p or --strip option?", "should have used the -p or --strip option?");
            }
            text.push_str("The text leading up to this was:\n--------------------------\n");
            for line in &patch.header {
                text.push('|');
                text.push_str(&String::from_utf8_lossy(line));
            }
            text.push_str("--------------------------\n");
            text.push_str(match self.force {
                true => "No file to patch.  Skipping patch.\n",
                false => "File to patch: \nSkip this patch? [y] \nSkipping patch.\n",
            });
            text.push_str(&format!("{} out of {} {many} ignored", hunks.len(), hunks.len()));
            return shell.out("patch", format!("{text}\n").as_bytes()).await;
        };
        let path = absolute(&self.directory, &name);
        let verb = if self.dry { "checking" } else { "patching" };
        let what = match &self.output {
            Some(output) => format!("{verb} file {output} (read from {name})"),
            None => format!("{verb} file {name}"),
        };
        self.say(shell, &what).await?;
        let mut content = match shell.reader_of(&path) {
            Ok(reader) => Content::read(shell, "patch", reader).await?,
            Err("No such file or directory") if creates => Content::read(shell, "patch", Reader::empty()).await?,
            Err(why) => return Err(gives_up(shell, &format!("Can't open file {name} : {why}")).await),
        };
        let count = content.bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
        content.hold(shell, "patch", count * BYTES_A_LINE + content.bytes.len()).await?;
        let lines: Vec<&[u8]> = lines_of(&content.bytes).collect();
        let mut result: Vec<&[u8]> = Vec::with_capacity(lines.len());
        // Lines that have been taken over, and by how much hunks stood elsewhere than announced.
        let (mut taken, mut offset, mut inexact) = (0_usize, 0_isize, false);
        let mut rejected: Vec<&Hunk<'_>> = Vec::new();
        let mut pieces = Pieces::default();
        for (index, hunk) in hunks.iter().enumerate() {
            let fit = self.find(shell, hunk, &lines, taken, offset, &mut pieces).await?;
            let number = index + 1;
            let Some(fit) = fit else {
                if index == 0 && !self.force {
                    let reversed = hunk.reversed();
                    if self.find(shell, &reversed, &lines, 0, 0, &mut pieces).await?.is_some_and(|fit| fit.fuzz == 0) {
                        let what = match (self.reverse, self.forward) {
                            (false, false) => "Reversed (or previously applied) patch detected!  Assume -R? [n] ",
                            (true, false) => "Unreversed patch detected!  Ignore -R? [n] ",
                            (false, true) => "Reversed (or previously applied) patch detected!  Skipping patch.",
                            (true, true) => "Unreversed patch detected!  Skipping patch.",
                        };
                        shell.out("patch", format!("{what}\n").as_bytes()).await?;
                        if !self.forward {
                            shell.out("patch", b"Apply anyway? [n] \nSkipping patch.\n").await?;
                        }
                        self.failed = true;
                        let all: Vec<&Hunk<'_>> = hunks.iter().collect();
                        return self.reject(shell, patch, &name, &all, "ignored").await;
                    }
                }
                let start = hunk.old_start.saturating_add_signed(offset);
                shell.out("patch", format!("Hunk #{number} FAILED at {}.\n", start.max(1)).as_bytes()).await?;
                rejected.push(hunk);
                continue;
            };
            let before = taken;
            result.extend(&lines[before..fit.at]);
            taken = fit.at;
            let last = hunk.lines.len() - fit.skipped.1;
            for (side, line) in &hunk.lines[fit.skipped.0..last] {
                match side {
                    Side::Both => {
                        result.push(lines[taken]);
                        taken += 1;
                    }
                    Side::Old => taken += 1,
                    Side::New => result.push(line),
                }
            }
            shell.count_pieces(&mut pieces, (taken - before + hunk.lines.len()) as u64).await?;
            let expected = hunk.old_start.saturating_sub(usize::from(hunk.old().next().is_some())) + fit.skipped.0;
            let moved = fit.at as isize - expected as isize;
            let (drift, shown) = (moved - offset, hunk.new_start as isize + moved);
            if fit.fuzz > 0 || drift != 0 {
                inexact = true;
                let fuzz = if fit.fuzz > 0 { format!(" with fuzz {}", fit.fuzz) } else { String::new() };
                let lines = if moved.abs() == 1 { "line" } else { "lines" };
                let by = if moved != 0 { format!(" (offset {moved} {lines})") } else { String::new() };
                self.say(shell, &format!("Hunk #{number} succeeded at {shown}{fuzz}{by}.")).await?;
            }
            offset = moved;
        }
        result.extend(&lines[taken..]);
        let bytes = result.concat();
        drop(result);
        if !self.dry && rejected.len() < hunks.len() {
            let mismatch = self.backup_if_mismatch && (inexact || !rejected.is_empty());
            if (self.backup || mismatch) && self.output.is_none() {
                self.write(shell, &absolute(&self.directory, &format!("{name}.orig")), &content.bytes).await?;
            }
            let removes = bytes.is_empty() && (is_gone || self.remove_empty);
            match &self.output {
                Some(output) => self.write(shell, &absolute(&self.directory, output), &bytes).await?,
                None if removes => {
                    let removed = lock(&shell.tree).remove(&path, shell.now());
                    if let Err(error) = removed {
                        let why = format!("Can't remove file {name} : {}", reason(&error));
                        return Err(gives_up(shell, &why).await);
                    }
                }
                None => self.write(shell, &path, &bytes).await?,
            }
        }
        match rejected.is_empty() {
            true => Ok(()),
            false => {
                self.failed = true;
                self.reject(shell, patch, &name, &rejected, "FAILED").await
            }
        }
    }

    async fn write(&self, shell: &Shell, path: &str, bytes: &[u8]) -> Result<(), Stop> {
        // Whether there is a directory is seen when the file is opened.
        let _ = make_directories(shell, &absolute(path, "..")).await?;
        match shell.writer_of(path, FileUse::Replace, WriteAt::Start) {
            Ok(writer) => shell.write(&writer, "patch", bytes).await,
            Err(why) => Err(gives_up(shell, &format!("Can't create file {path} : {why}")).await),
        }
    }

    /// Tells of hunks that did not fit, and writes them beside the file.
    async fn reject(
        &self,
        shell: &Shell,
        patch: &FilePatch<'_>,
        name: &str,
        hunks: &[&Hunk<'_>],
        verb: &str,
    ) -> Result<(), Stop> {
        let many = if patch.hunks.len() == 1 { "hunk" } else { "hunks" };
        let counts = format!("{} out of {} {many} {verb}", hunks.len(), patch.hunks.len());
        if self.dry {
            return shell.out("patch", format!("{counts}\n").as_bytes()).await;
        }
        let text = format!("{counts} -- saving rejects to file {name}.rej\n");
        shell.out("patch", text.as_bytes()).await?;
        let mut bytes = Vec::new();
        for line in &patch.header {
            bytes.extend(self.header_line(&String::from_utf8_lossy(line)).bytes());
        }
        for hunk in hunks {
            let count =
                |side: Side| hunk.lines.iter().filter(|(found, _)| *found == Side::Both || *found == side).count();
            let (old, new) = (count(Side::Old), count(Side::New));
            bytes.extend(format!("@@ -{},{old} +{},{new} @@\n", hunk.old_start, hunk.new_start).bytes());
            for (side, line) in &hunk.lines {
                bytes.push(match side {
                    Side::Both => b' ',
                    Side::Old => b'-',
                    Side::New => b'+',
                });
                bytes.extend_from_slice(line);
                if !line.ends_with(b"\n") {
                    bytes.extend_from_slice(b"\n\\ No newline at end of file\n");
                }
            }
        }
        self.write(shell, &absolute(&self.directory, &format!("{name}.rej")), &bytes).await
    }

    /// A line of `---` or `+++` with its name stripped.
    fn header_line(&self, line: &str) -> String {
        let (sign, rest) = line.split_at(line.len().min(4));
        let end = rest.find(['\t', '\n']).unwrap_or(rest.len());
        let name = match &rest[..end] {
            "/dev/null" => "/dev/null".to_owned(),
            name => self.stripped(name),
        };
        format!("{sign}{name}{}", &rest[end..])
    }

    /// Looks for the place of a hunk, from where it is expected outwards.
    async fn find(
        &self,
        shell: &Shell,
        hunk: &Hunk<'_>,
        lines: &[&[u8]],
        from: usize,
        offset: isize,
        pieces: &mut Pieces,
    ) -> Result<Option<Fit>, Stop> {
        let old: Vec<&[u8]> = hunk.old().collect();
        let (before, after) = hunk.context();
        let context = before.max(after);
        // A hunk of added lines stands after the line that it names.
        let expected = hunk.old_start.saturating_sub(usize::from(!old.is_empty())).saturating_add_signed(offset);
        for fuzz in 0..=self.fuzz.min(context) {
            let skipped = ((fuzz + before).saturating_sub(context), (fuzz + after).saturating_sub(context));
            if skipped.0 + skipped.1 > old.len() {
                break;
            }
            let wanted = &old[skipped.0..old.len() - skipped.1];
            let Some(last) = lines.len().checked_sub(wanted.len()) else { continue };
            let start = expected.saturating_add(skipped.0);
            // Less context than at the other end: the file begins or ends there.
            let at_start = before < after && fuzz == 0 && hunk.old_start <= 1;
            let at_end = after < before && fuzz == 0;
            for distance in 0..=lines.len() {
                let places = [start.checked_add(distance), start.checked_sub(distance).filter(|_| distance > 0)];
                shell.count_pieces(pieces, 4).await?;
                for at in places.into_iter().flatten().filter(|at| (from..=last).contains(at)) {
                    let fits = wanted.iter().zip(&lines[at..]).take_while(|(wanted, line)| wanted == line).count();
                    shell.count_pieces(pieces, fits as u64).await?;
                    if fits == wanted.len() && !(at_start && at != 0) && !(at_end && at != last) {
                        return Ok(Some(Fit { at, skipped, fuzz }));
                    }
                }
            }
        }
        Ok(None)
    }
}
