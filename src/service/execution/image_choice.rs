//! Choice of the image of a submission, by what the submission imports.
//!
//! The texts of a submission are read for import statements line by line, whatever stands around them: code that can't
//! be parsed, examples in docstrings and code in strings count as well. A name too many costs an image that is larger
//! than needed; a name that is missed is found when the run fails for it ([`ImageChooser::other_image`]).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{ExecuteError, Execution, ImageReason};
use proofbox_runtime::image::Image;
use proofbox_runtime::images::{self, Images};
use proofbox_types::outcome::ErrorReport;
use proofbox_types::program::{File, PythonTests};
use proofbox_types::status::FailureClass;
use proofbox_types::submission::{Submission, Tests};

/// Text of a submission that is read for imports, in bytes; what is beyond is not.
const MAX_BYTES: usize = 4 << 20;
/// Statements of a submission that are read.
const MAX_STATEMENTS: usize = 20_000;
/// Bytes before and after the word of a statement that are read.
const MAX_SPAN: usize = 256;
/// Names that a reason has.
const MAX_NAMES: usize = 8;

/// Knowledge of the images that choices are made by.
#[derive(Debug)]
pub struct ImageChooser {
    default: Arc<Image>,
    /// The other images, the smallest first.
    others: Vec<Arc<Image>>,
    /// Modules that an interpreter has which was not built, with its name.
    unbuilt: BTreeMap<String, String>,
}

impl ImageChooser {
    /// Makes the chooser of a service with these images.
    pub fn new(images: &Images) -> Self {
        let default = Arc::clone(images.default());
        let mut others: Vec<Arc<Image>> = images.all().skip(1).map(Arc::clone).collect();
        others.sort_by_key(|image| (image.initial_memory_bytes, image.packages.len(), image.image_hash.clone()));
        let has = |module: &String| {
            default.imports.contains(module) || others.iter().any(|image| image.imports.contains(module))
        };
        let unbuilt = images::interpreters().iter().filter(|name| images.find(name).is_none());
        let modules =
            unbuilt.flat_map(|name| images::modules_of(name).into_iter().map(|module| (module, name.clone())));
        let unbuilt = modules.filter(|(module, _)| !has(module)).collect();
        Self { default, others, unbuilt }
    }

    /// Chooses the image for a submission that names none.
    pub(super) fn choose(&self, submission: &Submission) -> (Arc<Image>, ImageReason) {
        if self.others.is_empty() && self.unbuilt.is_empty() {
            return (Arc::clone(&self.default), ImageReason::Default);
        }
        let own: BTreeSet<&str> = submission.program.files.iter().filter_map(own_module).collect();
        let imported = imported(submission);
        self.with_modules(&imported.into_iter().filter(|name| !own.contains(name)).collect())
    }

    /// Returns the smallest image that has these modules; where none has them all, the smallest of those with most.
    fn with_modules(&self, modules: &BTreeSet<&str>) -> (Arc<Image>, ImageReason) {
        let lacking: Vec<&str> = modules.iter().copied().filter(|name| !self.default.imports.contains(*name)).collect();
        let count = |image: &Image| lacking.iter().filter(|name| image.imports.contains(**name)).count();
        let best = self.others.iter().enumerate().max_by_key(|(index, image)| (count(image), Reverse(*index)));
        if let Some((_, image)) = best
            && count(image) > 0
        {
            let had = lacking.iter().filter(|name| image.imports.contains(**name)).take(MAX_NAMES);
            return (Arc::clone(image), ImageReason::Imports(had.map(|name| (*name).to_owned()).collect()));
        }
        let unbuilt = lacking.iter().find_map(|name| self.unbuilt.get_key_value(*name));
        let reason = unbuilt.map_or(ImageReason::Default, |(module, image)| ImageReason::Unbuilt {
            module: module.clone(),
            image: image.clone(),
        });
        (Arc::clone(&self.default), reason)
    }

