//! README and docs against the service: settings, limits and classes, the answers to examples; links, headings, paths.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use proofbox_types::status::FailureClass;
use serde_json::{Value, json};

use crate::harness::Server;
use crate::sessions::Session;

/// Fields that differ from run to run, or from image to image: only their types are compared.
const VARYING: [&str; 11] = [
    "id",
    "execution_seconds",
    "cpu_seconds",
    "queue_seconds",
    "fuel_used",
    "peak_memory_bytes",
    "image_hash",
    "image_bytes",
    "initial_memory_bytes",
    "scan_seconds",
    "latency_seconds",
];

/// Pages with examples, and the least number of them: examples that are no longer recognised don't go unnoticed.
const EXAMPLES: [(&str, usize); 11] = [
    ("README.md", 2),
    ("docs/tutorials/first-grading-run.md", 4),
    ("docs/reference/http-api.md", 9),
    ("docs/reference/execute.md", 8),
    ("docs/reference/tests.md", 10),
    ("docs/reference/isolated-grading.md", 6),
    ("docs/reference/policy-packs.md", 6),
    ("docs/reference/sessions.md", 2),
    ("docs/reference/jobs.md", 1),
    ("docs/explanation/policy-gate.md", 2),
    ("docs/explanation/threat-model.md", 2),
];

/// Folders whose files pages name.
const FOLDERS: [&str; 9] =
    ["src/", "crates/", "tests/", "runtimes/", "clients/", "loadtest/", "policies/", "docs/", ".ci/"];

/// Largest number of lines of the README: it is the front door, and everything else is in docs.
const MAX_README_LINES: usize = 200;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn document(name: &str) -> String {
    let path = root().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The cells of the tables below the heading `section`, up to the next heading; header rows included.
fn rows(document: &str, section: &str) -> Vec<Vec<String>> {
    let heading = format!("{section}\n");
    let start = document.find(&heading).unwrap_or_else(|| panic!("no section {section}")) + heading.len();
    let lines =
        document[start..].lines().take_while(|line| !line.starts_with('#')).filter(|line| line.starts_with('|'));
    lines.map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect()).collect()
}

/// The table below `section` that begins with the column `first`, by the cell in that column.
pub(crate) fn table(document: &str, section: &str, first: &str) -> BTreeMap<String, Vec<String>> {
    let rows = rows(document, section);
    let header =
        rows.iter().position(|row| row[0] == first).unwrap_or_else(|| panic!("no table of {first} in {section}"));
    let width = rows[header].len();
    let body = rows[header + 1..].iter().take_while(|row| row.len() == width).filter(|row| !row[0].starts_with("---"));
    body.map(|row| (row[0].clone(), row[1..].to_vec())).collect()
}

/// Returns the output of `proofbox ARGUMENTS --help`.
fn help(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_proofbox"))
        .args(arguments)
        .arg("--help")
        .output()
        .expect("the binary was built for this test");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("help is UTF-8")
}

/// Flag -> (variable, default), as `--help` has them.
fn flags(arguments: &[&str]) -> BTreeMap<String, (String, String)> {
    let help = help(arguments);
    // An entry begins at an indented line whose first or second word is a long flag.
    let mut entries: Vec<String> = Vec::new();
    for line in help.lines() {
        let begins = line.trim_start().starts_with("--")
            || line.trim_start().starts_with("-h,")
            || line.trim_start().starts_with("-V,");
        match entries.last_mut() {
            _ if begins => entries.push(line.trim().to_owned()),
            Some(entry) => *entry = format!("{entry} {}", line.trim()),
            None => {}
        }
    }
    let between = |text: &str, from: &str, to: &str| {
        text.split_once(from)
            .and_then(|(_, rest)| rest.split_once(to))
            .map_or(String::new(), |(found, _)| found.trim().replace('`', ""))
    };
    let long = entries.iter().filter(|entry| entry.starts_with("--"));
    long.map(|entry| {
        let name = entry.split_whitespace().next().expect("it begins with the flag").to_owned();
        (name, (between(entry, "[env:", "="), between(entry, "[default:", "]")))
    })
    .collect()
}

#[test]
fn the_settings_table_has_every_setting_with_its_variable_and_default() {
    let mut expected = flags(&[]);
    expected.extend(flags(&["serve"]));
    let table = table(&document("docs/reference/settings.md"), "## All settings", "flag");
    let shown: BTreeMap<String, (String, String)> =
        table.into_iter().map(|(flag, row)| (flag, (row[0].clone(), row[2].clone()))).collect();
    assert_eq!(shown, expected);
}

