//! `tar`: archives of files, packed with gzip if asked.

mod create;
mod extract;
mod header;

use super::input::usage;
use super::options::{Given, Order, read};
use crate::expand::pattern::{Lies, Pattern, escape};
use crate::state::{Done, Shell, Stop};

/// Exit code of whatever went wrong.
const FAILURE: i32 = 2;
/// Bytes of what `gzip` keeps, about.
const PACKING_BYTES: usize = 512 << 10;

/// Options that only have long names stand as digits, which no option of `tar` is.
const LETTERS: &str = "cxtvzf:C:pmoO1:2:345";
const LONG: &[(&str, char)] = &[
    ("create", 'c'),
    ("extract", 'x'),
    ("get", 'x'),
    ("list", 't'),
    ("verbose", 'v'),
    ("gzip", 'z'),
    ("gunzip", 'z'),
    ("ungzip", 'z'),
    ("file", 'f'),
    ("directory", 'C'),
    ("touch", 'm'),
    ("to-stdout", 'O'),
    ("exclude", '1'),
    ("strip-components", '2'),
    ("no-wildcards", '3'),
    ("help", '4'),
    ("wildcards", '5'),
    ("overwrite", '5'),
    ("no-same-owner", '5'),
    ("no-same-permissions", '5'),
    ("preserve-permissions", 'p'),
    ("same-permissions", 'p'),
];
const HELP: &str = "\
Usage: tar [OPTION...] [FILE]...
  -c, --create               create a new archive
  -x, --extract              extract files from an archive
  -t, --list                 list the contents of an archive
  -f, --file=ARCHIVE         use archive file ARCHIVE; - is standard input or output
  -C, --directory=DIR        change to directory DIR
  -z, --gzip                 filter the archive through gzip
  -v, --verbose              verbosely list files processed
  -m, --touch                don't extract file modified time
  -O, --to-stdout            extract files to standard output
      --exclude=PATTERN      exclude files, given as a PATTERN
      --no-wildcards         verbatim string matching
      --strip-components=N   strip N leading components from file names on extraction
";

pub(super) async fn tar(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(&dashed(arguments), LETTERS, LONG, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "tar", &why, 64).await),
    };
    if given.has('4') {
        shell.out("tar", HELP.as_bytes()).await?;
        return Ok(0);
    }
    let actions: Vec<char> = "cxt".chars().filter(|action| given.has(*action)).collect();
    let [action] = actions[..] else {
        let why = match actions.is_empty() {
            true => "You must specify one of the '-ctx' options",
            false => "You may not specify more than one '-ctx' option",
        };
        return Err(usage(shell, "tar", why, FAILURE).await);
    };
    let directory = match given.values('C').as_slice() {
        [] => shell.cwd.clone(),
        [directory] if shell.is_directory(directory) => shell.path(directory),
        [directory] => return Err(gives_up(shell, &format!("{directory}: Cannot open: No such directory")).await),
        _ => return Err(gives_up(shell, "More than one -C is not supported").await),
    };
    let excluded = match Excluded::new(&given) {
        Ok(excluded) => excluded,
        Err(why) => return Err(gives_up(shell, &why).await),
    };
    let archive = given.value('f').unwrap_or("-").to_owned();
    let failed = match action {
        'c' => create::create(shell, &given, &archive, &directory, &excluded).await?,
        _ => extract::extract(shell, &given, &archive, &directory, &excluded).await?,
    };
    if failed {
        shell.error("tar", "Exiting with failure status due to previous errors").await;
    }
    Ok(if failed { FAILURE } else { 0 })
}

/// The arguments with a dash before each letter of the first one, as `tar xf FILE` is meant.
fn dashed(arguments: &[String]) -> Vec<String> {
    let Some((bundle, rest)) = arguments.split_first().filter(|(bundle, _)| !bundle.starts_with('-')) else {
        return arguments.to_vec();
    };
    let mut rest = rest.iter();
    let mut all = Vec::new();
    for letter in bundle.chars() {
        all.push(format!("-{letter}"));
        if matches!(letter, 'f' | 'C') {
            all.extend(rest.next().cloned());
        }
    }
    all.extend(rest.cloned());
    all
}

/// Says why it can't go on.
async fn gives_up(shell: &Shell, what: &str) -> Stop {
    shell.error("tar", what).await;
    shell.error("tar", "Error is not recoverable: exiting now").await;
    Stop::Failed(FAILURE)
}

/// Names that `--exclude` leaves out.
struct Excluded {
    patterns: Vec<Pattern>,
}

impl Excluded {
    fn new(given: &Given) -> Result<Self, String> {
        let compiled = |text: &str| {
            let mut pattern = String::new();
            match given.has('3') {
                true => escape(text, &mut pattern),
                false => pattern.push_str(text),
            }
            Pattern::new(pattern.trim_end_matches('/'), Lies::Whole)
        };
        let patterns = given.values('1').into_iter().map(compiled).collect::<Result<_, _>>()?;
        Ok(Self { patterns })
    }