    /// Returns the smallest image that has a module which this one lacks.
    fn with_missing(&self, module: &str, lacks: &Image) -> Option<&Arc<Image>> {
        let known = lacks.imports.contains(module);
        self.others.iter().find(|image| !known && image.imports.contains(module))
    }

    /// Returns whether there is more than one image.
    fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    /// Returns whether the image of a submission is for the service to choose.
    pub(super) fn may_choose(&self, submission: &Submission) -> bool {
        submission.image.as_deref().is_none_or(|name| name == images::AUTO)
    }

    /// Returns whether a run that fails for an import may be repeated in another image.
    pub(super) fn may_run_elsewhere(&self, submission: &Submission) -> bool {
        self.has_others() && self.may_choose(submission)
    }

    /// Returns the image for a new session that begins with this code and these files: the smallest with the modules that
    /// the code imports.
    pub fn for_code(&self, code: &str, files: &[File]) -> Arc<Image> {
        let mut names = BTreeSet::new();
        if self.has_others() && code.len() <= MAX_BYTES {
            imports_in(code, &mut MAX_STATEMENTS.clone(), &mut names);
            for own in files.iter().filter_map(own_module) {
                names.remove(own);
            }
        }
        self.with_modules(&names).0
    }

    /// Returns the image that has the module for whose absence an execution failed.
    pub(super) fn other_image(&self, execution: &Execution) -> Option<(Arc<Image>, ImageReason)> {
        let verdict = &execution.verdict;
        let of_error = verdict.error.iter().filter_map(missing_module);
        let cases = verdict.cases.iter().filter(|case| case.class == FailureClass::MissingDependency);
        let of_cases = cases.filter_map(|case| module_named(case.message.as_deref()?));
        let found = of_error.chain(of_cases).find_map(|module| {
            let image = self.with_missing(module, &execution.image)?;
            Some((image, module))
        });
        found.map(|(image, module)| (Arc::clone(image), ImageReason::Missing(module.to_owned())))
    }
}

/// Returns the image that a client asks for, by name or hash; the default one, where it asks for none.
///
/// # Errors
/// Returns an error when there is no such image.
pub(in crate::service) fn requested_image(images: &Images, asked: Option<&str>) -> Result<Arc<Image>, ExecuteError> {
    const TOLD: usize = 100;
    let unknown = |asked: &str| ExecuteError::UnknownImage {
        asked: asked.chars().take(TOLD).collect(),
        known: images.names().collect::<Vec<_>>().join(", "),
    };
    let Some(asked) = asked.filter(|asked| *asked != images::AUTO) else {
        return Ok(Arc::clone(images.default()));
    };
    images.find(asked).map(Arc::clone).ok_or_else(|| unknown(asked))
}

fn missing_module(error: &ErrorReport) -> Option<&str> {
    (error.class == FailureClass::MissingDependency).then(|| module_named(&error.message)).flatten()
}

/// The module at the top in CPython's message of a failed import.
fn module_named(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("No module named '")?;
    let (module, _) = rest.split_once('\'')?;
    module.split('.').next()
}

/// The module that a file of the request is in: `a` of `a.py`, and of `a/b.py`.
fn own_module(file: &File) -> Option<&str> {
    let path = file.path.strip_prefix("./").unwrap_or(&file.path);
    match path.split_once('/') {
        Some((package, _)) => Some(package),
        None => path.strip_suffix(".py"),
    }
}

/// Names of the modules at the top that a submission imports, its tests among them.
fn imported(submission: &Submission) -> BTreeSet<&str> {
    let mut texts = vec![submission.program.code.as_str()];
    let mut files: Vec<&File> = submission.program.files.iter().collect();
    if let Some(Tests::Python { tests, files: of_tests, .. }) = &submission.tests {
        texts.extend(texts_of(tests));
        files.extend(of_tests);
    }
    if let Some(complexity) = &submission.complexity {
        texts.push(&complexity.generator);
    }
    let python = files.into_iter().filter(|file| file.path.ends_with(".py"));
    texts.extend(python.filter_map(|file| std::str::from_utf8(&file.content).ok()));
    let (mut left, mut statements) = (MAX_BYTES, MAX_STATEMENTS);
    let mut names = BTreeSet::new();
    for text in texts {
        let Some(rest) = left.checked_sub(text.len()) else { continue };
        left = rest;
        imports_in(text, &mut statements, &mut names);
    }
    names
}

