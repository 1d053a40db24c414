//! Reads Python as Python: which modules a snippet imports, what it names of them, and what it can do with that.
//!
//! The reader walks the tree once, in the order in which it would run, and keeps for each name what is known of its
//! value: constants are folded, objects of modules are followed through assignments, containers, attributes, `getattr`,
//! calls of the snippet's own functions and the text of `exec`. Loops over constants and calls are run again for their
//! values, within a budget; without it everything is still read once. It is an approximation that errs both ways: what
//! comes from outside can't be known, and no verdict of the sandbox rests on it.

mod abstract_value;
mod arguments;
mod call;
mod capability_table;
mod eval;
mod fold;
mod heuristics;
mod library;
mod names;
mod object;
mod statement;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use ruff_python_ast::ModModule;
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse_unchecked};
use ruff_text_size::{TextRange, TextSize};
use typed_arena::Arena;

use crate::scanners::Capability;
use abstract_value::AbstractValue;
use names::Scope;

/// Maximum number of uses that are kept of one snippet; the rest is dropped.
const MAX_USES: usize = 1000;
const MAX_IMPORTS: usize = 5000;
const MAX_REFERENCES: usize = 20_000;
/// Expressions that are evaluated again for their value: loops over constants, calls of the snippet's own functions.
const MAX_REPLAY_STEPS: u32 = 10_000;
/// Bytes of text that folding may make, beside the length of the source.
const MAX_FOLDED_BYTES: usize = 256 << 10;
/// Texts in texts that are read as code.
const MAX_SOURCE_DEPTH: u32 = 4;

/// A capability that a snippet uses, or seems to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Use {
    /// Capability that the name gives.
    pub capability: Capability,
    /// Rule of the finding, as a word.
    pub rule: &'static str,
    /// Qualified name: `os.system`.
    pub name: String,
    /// Confidence from 0 to 1.
    pub confidence: f64,
    /// Position in the source.
    pub range: TextRange,
}

/// A module that is imported, in whatever way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// Full name of the module; with leading dots if it is relative.
    pub module: String,
    /// Position in the source.
    pub range: TextRange,
    /// Construct that imports it.
    pub form: ImportForm,
}

/// Construct that imports a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImportForm {
    /// An import statement.
    Statement,
    /// A call that imports, or a name that stands for one.
    Call,
}

/// A string that stands in the source, or that folding gives.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    /// Content of the string.
    pub text: Rc<str>,
    /// Position of the expression.
    pub range: TextRange,
    /// Name of the string where it stands.
    pub name: Option<Rc<str>>,
    /// True when only folding reveals the string.
    pub folded: bool,
}

/// Analysis of a snippet's syntax tree.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    /// Imported modules, in order.
    pub imports: Vec<Import>,
    /// Capabilities, in order of appearance.
    pub uses: Vec<Use>,
    /// Qualified names of what is used of modules and builtins.
    pub references: Vec<(Rc<str>, TextRange)>,
    /// Strings of the source, and those that folding gives.
    pub texts: Vec<Text>,
}

/// Reads a snippet. `module` need not be whole: what the parser could make of it is read.
pub(crate) fn analyze(module: &ModModule, source_length: usize) -> Analysis {
    let sources = Arena::new();
    let mut interpreter = Interpreter {
        sources: &sources,
        scopes: vec![Scope::module()],
        here: 0,
        classes: HashSet::new(),
        attributes: HashMap::new(),
        analysis: Analysis::default(),
        reported: HashMap::new(),
        later: VecDeque::new(),
        frames: Vec::new(),
        place: None,
        branches: 0,
        replay_depth: 0,
        steps: MAX_REPLAY_STEPS,
        folding: MAX_FOLDED_BYTES + 8 * source_length,
        sources_deep: 0,
        at: TextRange::default(),
        binding_hint: None,
    };
    interpreter.bind("__doc__", object::document(&module.body));
    interpreter.whole(&module.body);
    interpreter.analysis
}

/// State of the analysis: the scopes and what is known so far.
struct Interpreter<'a> {
    /// Texts that were read as code live as long as the reader.
    sources: &'a Arena<Parsed<ModModule>>,
    scopes: Vec<Scope<'a>>,
    /// The scope that statements are in.
    here: usize,
    /// Names of classes of the snippet.
    classes: HashSet<&'a str>,
    /// Attributes by name, for every object of the snippet's own classes together.
    attributes: HashMap<Rc<str>, AbstractValue<'a>>,
    analysis: Analysis,
    reported: HashMap<(TextSize, Capability, &'static str), usize>,
    /// Bodies of functions, read when the module's own is.
    later: VecDeque<(&'a ruff_python_ast::StmtFunctionDef, usize)>,
    /// Calls that are being evaluated.
    frames: Vec<Frame<'a>>,
    /// Position that findings are reported at, inside a text that is read as code.
    place: Option<TextRange>,
    /// Branches and loops around, in which an assignment may not happen.
    branches: u32,
    /// Depth of replays: above 0, the code that is evaluated was read before.
    replay_depth: u32,
    steps: u32,
    folding: usize,
    sources_deep: u32,
    /// The expression that is being evaluated.
    at: TextRange,
    /// Name of the next string.
    binding_hint: Option<Rc<str>>,
}

#[derive(Default)]
struct Frame<'a> {
    /// The function, to tell recursion.
    function: usize,
    returns: AbstractValue<'a>,
    yields: Vec<AbstractValue<'a>>,
}