    /// Returns whether a pattern matches the name, or the end of it after a slash.
    async fn has(&self, shell: &Shell, name: &str) -> Result<bool, Stop> {
        let name = name.trim_end_matches('/');
        let starts = || std::iter::once(0).chain(name.match_indices('/').map(|(at, _)| at + 1));
        let tries = (self.patterns.len() * starts().count()) as u64;
        shell.step(tries * (1 + name.len() as u64 / 256)).await?;
        Ok(starts().any(|start| self.patterns.iter().any(|pattern| pattern.is(&name[start..]))))
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::shown;

    fn ok(text: &str) -> (String, String, i32) {
        (text.to_owned(), String::new(), 0)
    }

    const FILES: &str = "mkdir -p d/e; echo a > d/a; echo b > d/e/b; ln -s a d/l";

    #[test]
    fn what_is_packed_comes_back() {
        let ways = [
            "tar -cf x d; tar -xf x -C o",
            "tar cf x d; tar xf x -C o",
            "tar -czf x d; tar xzf x -C o",
            "tar -cz d | tar -xz -C o",
            "tar czf x d; tar --extract --file=x --directory o",
        ];
        for way in ways {
            let script = format!("{FILES}; mkdir o; {way}; cd o; find . | sort; cat d/a d/e/b d/l; readlink d/l");
            assert_eq!(shown(&script), ok(".\n./d\n./d/a\n./d/e\n./d/e/b\n./d/l\na\nb\na\na\n"), "{way}");
        }
    }

    #[test]
    fn names_are_listed_and_chosen() {
        let packed = format!("{FILES}; tar -C d -cf x .");
        assert_eq!(shown(&format!("{packed}; tar -tf x")), ok("./\n./a\n./e/\n./e/b\n./l\n"));
        assert_eq!(shown(&format!("{packed}; mkdir o; tar -xvf x -C o ./e; ls o")), ok("./e/\n./e/b\ne\n"));
        assert_eq!(shown(&format!("{packed}; tar -xOf x ./a ./e/b")), ok("a\nb\n"));
        let (out, errors, code) = shown(&format!("{packed}; tar -tf x nothing"));
        assert_eq!((out.as_str(), code), ("", 2));
        assert!(errors.starts_with("tar: nothing: Not found in archive\n"), "{errors}");
    }

    #[test]
    fn patterns_leave_out_files_and_directories() {
        let without = |how: &str| shown(&format!("{FILES}; tar {how} -C d -cf - . | tar -tf -")).0;
        assert_eq!(without("--exclude=./e"), "./\n./a\n./l\n");
        assert_eq!(without("--exclude e --exclude '[al]'"), "./\n");
        assert_eq!(without("--no-wildcards --exclude='[al]'"), "./\n./a\n./e/\n./e/b\n./l\n");
    }

    #[test]
    fn parts_of_names_can_be_dropped() {
        let script = format!("{FILES}; tar -cf x d; mkdir o; tar -xf x -C o --strip-components=1; find o | sort");
        assert_eq!(shown(&script), ok("o\no/a\no/e\no/e/b\no/l\n"));
    }

    #[test]
    fn no_name_leads_out_of_the_directory() {
        let script = "mkdir -p q/r o; echo x > /tmp/s; tar -cf x /tmp/s 2>/dev/null; tar -xf x -C o; find o | sort";
        assert_eq!(shown(script), ok("o\no/tmp\no/tmp/s\n"));
        let script = "mkdir -p q/r o; echo x > q/s; cd q/r; tar -cf ../../x ../s; cd ../../o; tar -xf ../x; find .";
        let (out, errors, code) = shown(script);
        assert_eq!((out.as_str(), code), (".\n", 0));
        assert!(errors.contains("tar: ../s: Member name contains '..'\n"), "{errors}");
    }

    #[test]
    fn no_entry_goes_through_a_link_that_leads_out() {
        // A link, and then what an archive of a directory of the same name has.
        let link = |target: &str| {
            format!(
                "mkdir -p out a b/d o; ln -s {target} a/d; echo x > b/d/f; chmod 700 b/d; \
                 {{ tar -C a -c d | head -c 512; tar -C b -c d; }} > x; tar -xf x -C o; ls out; stat -c %a out"
            )
        };
        for target in ["\"$PWD/out\"", "../out"] {
            let (out, errors, code) = shown(&link(target));
            assert_eq!((out.as_str(), code), ("755\n", 0), "{errors}");
            assert!(errors.contains("tar: d/f: Cannot open: Not a directory\n"), "{errors}");
        }
        assert_eq!(
            shown(
                "mkdir -p a/e b/d o; ln -s e a/d; echo x > b/d/f; \
            { tar -C a -c d | head -c 512; tar -C b -c d/f; } > x; mkdir o/e; tar -xf x -C o; cat o/e/f"
            ),
            ok("x\n")
        );
    }

    #[test]
    fn long_names_are_kept() {
        let name = "n".repeat(90);
        let script = format!(
            "mkdir -p {name}; echo x > {name}/{name}; tar -cf x {name}; rm -r {name}; tar -xf x; cat {name}/{name}"
        );
        assert_eq!(shown(&script), ok("x\n"));
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        for script in ["echo hello > x; tar -xf x", "seq 1 600 | tar -t", "printf '\\37\\213junk' | tar -tz"] {
            let (out, errors, code) = shown(script);
            assert_eq!((out.as_str(), code), ("", 2), "{script}: {errors}");
        }
        assert_eq!(shown("tar -xf nothing; tar; tar -cx; tar -c -C nothing .").2, 2);
    }
}