fn texts_of(tests: &PythonTests) -> Vec<&str> {
    match tests {
        PythonTests::Asserts { setup, asserts } => std::iter::once(setup).chain(asserts).map(String::as_str).collect(),
        PythonTests::CheckFunction { source, .. } | PythonTests::Script { source } => vec![source],
        PythonTests::Unittest(files) | PythonTests::Pytest(files) => files.source.as_deref().into_iter().collect(),
        PythonTests::Evaluator(evaluator) => vec![&evaluator.source],
        PythonTests::Complexity { generator, .. } => vec![generator],
        PythonTests::FunctionCases { .. } | PythonTests::Doctest => Vec::new(),
    }
}

/// Adds the names of the modules at the top that a text imports, of at most `left` statements.
fn imports_in<'a>(text: &'a str, left: &mut usize, names: &mut BTreeSet<&'a str>) {
    const WORD: &str = "import";
    let in_word = |char: char| char.is_alphanumeric() || char == '_';
    for line in text.lines().filter(|line| line.contains(WORD)) {
        for (at, _) in line.match_indices(WORD).take(*left) {
            *left -= 1;
            let (begin, end) = (at.saturating_sub(MAX_SPAN), at + WORD.len() + MAX_SPAN);
            let before = &line[line.ceil_char_boundary(begin)..at];
            let after = &line[at + WORD.len()..line.floor_char_boundary(end)];
            if before.ends_with(in_word) || after.starts_with(in_word) {
                names.extend(called_with(before, after).and_then(top_level));
                continue;
            }
            let begin = before.rfind([';', ':', '"', '\'', '>', '(']).map_or(0, |at| at + 1);
            let statement = before[begin..].trim_start_matches("...").trim();
            match statement.strip_prefix("from ") {
                Some(module) => names.extend(top_level(module.trim())),
                None if statement.is_empty() => {
                    let end = after.find([';', '#', '"', '\'', ')', '\\']).unwrap_or(after.len());
                    let modules = after[..end].split(',').filter_map(|module| module.split_whitespace().next());
                    names.extend(modules.filter_map(top_level));
                }
                None => {}
            }
        }
    }
}

/// The module in `import_module("…")` and `__import__("…")`, cut at the word.
fn called_with<'a>(before: &str, after: &'a str) -> Option<&'a str> {
    let called = match before.strip_suffix("__") {
        Some(_) => after.strip_prefix("__("),
        None => after.strip_prefix("_module("),
    };
    let literal = called?.trim_start();
    let quote = literal.chars().next().filter(|char| matches!(char, '"' | '\''))?;
    literal[1..].split_once(quote).map(|(module, _)| module)
}