/// The commands below a command, but for `help`.
fn subcommands(arguments: &[&str]) -> BTreeSet<String> {
    let help = help(arguments);
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let list = list.take_while(|line| line.is_empty() || line.starts_with(' '));
    // Descriptions that go on in another line are indented more.
    let entries = list.filter_map(|line| line.strip_prefix("  ").filter(|entry| !entry.starts_with(' ')));
    let names = entries.filter_map(|entry| entry.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// The long options that `--help` lists for a command.
fn long_options(arguments: &[&str]) -> BTreeSet<String> {
    let help = help(arguments);
    let entries = help.lines().filter_map(|line| {
        let entry = line.trim_start();
        // Two spaces stand before `-q, --quiet`, six before `--json`, more before descriptions.
        match line.len() - entry.len() {
            2 => Some(entry.split_once(", ")?.1),
            6 => Some(entry),
            _ => None,
        }
    });
    let names = entries.filter_map(|entry| entry.split_whitespace().next());
    names.filter(|name| name.starts_with("--")).map(str::to_owned).collect()
}

/// The long options that a text names.
fn named_options(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
    let is_option =
        |word: &&str| word.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()));
    words.filter(is_option).map(str::to_owned).collect()
}

/// The words that follow `command` in the heading and the code of its section.
fn named_subcommands(section: &str, command: &str) -> BTreeSet<String> {
    let heading = section.lines().next().unwrap_or_default();
    let code = section.split('`').skip(1).step_by(2);
    let found = std::iter::once(heading).chain(code).filter_map(|text| {
        let mut words = text.split_whitespace().skip_while(|word| *word == "proofbox");
        if words.next()? == command { words.next() } else { None }
    });
    found.map(str::to_owned).collect()
}

#[test]
fn the_page_on_the_command_line_has_every_command_and_option() {
    let page = document("docs/reference/cli.md");
    let overview = table(&page, "# Command line", "command");
    let first_word = |text: &str| text.split([' ', ']', '\n']).next().unwrap_or_default().to_owned();
    let commands = subcommands(&[]);
    let shown: BTreeSet<String> = overview.keys().map(|cell| first_word(cell.trim_start_matches('['))).collect();
    assert_eq!(shown, commands, "the table of commands");

    let mut parts = page.split("\n## ");
    let introduction = parts.next().unwrap_or_default();
    let sections: BTreeMap<String, &str> = parts
        .map(|section| (first_word(section.strip_prefix("proofbox ").expect("a section for each command")), section))
        .collect();
    assert_eq!(sections.keys().cloned().collect::<BTreeSet<_>>(), commands, "the sections");

    let general = long_options(&[]);
    let mut all = general.clone();
    for (command, section) in sections {
        let below = subcommands(&[&command]);
        let mut own = long_options(&[&command]);
        for name in &below {
            own.extend(long_options(&[&command, name]));
        }
        all.extend(own.iter().cloned());
        let named = named_options(section);
        let unknown: Vec<&String> = named.difference(&own).collect();
        assert!(unknown.is_empty(), "proofbox {command} has no {unknown:?}");
        // Those of all commands and of `serve` are settings, which have a page.
        let missing: Vec<&String> = own.difference(&named).filter(|option| !general.contains(*option)).collect();
        assert!(command == "serve" || missing.is_empty(), "{missing:?} of proofbox {command} are not described");
        if !below.is_empty() {
            assert_eq!(named_subcommands(section, &command), below, "proofbox {command}");
        }
    }
    let unknown: Vec<String> = named_options(introduction).into_iter().filter(|option| !all.contains(option)).collect();
    assert!(unknown.is_empty(), "there is no {unknown:?}");
}

/// The number of a cell such as `256 MiB`, `150 G`, `30 s` or `4096`.
fn number(cell: &str) -> f64 {
    let (digits, unit) = cell.split_once(' ').unwrap_or((cell, ""));
    let factor = match unit {
        "" | "s" => 1.0,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        "G" => 1e9,
        "T" => 1e12,
        other => panic!("no unit: {other}"),
    };
    digits.parse::<f64>().unwrap_or_else(|_| panic!("no number: {cell}")) * factor
}