impl<'a> Interpreter<'a> {
    /// A body, and then the functions that it defines.
    fn whole(&mut self, body: &'a [ruff_python_ast::Stmt]) {
        self.body(body);
        while let Some((function, scope)) = self.later.pop_front() {
            let here = std::mem::replace(&mut self.here, scope);
            let branches = std::mem::take(&mut self.branches);
            self.uncalled_function(function);
            self.here = here;
            self.branches = branches;
        }
    }

    /// Reads a text that the snippet runs as code, in the scope where it does.
    fn source(&mut self, text: &str, range: TextRange) -> AbstractValue<'a> {
        if self.sources_deep >= MAX_SOURCE_DEPTH
            || proofbox_syntax::nests_too_deep(text, proofbox_syntax::MAX_DEPTH_INLINE)
        {
            return AbstractValue::Unknown;
        }
        let place = self.place.replace(self.place.unwrap_or(range));
        self.sources_deep += 1;
        let options = ParseOptions::from(Mode::Module);
        let text = text.trim_start_matches([' ', '\t', '\n']);
        let mut value = AbstractValue::Unknown;
        if let Some(parsed) = parse_unchecked(text, options).try_into_module() {
            let parsed: &'a Parsed<ModModule> = self.sources.alloc(parsed);
            let body = &parsed.syntax().body;
            if let [ruff_python_ast::Stmt::Expr(only)] = body.as_slice() {
                value = self.eval(&only.value);
            } else {
                self.body(body);
            }
        }
        self.sources_deep -= 1;
        self.place = place;
        value
    }

    /// Tells of a capability, once for each place and way.
    fn tell(&mut self, capability: Capability, rule: &'static str, name: &str, confidence: f64, range: TextRange) {
        let range = self.place.unwrap_or(range);
        let key = (range.start(), capability, rule);
        // Of what begins at one place the surest: `().__class__.__base__.__subclasses__` has three attributes.
        let known = self.reported.get(&key).copied();
        if known.is_some_and(|index| self.analysis.uses[index].confidence >= confidence) {
            return;
        }
        let name = name.chars().take(100).collect();
        let one = Use { capability, rule, name, confidence, range };
        match known {
            Some(index) => self.analysis.uses[index] = one,
            None if self.analysis.uses.len() < MAX_USES => {
                self.reported.insert(key, self.analysis.uses.len());
                self.analysis.uses.push(one);
            }
            None => {}
        }
    }

    /// Tells of all that a table says.
    fn tell_all(&mut self, entries: &[capability_table::Entry], rule: &'static str, name: &str, range: TextRange) {
        for entry in entries {
            self.tell(entry.capability, rule, name, entry.confidence, range);
        }
    }

    /// A module is imported.
    fn import(&mut self, module: &str, range: TextRange, form: ImportForm) {
        self.tell_all(capability_table::of_module(module), "import", module, range);
        let range = self.place.unwrap_or(range);
        let import = Import { module: module.chars().take(200).collect(), range, form };
        if self.analysis.imports.len() < MAX_IMPORTS
            && !self.analysis.imports.iter().rev().take(64).any(|known| *known == import)
        {
            self.analysis.imports.push(import);
        }
    }

    /// A value that folding made, unless that has become too much.
    fn made(&mut self, value: AbstractValue<'a>) -> AbstractValue<'a> {
        let size = match &value {
            AbstractValue::Text(text) => text.len(),
            AbstractValue::Bytes(bytes) => bytes.len(),
            AbstractValue::Sequence(items) => 16 * items.len(),
            AbstractValue::Dict(items) => 32 * items.len(),
            _ => 0,
        };
        if self.spend(size) { value } else { AbstractValue::Unknown }
    }

    /// Returns whether the budget still allows to go through such values.
    fn affords(&mut self, values: &[AbstractValue<'a>]) -> bool {
        let size = values.iter().map(AbstractValue::length).sum();
        self.spend(size)
    }

    /// The items of a value, unless that has become too much.
    fn items(&mut self, value: &AbstractValue<'a>) -> Option<Vec<AbstractValue<'a>>> {
        if self.spend(8 * value.length()) { value.items() } else { None }
    }

    fn spend(&mut self, size: usize) -> bool {
        match self.folding.checked_sub(size) {
            Some(rest) => {
                self.folding = rest;
                true
            }
            None => {
                if self.folding > 0 {
                    self.folding = 0;
                    self.tell(Capability::DynamicCode, "unread", "", 0.5, self.at);
                }
                false
            }
        }
    }

    /// Returns whether the budget still allows to evaluate something again.
    fn may_repeat(&self) -> bool {
        self.steps > 0
    }
}