/// The first part of a module's name; none where it is relative, or no name.
fn top_level(module: &str) -> Option<&str> {
    let top = module.split('.').next()?;
    let is_name = !top.is_empty() && top.chars().all(|char| char.is_alphanumeric() || char == '_');
    is_name.then_some(top)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&str> {
        let mut names = BTreeSet::new();
        imports_in(text, &mut MAX_STATEMENTS.clone(), &mut names);
        names.into_iter().collect()
    }

    #[test]
    fn imports_are_found_however_they_are_written() {
        let text = "import a, b.c as d  # import x\nfrom e.f import (g,\n    h)\n    try: import i\nx = 1; import j\n";
        assert_eq!(names(text), ["a", "b", "e", "i", "j"]);
        assert_eq!(names(">>> import k\n... from l import m\n"), ["k", "l"]);
        assert_eq!(names("exec('import n')\nrun([\"-c\", \"from o import p\"])\n"), ["n", "o"]);
        assert_eq!(names("importlib.import_module('q.r')\n__import__(\"s\")\nimport_module(name)"), ["q", "s"]);
        assert_eq!(names("def broken(:\n\timport t;import u\n"), ["t", "u"]);
        assert!(names("from . import v\nfrom .w import x\nimportant = 1\nreimport y\nit is import z\n").is_empty());
    }

    #[test]
    fn a_line_is_read_a_bounded_way() {
        let long = "é".repeat(MAX_SPAN);
        let text = format!("{long}; import a  # {long}\nimport b\nimport c");
        let (mut names, mut left) = (BTreeSet::new(), 2);
        imports_in(&text, &mut left, &mut names);
        assert_eq!((names.into_iter().collect::<Vec<_>>(), left), (vec!["a", "b"], 0));
        // Without the bounds each word is looked at up to both ends of its line: minutes for this one.
        for line in ["import ".repeat(1 << 19), ":import a".repeat(1 << 18)] {
            let (mut names, mut left) = (BTreeSet::new(), MAX_STATEMENTS);
            imports_in(&line, &mut left, &mut names);
            assert_eq!(left, 0);
        }
    }

    #[test]
    fn the_missing_module_is_what_cpython_names() {
        assert_eq!(module_named("ModuleNotFoundError: No module named 'a.b' (not here)"), Some("a"));
        assert_eq!(module_named("No module named 'a"), None);
        assert_eq!(module_named("something else"), None);
    }

    fn image(memory: u64, hash: &str, imports: &[&str]) -> Arc<Image> {
        let mut image = Image::default();
        image.imports.extend(imports.iter().map(|name| (*name).to_owned()));
        hash.clone_into(&mut image.image_hash);
        image.initial_memory_bytes = memory;
        Arc::new(image)
    }

    fn chooser() -> ImageChooser {
        ImageChooser {
            default: image(1, "default", &["numpy"]),
            others: vec![image(1, "own", &["numpy", "rich"]), image(2, "data", &["numpy", "pandas", "PIL"])],
            unbuilt: BTreeMap::from([("torch".to_owned(), "deep".to_owned())]),
        }
    }

    #[test]
    fn the_smallest_image_with_all_imports_is_taken() {
        let chooser = chooser();
        let chosen = |modules: &[&str]| {
            let (image, reason) = chooser.with_modules(&modules.iter().copied().collect());
            (image.image_hash.clone(), reason.to_string())
        };
        let of = |image: &str, reason: &str| (image.to_owned(), reason.to_owned());
        assert_eq!(chosen(&[]), of("default", "default"));
        assert_eq!(chosen(&["numpy", "os", "nowhere"]), of("default", "default"));
        assert_eq!(chosen(&["rich"]), of("own", "imports: rich"));
        assert_eq!(chosen(&["pandas", "numpy"]), of("data", "imports: pandas"));
        assert_eq!(chosen(&["PIL", "pandas", "rich"]), of("data", "imports: PIL, pandas"));
        let (image, reason) = chosen(&["torch"]);
        assert_eq!(image, "default");
        assert!(reason.starts_with("default: torch is in the image `deep`"), "{reason}");
    }

    #[test]
    fn a_failed_import_leads_to_an_image_that_has_it() {
        let chooser = chooser();
        let found = |module: &str, lacks: usize| {
            let all = [&chooser.default, &chooser.others[0], &chooser.others[1]];
            chooser.with_missing(module, all[lacks]).map(|image| image.image_hash.as_str())
        };
        assert_eq!(found("pandas", 0), Some("data"));
        assert_eq!(found("rich", 2), Some("own"));
        // Where the image has it, it failed for something else.
        assert_eq!(found("pandas", 2), None);
        assert_eq!(found("nowhere", 0), None);
    }

    #[test]
    fn a_hidden_reason_names_nothing() {
        let unbuilt = ImageReason::Unbuilt { module: "m".to_owned(), image: "i".to_owned() };
        let reasons = [ImageReason::Imports(vec!["m".to_owned()]), ImageReason::Missing("m".to_owned()), unbuilt];
        for mut reason in reasons {
            reason.hide();
            assert!(matches!(reason.to_string().as_str(), "imports" | "default"), "{reason}");
        }
    }
}