#[tokio::test]
async fn the_limits_table_has_every_limit_with_its_range() {
    let (_, policies) = Server::shared().get("/v1/policies").await;
    let policies: Value = serde_json::from_str(&policies).expect("JSON");
    let packs = policies.as_array().expect("a list");
    let policy = packs.iter().find(|pack| pack["name"] == "default").expect("it is always there");
    let page = document("docs/reference/limits.md");
    let shown: BTreeMap<String, Vec<f64>> = table(&page, "## Limits of a run", "limit")
        .into_iter()
        .map(|(limit, row)| (limit, row[..3].iter().map(|cell| number(cell)).collect()))
        .collect();
    let names = policy["default"].as_object().expect("an object").keys();
    let value = |range: &str, name: &str| policy[range][name].as_f64().expect("a number");
    let expected: BTreeMap<String, Vec<f64>> = names
        .map(|name| (name.clone(), ["default", "least", "most"].map(|range| value(range, name)).to_vec()))
        .collect();
    assert_eq!(shown, expected);

    let (_, runtime) = Server::shared().get("/v1/runtime").await;
    let runtime: Value = serde_json::from_str(&runtime).expect("JSON");
    let own = (runtime["initial_memory_bytes"].as_f64().expect("a number") / f64::from(1 << 20)).round();
    assert!(page.contains(&format!("takes {own} MiB of it")), "an interpreter starts with {own} MiB");
}

#[test]
fn every_class_of_failure_is_listed() {
    let shown: BTreeSet<String> =
        table(&document("docs/reference/failure-classes.md"), "## Classes", "stderr_class").into_keys().collect();
    let expected: BTreeSet<String> = FailureClass::ALL.iter().map(|class| class.as_str().to_owned()).collect();
    assert_eq!(shown, expected);
}

/// One `curl` of a document and the answer shown for it.
struct Example {
    path: String,
    body: Option<Value>,
    status: u16,
    answer: Value,
    /// Whether the text says that nothing of it is left out.
    whole: bool,
}

/// Every block of shell that calls curl, with the block of JSON that follows it.
fn examples(document: &str) -> Vec<Example> {
    let mut fences = document.split("\n```");
    let mut examples = Vec::new();
    let mut call: Option<(String, Option<Value>)> = None;
    // Text, block, text, block, …
    while let (Some(text), Some(block)) = (fences.next(), fences.next()) {
        let (info, content) = block.split_once('\n').unwrap_or((block, ""));
        if let Some(url) = content.strip_prefix("curl -s localhost:8080").filter(|_| info == "sh") {
            let (path, rest) = url.split_once(char::is_whitespace).unwrap_or((url, ""));
            let body = rest.split_once('\'').and_then(|(_, rest)| rest.rsplit_once('\''));
            let body =
                body.map(|(body, _)| serde_json::from_str(body).unwrap_or_else(|error| panic!("{body}: {error}")));
            call = Some((path.to_owned(), body));
        } else if let (Some((path, body)), Some(status)) = (call.take(), info.strip_prefix("json")) {
            let status =
                status.trim().strip_prefix("status=").map_or(200, |status| status.parse().expect("a status code"));
            let answer = serde_json::from_str(content).unwrap_or_else(|error| panic!("{content}: {error}"));
            let whole =
                text.trim_end().rsplit("\n\n").next().is_some_and(|last| last.trim().starts_with("The whole answer"));
            examples.push(Example { path, body, status, answer, whole });
        }
    }
    examples
}

/// Whether `real` has everything that `shown` has; where not, the first place.
fn difference(shown: &Value, real: &Value, at: &str) -> Option<String> {
    match (shown, real) {
        (Value::Object(shown), Value::Object(real)) => shown.iter().find_map(|(key, value)| {
            let at = format!("{at}.{key}");
            match real.get(key) {
                None => Some(format!("{at} is not in the answer")),
                Some(real) if VARYING.contains(&key.as_str()) => {
                    (std::mem::discriminant(value) != std::mem::discriminant(real)).then(|| format!("{at} is {real}"))
                }
                Some(real) => difference(value, real, &at),
            }
        }),
        (Value::Array(shown), Value::Array(real)) if shown.len() == real.len() => shown
            .iter()
            .zip(real)
            .enumerate()
            .find_map(|(index, (shown, real))| difference(shown, real, &format!("{at}[{index}]"))),
        (shown, real) => (shown != real).then(|| format!("{at} is {real}, not {shown}")),
    }
}

async fn examples_hold(name: &str, least: usize) {
    let server = Server::shared();
    let examples = examples(&document(name));
    assert!(examples.len() >= least, "{name} has {} examples", examples.len());
    for Example { path, body, status, answer, whole } in examples {
        let path = match path.contains("$SESSION") {
            true => path.replace("$SESSION", &Session::open().await.id),
            false => path,
        };
        let (real_status, real) = match &body {
            Some(body) => server.post(&path, body).await,
            None => {
                let (status, text) = server.get(&path).await;
                (status, serde_json::from_str(&text).unwrap_or_else(|_| json!(text)))
            }
        };
        let request = body.unwrap_or_default();
        assert_eq!(real_status, status, "{name}: {path} {request}\n{real}");
        let back = whole.then(|| difference(&real, &answer, "")).flatten();
        if let Some(difference) = difference(&answer, &real, "").or(back) {
            panic!("{name}: {path} {request}\n{difference}\n{real:#}");
        }
    }
}

#[tokio::test]
async fn examples_get_the_answers_shown() {
    let least: BTreeMap<&str, usize> = EXAMPLES.into_iter().collect();
    let pages = pages();
    assert!(least.keys().all(|page| pages.iter().any(|there| there == page)), "{pages:?}");
    for page in &pages {
        examples_hold(page, least.get(page.as_str()).copied().unwrap_or(0)).await;
    }
}

/// README, CONTRIBUTING and every page of docs, as paths from the root.
fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    let mut directories = vec![PathBuf::from("docs")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(root().join(&directory)).expect("docs can be read") {
            let entry = entry.expect("an entry");
            let path = directory.join(entry.file_name());
            if entry.path().is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path.to_str().expect("UTF-8").to_owned());
            }
        }
    }
    pages.sort();
    pages
}

/// The lines of a page outside its blocks of code.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut in_block = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        !in_block && !is_fence
    })
}

/// The targets of a page's links to other files and to headings.
fn links(page: &str) -> Vec<String> {
    let without_code = prose(page).map(|line| line.split('`').step_by(2).collect::<String>());
    let targets = without_code.flat_map(|line| {
        let after = line.split("](").skip(1);
        after.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect::<Vec<_>>()
    });
    targets.filter(|target| !target.contains("://")).collect()
}

/// The anchors of a page's headings.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for heading in prose(page).filter(|line| line.starts_with('#')) {
        let text = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        let anchor: String = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect();
        let taken = (1..).map(|n| format!("{anchor}-{n}")).find(|other| !anchors.contains(other));
        if !anchors.insert(anchor) {
            anchors.extend(taken);
        }
    }
    anchors
}

/// The file, as a path from the root, and the heading that a link of `page` leads to.
fn resolve(page: &str, link: &str) -> Result<(PathBuf, Option<String>), String> {
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor.to_owned())));
    let from = root().join(page);
    let path = if file.is_empty() { from } else { from.parent().expect("a folder").join(file) };
    let path = path.canonicalize().map_err(|error| format!("{page}: {link}: {error}"))?;
    let root = root().canonicalize().expect("the checkout");
    Ok((path.strip_prefix(root).map_err(|_| format!("{page}: {link}: outside"))?.to_owned(), anchor))
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    for page in pages() {
        for link in links(&document(&page)) {
            match resolve(&page, &link) {
                Err(error) => broken.push(error),
                // The site has no other files.
                Ok((path, _)) if page.starts_with("docs/") && !path.starts_with("docs") => {
                    broken.push(format!("{page}: {link}: name it by its path, it is not in docs"));
                }
                Ok((path, Some(anchor))) if !anchors(&document(path.to_str().expect("UTF-8"))).contains(&anchor) => {
                    broken.push(format!("{page}: {link}: no such heading"));
                }
                Ok(_) => {}
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_summary_has_every_page_once() {
    const SUMMARY: &str = "docs/SUMMARY.md";
    let links = links(&document(SUMMARY)).into_iter().map(|link| resolve(SUMMARY, &link).expect("a page").0);
    let mut listed: Vec<PathBuf> = links.collect();
    listed.sort();
    let mut pages: Vec<PathBuf> = pages().into_iter().map(PathBuf::from).collect();
    pages.retain(|page| page.starts_with("docs") && page != Path::new(SUMMARY));
    pages.sort();
    assert_eq!(listed, pages);
}

#[test]
fn files_that_pages_name_exist() {
    let mut missing = Vec::new();
    for page in pages() {
        let text = document(&page);
        for path in prose(&text).flat_map(|line| line.split('`').skip(1).step_by(2)) {
            let is_plain = !path.contains(|c: char| c.is_whitespace() || "*<>…$".contains(c));
            if is_plain && FOLDERS.iter().any(|folder| path.starts_with(folder)) && !root().join(path).exists() {
                missing.push(format!("{page}: {path}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn the_readme_is_short() {
    let lines = document("README.md").lines().count();
    assert!(lines <= MAX_README_LINES, "{lines} lines");
}
