//! The machine that evaluates filters. What is still to be done with a value is a chain of frames, and what is still to
//! be tried is a stack of forks: there is no recursion, each turn of the machine is counted, and it yields between them.

use super::filter::{Filter, Logical, Node, Pattern};
use super::json::Parser;
use super::native::{self, Native};
use super::operator::Binary;
use super::path::{self, delete_paths, get_path, index, set_path, slice};
use super::shown::{described, shortened};
use super::value::{Failure, Memory, Value};
use crate::bounds::{Held, Pieces};
use crate::regular::Regular;
use crate::state::{Shell, Stop};
use std::sync::Arc;

/// Memory that a frame, a binding or a fork takes, about, in bytes.
const BYTES_A_LINK: usize = 200;

/// A binding, in a chain of those around it.
#[derive(Debug)]
struct Scope {
    binding: Binding,
    outer: Env,
    _held: Held,
}

type Env = Option<Arc<Scope>>;

#[derive(Debug, Clone)]
enum Binding {
    Variable(Value),
    /// A filter that was given as an argument, with where it stands.
    Closure(Filter, Env),
    Function(Filter),
    Label(usize),
}

impl Drop for Scope {
    /// Drops what is around it one by one: chains are longer than the stack is deep.
    fn drop(&mut self) {
        let mut open: Vec<Arc<Self>> = self.links().into_iter().flatten().collect();
        while let Some(next) = open.pop() {
            if let Some(mut scope) = Arc::into_inner(next) {
                open.extend(scope.links().into_iter().flatten());
            }
        }
    }
}

impl Scope {
    fn links(&mut self) -> [Env; 2] {
        let captured = match &mut self.binding {
            Binding::Closure(_, env) => env.take(),
            Binding::Variable(_) | Binding::Function(_) | Binding::Label(_) => None,
        };
        [self.outer.take(), captured]
    }
}

/// The path of a value, as `path(…)` asks for it.
#[derive(Debug, Clone)]
enum Trail {
    /// Nobody asks.
    Off,
    /// The names and indices from the outside in.
    At(Value),
    /// The value is none of the input's.
    Lost,
}

/// A value with its path.
#[derive(Debug, Clone)]
struct Item {
    value: Value,
    trail: Trail,
}

impl Item {
    fn plain(value: Value) -> Self {
        Self { value, trail: Trail::Off }
    }

    /// Another value, which has no path.
    fn replaced(&self, value: Value) -> Self {
        let trail = if matches!(self.trail, Trail::Off) { Trail::Off } else { Trail::Lost };
        Self { value, trail }
    }
}

/// Next step for a value.
#[derive(Debug)]
struct Frame {
    step: Step,
    next: Rest,
    _held: Held,
}

type Rest = Option<Arc<Frame>>;

impl Drop for Frame {
    fn drop(&mut self) {
        let mut open = self.next.take();
        while let Some(next) = open {
            open = Arc::into_inner(next).and_then(|mut frame| frame.next.take());
        }
    }
}

/// Environment of an evaluation: bindings and input.
#[derive(Debug, Clone)]
struct EvaluationPoint {
    env: Env,
    input: Item,
}

#[derive(Debug)]
enum Step {
    Then(Filter, Env),
    Bind {
        pattern: Arc<Pattern>,
        body: Filter,
        place: EvaluationPoint,
    },
    /// The right side of an operator is known.
    Right {
        binary: Binary,
        left: Filter,
        place: EvaluationPoint,
    },
    Left {
        binary: Binary,
        right: Value,
        input: Item,
    },
    Logical {
        logical: Logical,
        right: Filter,
        place: EvaluationPoint,
    },
    Truth(Item),
    If {
        then: Filter,
        other: Filter,
        place: EvaluationPoint,
    },
    Negate(Item),
    IndexTarget {
        index: Filter,
        place: EvaluationPoint,
    },
    IndexBy(Item),
    SliceTarget {
        from: Option<Filter>,
        to: Option<Filter>,
        place: EvaluationPoint,
    },
    SliceFrom {
        target: Item,
        to: Option<Filter>,
        place: EvaluationPoint,
    },
    SliceTo {
        target: Item,
        from: Value,
    },
    Iterate,
    Collect(usize),
    Key {
        entries: Arc<[(Filter, Filter)]>,
        at: usize,
        built: Value,
        place: EvaluationPoint,
    },
    Entry {
        entries: Arc<[(Filter, Filter)]>,
        at: usize,
        key: Value,
        built: Value,
        place: EvaluationPoint,
    },
    Argument {
        native: Native,
        arguments: Arc<[Filter]>,
        values: Vec<Value>,
        place: EvaluationPoint,
    },
    /// A start value of `reduce` or `foreach`.
    Start {
        fold: Arc<Fold>,
        place: EvaluationPoint,
    },
    Source {
        fold: Arc<Fold>,
        slot: usize,
        env: Env,
    },
    Update {
        fold: Arc<Fold>,
        slot: usize,
        env: Env,
        rest: Rest,
    },
    TryEnd(usize),
    Alternative {
        slot: usize,
        number: usize,
    },
    PathEnd(Item),
    ModifyPath(usize),
    ModifyValue {
        slot: usize,
        path: Value,
        forks: usize,
    },
}

/// `reduce` or `foreach`.
#[derive(Debug)]
struct Fold {
    source: Filter,
    pattern: Arc<Pattern>,
    update: Filter,
    /// Filter whose values `foreach` yields.
    extract: Option<Filter>,
}

/// Alternative that is tried when there are no more values of the one before.
enum Fork {
    Evaluate {
        filter: Filter,
        place: EvaluationPoint,
        rest: Rest,
    },
    Iterate {
        item: Item,
        at: usize,
        rest: Rest,
    },
    Range {
        from: f64,
        to: f64,
        by: f64,
        input: Item,
        rest: Rest,
    },
    Matches {
        search: Box<Search>,
        at: usize,
        rest: Rest,
    },
    Try {
        number: usize,
        handler: Option<Filter>,
        env: Env,
        trail: Trail,
        rest: Rest,
    },
    /// End of the reach of a `try`.
    Exited(usize),
    Alternative {
        number: usize,
        slot: usize,
        other: Filter,
        place: EvaluationPoint,
        rest: Rest,
    },
    Label(usize),
    Collected {
        slot: usize,
        input: Item,
        rest: Rest,
    },
    Reduced {
        slot: usize,
        input: Item,
        rest: Rest,
    },
    Folded {
        slot: usize,
    },
    /// Paths of `|=` have been collected: they are changed one by one.
    Modify {
        slot: usize,
        filter: Filter,
        env: Env,
        rest: Rest,
        input: Item,
    },
    /// The filter of `|=` has no value for a path.
    ModifyNone {
        slot: usize,
        path: Value,
    },
}

/// A search for all matches of an expression.
struct Search {
    regular: Regular,
    text: Value,
    all: bool,
    empty: bool,
    names: Vec<Option<String>>,
    input: Item,
}

/// Value that is put together while others come.
enum Slot {
    List(Vec<Value>, Held),
    Value(Option<Value>),
    Found(bool),
    Modify { value: Option<Value>, paths: std::vec::IntoIter<Value>, deleted: Vec<Value> },
}

/// Next action of the machine.
enum Control {
    Evaluate { filter: Filter, place: EvaluationPoint, rest: Rest },
    Return { item: Item, rest: Rest },
    Backtrack,
}

/// Reason why a turn yields no next one.
enum Interrupt {
    Failure(Failure),
    Break(usize),
    Stop(Stop),
}

impl From<Failure> for Interrupt {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<Stop> for Interrupt {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

/// Values that filters may ask for beside their input.
pub(super) struct Inputs<'t> {
    pub(super) text: &'t [u8],
    pub(super) at: usize,
    /// Further values, before those of the text.
    pub(super) waiting: Vec<Value>,
    /// True when each line is a string.
    pub(super) raw: bool,
}

impl Inputs<'_> {
    pub(super) fn next(&mut self, memory: &Memory) -> Result<Option<Value>, Failure> {
        if let Some(value) = self.waiting.pop() {
            return Ok(Some(value));
        }
        if self.raw {
            let rest = &self.text[self.at.min(self.text.len())..];
            if rest.is_empty() {
                return Ok(None);
            }
            let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            self.at += length + 1;
            return memory.string(String::from_utf8_lossy(&rest[..length])).map(Some);
        }
        let mut parser = Parser::new(memory, self.text, self.at);
        let value = parser.next();
        self.at = parser.at;
        if value.is_err() {
            self.at = self.text.len();
        }
        value
    }
}

/// An evaluation, which yields value after value.
pub(super) struct Machine<'a, 't> {
    pub(super) shell: &'a Shell,
    pub(super) memory: Memory,
    pub(super) inputs: &'a mut Inputs<'t>,
    forks: Vec<Fork>,
    forks_held: Held,
    counted: usize,
    slots: Vec<Slot>,
    /// Numbers of `try`s and labels.
    next: usize,
    pub(super) pieces: &'a mut Pieces,
    /// Work that the next turn counts, in pieces.
    owed: u64,
    control: Option<Control>,
}

/// A value of a filter, or how it ended.
pub(super) enum Outcome {
    Value(Value),
    End,
    Failed(Failure),
}

impl<'a, 't> Machine<'a, 't> {
    pub(super) fn new(
        shell: &'a Shell,
        memory: &Memory,
        inputs: &'a mut Inputs<'t>,
        pieces: &'a mut Pieces,
        (filter, variables): (&Filter, &[Value]),
        input: Value,
    ) -> Result<Self, Failure> {
        let mut machine = Self {
            shell,
            memory: memory.clone(),
            inputs,
            forks: Vec::new(),
            forks_held: memory.hold(0)?,
            counted: 0,
            slots: Vec::new(),
            next: 0,
            pieces,
            owed: 0,
            control: None,
        };
        let mut env = None;
        for variable in variables {
            env = machine.bind(Binding::Variable(variable.clone()), env)?;
        }
        let place = EvaluationPoint { env, input: Item::plain(input) };
        machine.control = Some(Control::Evaluate { filter: Arc::clone(filter), place, rest: None });
        Ok(machine)
    }

    /// The next value.
    pub(super) async fn next(&mut self) -> Result<Outcome, Stop> {
        let mut control = self.control.take().unwrap_or(Control::Backtrack);
        loop {
            let owed = 4 + std::mem::take(&mut self.owed);
            self.shell.count_pieces(self.pieces, owed).await?;
            let next = match control {
                Control::Evaluate { filter, place, rest } => self.evaluate(&filter, place, rest),
                Control::Return { item, rest: None } => return Ok(Outcome::Value(item.value)),
                Control::Return { item, rest: Some(frame) } => self.resume(item, &frame),
                Control::Backtrack => match self.forks.pop() {
                    None => return Ok(Outcome::End),
                    Some(fork) => self.retry(fork),
                },
            };
            control = match next {
                Ok(control) => control,
                Err(Interrupt::Stop(stop)) => return Err(stop),
                Err(Interrupt::Failure(Failure::Memory)) => return Ok(Outcome::Failed(Failure::Memory)),
                Err(Interrupt::Failure(Failure::Error(error))) => match self.catch(error.clone()) {
                    Some(control) => control,
                    None => return Ok(Outcome::Failed(Failure::Error(error))),
                },
                Err(Interrupt::Break(number)) => {
                    while let Some(fork) = self.forks.pop() {
                        if matches!(fork, Fork::Label(found) if found == number) {
                            break;
                        }
                        self.abandon(&fork);
                    }
                    Control::Backtrack
                }
            };
        }
    }

    fn bind(&self, binding: Binding, outer: Env) -> Result<Env, Failure> {
        Ok(Some(Arc::new(Scope { binding, outer, _held: self.memory.hold(BYTES_A_LINK)? })))
    }

    fn frame(&self, step: Step, next: Rest) -> Result<Rest, Failure> {
        Ok(Some(Arc::new(Frame { step, next, _held: self.memory.hold(BYTES_A_LINK)? })))
    }

    fn fork(&mut self, fork: Fork) -> Result<(), Failure> {
        self.forks.push(fork);
        let more = self.forks.capacity().saturating_sub(self.counted);
        self.counted += more;
        match self.forks_held.grow(more * BYTES_A_LINK) {
            true => Ok(()),
            false => Err(Failure::Memory),
        }
    }

    fn slot(&mut self, slot: Slot) -> usize {
        self.slots.push(slot);
        self.slots.len() - 1
    }

    fn number(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    /// Frees what a fork that is not tried any more had put together.
    fn abandon(&mut self, fork: &Fork) {
        match fork {
            Fork::Alternative { slot, .. }
            | Fork::Collected { slot, .. }
            | Fork::Reduced { slot, .. }
            | Fork::Folded { slot }
            | Fork::Modify { slot, .. } => self.slots.truncate(*slot),
            _ => {}
        }
    }

    /// Goes on where an error is caught; none: nowhere.
    fn catch(&mut self, error: Value) -> Option<Control> {
        let mut exited = Vec::new();
        while let Some(fork) = self.forks.pop() {
            match fork {
                Fork::Exited(number) => exited.push(number),
                Fork::Try { number, handler, env, trail, rest } if !exited.contains(&number) => {
                    // An error that says so goes on to what is around.
                    let Some(handler) = handler else { return Some(Control::Backtrack) };
                    let trail = if matches!(trail, Trail::Off) { Trail::Off } else { Trail::Lost };
                    let place = EvaluationPoint { env, input: Item { value: error, trail } };
                    return Some(Control::Evaluate { filter: handler, place, rest });
                }
                Fork::Alternative { number, slot, other, place, rest } if !exited.contains(&number) => {
                    let found = matches!(self.slots.get(slot), Some(Slot::Found(true)));
                    self.slots.truncate(slot);
                    return Some(match found {
                        true => Control::Backtrack,
                        false => Control::Evaluate { filter: other, place, rest },
                    });
                }
                fork => self.abandon(&fork),
            }
        }
        None
    }

    fn lookup(&self, env: &Env, out: usize) -> Option<Arc<Scope>> {
        let mut scope = env.as_ref()?;
        for _ in 0..out {
            scope = scope.outer.as_ref()?;
        }
        Some(Arc::clone(scope))
    }

    fn evaluate(&mut self, filter: &Filter, place: EvaluationPoint, rest: Rest) -> Result<Control, Interrupt> {
        let inner = |filter: &Filter, place: &EvaluationPoint| {
            // What only decides has no path.
            let input = Item::plain(place.input.value.clone());
            (Arc::clone(filter), EvaluationPoint { env: place.env.clone(), input })
        };
        let go = |(filter, place): (Filter, EvaluationPoint), rest: Rest| Ok(Control::Evaluate { filter, place, rest });
        match &**filter {
            Node::Identity => Ok(Control::Return { item: place.input, rest }),
            Node::Literal(value) => Ok(Control::Return { item: place.input.replaced(value.clone()), rest }),
            Node::Index(target, by) => {
                let (target, at) = (Arc::clone(target), place.clone());
                let rest = self.frame(Step::IndexTarget { index: Arc::clone(by), place }, rest)?;
                go((target, at), rest)
            }
            Node::Slice(target, from, to) => {
                let (target, at) = (Arc::clone(target), place.clone());
                let rest = self.frame(Step::SliceTarget { from: from.clone(), to: to.clone(), place }, rest)?;
                go((target, at), rest)
            }
            Node::Iterate(target) => {
                let rest = self.frame(Step::Iterate, rest)?;
                go((Arc::clone(target), place), rest)
            }
            Node::Try(body, handler) => {
                let number = self.number();
                self.fork(Fork::Try {
                    number,
                    handler: handler.clone(),
                    env: place.env.clone(),
                    trail: place.input.trail.clone(),
                    rest: rest.clone(),
                })?;
                let rest = self.frame(Step::TryEnd(number), rest)?;
                go((Arc::clone(body), place), rest)
            }
            Node::Array(None) => {
                let value = self.memory.array(Vec::new())?;
                Ok(Control::Return { item: place.input.replaced(value), rest })
            }
            Node::Array(Some(body)) => {
                let slot = Slot::List(Vec::new(), self.memory.hold(0)?);
                let slot = self.slot(slot);
                self.fork(Fork::Collected { slot, input: place.input.clone(), rest })?;
                let rest = self.frame(Step::Collect(slot), None)?;
                go(inner(body, &place), rest)
            }
            Node::Object(entries) => {
                let built = self.memory.object(Default::default())?;
                match entries.first() {
                    None => Ok(Control::Return { item: place.input.replaced(built), rest }),
                    Some((key, _)) => {
                        let next = inner(key, &place);
                        let step = Step::Key { entries: Arc::clone(entries), at: 0, built, place };
                        let rest = self.frame(step, rest)?;
                        go(next, rest)
                    }
                }
            }
            Node::Negate(operand) => {
                let next = inner(operand, &place);
                let rest = self.frame(Step::Negate(place.input), rest)?;
                go(next, rest)
            }
            Node::Pipe(first, second) => {
                let rest = self.frame(Step::Then(Arc::clone(second), place.env.clone()), rest)?;
                go((Arc::clone(first), place), rest)
            }
            Node::Comma(first, second) => {
                self.fork(Fork::Evaluate { filter: Arc::clone(second), place: place.clone(), rest: rest.clone() })?;
                go((Arc::clone(first), place), rest)
            }
            Node::Binary(binary, left, right) => {
                let next = inner(right, &place);
                let rest = self.frame(Step::Right { binary: *binary, left: Arc::clone(left), place }, rest)?;
                go(next, rest)
            }
            Node::Logical(logical, left, right) => {
                let next = inner(left, &place);
                let rest = self.frame(Step::Logical { logical: *logical, right: Arc::clone(right), place }, rest)?;
                go(next, rest)
            }
            Node::Alternative(first, other) => {
                let (number, slot) = (self.number(), self.slot(Slot::Found(false)));
                self.fork(Fork::Alternative {
                    number,
                    slot,
                    other: Arc::clone(other),
                    place: place.clone(),
                    rest: rest.clone(),
                })?;
                let rest = self.frame(Step::Alternative { slot, number }, rest)?;
                go((Arc::clone(first), place), rest)
            }
            Node::If(condition, then, other) => {
                let next = inner(condition, &place);
                let rest = self.frame(Step::If { then: Arc::clone(then), other: Arc::clone(other), place }, rest)?;
                go(next, rest)
            }
            Node::Reduce { source, pattern, start, update } => {
                let (source, pattern, update) = (Arc::clone(source), Arc::clone(pattern), Arc::clone(update));
                let fold = Arc::new(Fold { source, pattern, update, extract: None });
                let next = (Arc::clone(start), place.clone());
                let rest = self.frame(Step::Start { fold, place }, rest)?;
                go(next, rest)
            }
            Node::Foreach { source, pattern, start, update, extract } => {
                let (source, pattern, update) = (Arc::clone(source), Arc::clone(pattern), Arc::clone(update));
                let fold = Arc::new(Fold { source, pattern, update, extract: Some(Arc::clone(extract)) });
                let next = (Arc::clone(start), place.clone());
                let rest = self.frame(Step::Start { fold, place }, rest)?;
                go(next, rest)
            }
            Node::Define(definition, body) => {
                let env = self.bind(Binding::Function(Arc::clone(&definition.body)), place.env)?;
                go((Arc::clone(body), EvaluationPoint { env, input: place.input }), rest)
            }
            Node::Bind { source, pattern, body } => {
                let next = inner(source, &place);
                let step = Step::Bind { pattern: Arc::clone(pattern), body: Arc::clone(body), place };
                let rest = self.frame(step, rest)?;
                go(next, rest)
            }
            Node::Label(body) => {
                let number = self.number();
                self.fork(Fork::Label(number))?;
                let env = self.bind(Binding::Label(number), place.env)?;
                go((Arc::clone(body), EvaluationPoint { env, input: place.input }), rest)
            }
            Node::Break(out) => match self.lookup(&place.env, *out).map(|scope| scope.binding.clone()) {
                Some(Binding::Label(number)) => Err(Interrupt::Break(number)),
                _ => Ok(Control::Backtrack),
            },
            Node::Variable(out) => {
                self.owed += *out as u64 / 8;
                match self.lookup(&place.env, *out).map(|scope| scope.binding.clone()) {
                    Some(Binding::Variable(value)) => Ok(Control::Return { item: place.input.replaced(value), rest }),
                    _ => Ok(Control::Backtrack),
                }
            }
            Node::Call { out, arguments } => {
                let Some(scope) = self.lookup(&place.env, *out) else { return Ok(Control::Backtrack) };
                match scope.binding.clone() {
                    Binding::Closure(filter, env) => go((filter, EvaluationPoint { env, input: place.input }), rest),
                    Binding::Function(body) => {
                        let mut env = Some(scope);
                        for argument in arguments.iter() {
                            env = self.bind(Binding::Closure(Arc::clone(argument), place.env.clone()), env)?;
                        }
                        go((body, EvaluationPoint { env, input: place.input }), rest)
                    }
                    Binding::Variable(_) | Binding::Label(_) => Ok(Control::Backtrack),
                }
            }
            Node::Native(native, arguments) => self.argue(*native, arguments, Vec::new(), place, rest),
            Node::Path(body) => {
                let empty = self.memory.array(Vec::new())?;
                let input = Item { value: place.input.value.clone(), trail: Trail::At(empty) };
                let next = (Arc::clone(body), EvaluationPoint { env: place.env, input });
                let rest = self.frame(Step::PathEnd(place.input), rest)?;
                go(next, rest)
            }
            Node::Modify(paths, filter) => {
                let slot = Slot::List(Vec::new(), self.memory.hold(0)?);
                let slot = self.slot(slot);
                let empty = self.memory.array(Vec::new())?;
                let input = Item { value: place.input.value.clone(), trail: Trail::At(empty) };
                self.fork(Fork::Modify {
                    slot,
                    filter: Arc::clone(filter),
                    env: place.env.clone(),
                    rest,
                    input: place.input,
                })?;
                let next = (Arc::clone(paths), EvaluationPoint { env: place.env, input });
                let rest = self.frame(Step::ModifyPath(slot), None)?;
                go(next, rest)
            }
        }
    }

    /// Evaluates the next argument of a native function, or calls it.
    fn argue(
        &mut self,
        native: Native,
        arguments: &Arc<[Filter]>,
        values: Vec<Value>,
        place: EvaluationPoint,
        rest: Rest,
    ) -> Result<Control, Interrupt> {
        if let Some(argument) = arguments.get(values.len()) {
            let filter = Arc::clone(argument);
            let input = Item::plain(place.input.value.clone());
            let at = EvaluationPoint { env: place.env.clone(), input };
            let rest = self.frame(Step::Argument { native, arguments: Arc::clone(arguments), values, place }, rest)?;
            return Ok(Control::Evaluate { filter, place: at, rest });
        }
        let input = place.input;
        match native {
            Native::Empty => Ok(Control::Backtrack),
            Native::Range => {
                let [from, to, by] = [0, 1, 2].map(|at| match values.get(at) {
                    Some(Value::Number(number)) => Some(*number),
                    _ => None,
                });
                let (Some(from), Some(to), Some(by)) = (from, to, by) else {
                    return Err(self.memory.error("Range bounds must be numeric").into());
                };
                self.fork(Fork::Range { from, to, by, input, rest })?;
                Ok(Control::Backtrack)
            }
            Native::GetPath => {
                let path = values.into_iter().next().unwrap_or(Value::Null);
                let value = get_path(&self.memory, &input.value, &path)?;
                let trail = match &input.trail {
                    Trail::At(before) => Trail::At(path::concat(&self.memory, before, &path)?),
                    trail => trail.clone(),
                };
                Ok(Control::Return { item: Item { value, trail }, rest })
            }
            Native::Match => {
                let search = native::search(&self.memory, &input.value, &values)?;
                let search = Search {
                    regular: search.regular,
                    all: search.all,
                    empty: search.empty,
                    names: search.names,
                    text: input.value.clone(),
                    input,
                };
                self.fork(Fork::Matches { search: Box::new(search), at: 0, rest })?;
                Ok(Control::Backtrack)
            }
            Native::Input => match self.inputs.next(&self.memory)? {
                Some(value) => Ok(Control::Return { item: input.replaced(value), rest }),
                None => Err(self.memory.error("No more inputs").into()),
            },
            native => {
                let most = 1 << 22;
                let weight: usize =
                    std::iter::once(&input.value).chain(&values).map(|value| native.weight(value, most)).sum();
                let value = native::call(self.shell, &self.memory, native, &input.value, &values)?;
                self.owed += weight as u64;
                Ok(Control::Return { item: input.replaced(value), rest })
            }
        }
    }

    /// Goes on with a value.
    fn resume(&mut self, item: Item, frame: &Arc<Frame>) -> Result<Control, Interrupt> {
        let rest = frame.next.clone();
        let inner = |filter: &Filter, place: &EvaluationPoint, rest: Rest| Control::Evaluate {
            filter: Arc::clone(filter),
            place: EvaluationPoint { env: place.env.clone(), input: Item::plain(place.input.value.clone()) },
            rest,
        };
        match &frame.step {
            Step::Then(filter, env) => {
                let place = EvaluationPoint { env: env.clone(), input: item };
                Ok(Control::Evaluate { filter: Arc::clone(filter), place, rest })
            }
            Step::Bind { pattern, body, place } => {
                let env = self.destructure(pattern, &item.value, place.env.clone())?;
                let place = EvaluationPoint { env, input: place.input.clone() };
                Ok(Control::Evaluate { filter: Arc::clone(body), place, rest })
            }
            Step::Right { binary, left, place } => {
                let step = Step::Left { binary: *binary, right: item.value, input: place.input.clone() };
                let rest = self.frame(step, rest)?;
                Ok(inner(left, place, rest))
            }
            Step::Left { binary, right, input } => {
                self.owed += (item.value.weight(1 << 20) + right.weight(1 << 20)) as u64;
                let value = native::binary(&self.memory, *binary, &item.value, right)?;
                Ok(Control::Return { item: input.replaced(value), rest })
            }
            Step::Logical { logical, right, place } => {
                let decided = match logical {
                    Logical::And => !item.value.is_true(),
                    Logical::Or => item.value.is_true(),
                };
                if decided {
                    let value = Value::Bool(*logical == Logical::Or);
                    return Ok(Control::Return { item: place.input.replaced(value), rest });
                }
                let rest = self.frame(Step::Truth(place.input.clone()), rest)?;
                Ok(inner(right, place, rest))
            }
            Step::Truth(input) => Ok(Control::Return { item: input.replaced(Value::Bool(item.value.is_true())), rest }),
            Step::If { then, other, place } => {
                let filter = Arc::clone(if item.value.is_true() { then } else { other });
                Ok(Control::Evaluate { filter, place: place.clone(), rest })
            }
            Step::Negate(input) => match &item.value {
                Value::Number(number) => Ok(Control::Return { item: input.replaced(Value::Number(-number)), rest }),
                value => {
                    let what = format!("{} cannot be negated", described(value));
                    Err(self.memory.error(what).into())
                }
            },
            Step::IndexTarget { index, place } => {
                let rest = self.frame(Step::IndexBy(item), rest)?;
                Ok(inner(index, place, rest))
            }
            Step::IndexBy(target) => {
                let value = index(&self.memory, &target.value, &item.value)?;
                let trail = self.extended(target, item.value)?;
                Ok(Control::Return { item: Item { value, trail }, rest })
            }
            Step::SliceTarget { from, to, place } => match from {
                Some(from) => {
                    let step = Step::SliceFrom { target: item, to: to.clone(), place: place.clone() };
                    let rest = self.frame(step, rest)?;
                    Ok(inner(from, place, rest))
                }
                None => self.slice_to(item, Value::Null, to.as_ref(), place, rest),
            },
            Step::SliceFrom { target, to, place } => {
                self.slice_to(target.clone(), item.value, to.as_ref(), place, rest)
            }
            Step::SliceTo { target, from } => self.sliced(target, from.clone(), item.value, rest),
            Step::Iterate => match &item.value {
                Value::Array(_) | Value::Object(_) => {
                    self.fork(Fork::Iterate { item, at: 0, rest })?;
                    Ok(Control::Backtrack)
                }
                value => {
                    let what = format!("Cannot iterate over {}", described(value));
                    Err(self.memory.error(what).into())
                }
            },
            Step::Collect(slot) => {
                if let Some(Slot::List(values, held)) = self.slots.get_mut(*slot) {
                    let before = values.capacity();
                    values.push(item.value);
                    if !held.grow((values.capacity() - before) * 40) {
                        return Err(Failure::Memory.into());
                    }
                }
                Ok(Control::Backtrack)
            }
            Step::Key { entries, at, built, place } => {
                if item.value.as_str().is_none() {
                    let what = format!("Object keys must be strings, not {}", described(&item.value));
                    return Err(self.memory.error(what).into());
                }
                let step = Step::Entry {
                    entries: Arc::clone(entries),
                    at: *at,
                    key: item.value,
                    built: built.clone(),
                    place: place.clone(),
                };
                let rest = self.frame(step, rest)?;
                Ok(inner(&entries[*at].1, place, rest))
            }
            Step::Entry { entries, at, key, built, place } => {
                self.owed += built.len() as u64;
                let built = set_path(&self.memory, built.clone(), std::slice::from_ref(key), item.value)?;
                match entries.get(at + 1) {
                    None => Ok(Control::Return { item: place.input.replaced(built), rest }),
                    Some((next, _)) => {
                        let step = Step::Key { entries: Arc::clone(entries), at: at + 1, built, place: place.clone() };
                        let rest = self.frame(step, rest)?;
                        Ok(inner(next, place, rest))
                    }
                }
            }
            Step::Argument { native, arguments, values, place } => {
                let mut values = values.clone();
                values.push(item.value);
                self.argue(*native, arguments, values, place.clone(), rest)
            }
            Step::Start { fold, place } => {
                let slot = self.slot(Slot::Value(Some(item.value)));
                let fork = match &fold.extract {
                    None => Fork::Reduced { slot, input: place.input.clone(), rest: rest.clone() },
                    Some(_) => Fork::Folded { slot },
                };
                self.fork(fork)?;
                // `foreach` goes on where it stands, `reduce` at its end.
                let after = if fold.extract.is_some() { rest } else { None };
                let rest = self.frame(Step::Source { fold: Arc::clone(fold), slot, env: place.env.clone() }, after)?;
                Ok(inner(&fold.source, place, rest))
            }
            Step::Source { fold, slot, env } => {
                let env = self.destructure(&fold.pattern, &item.value, env.clone())?;
                let value = match self.slots.get_mut(*slot) {
                    Some(Slot::Value(value)) => value.take().unwrap_or(Value::Null),
                    _ => Value::Null,
                };
                let step = Step::Update { fold: Arc::clone(fold), slot: *slot, env: env.clone(), rest };
                let rest = self.frame(step, None)?;
                let place = EvaluationPoint { env, input: Item::plain(value) };
                Ok(Control::Evaluate { filter: Arc::clone(&fold.update), place, rest })
            }
            Step::Update { fold, slot, env, rest } => {
                if let Some(place) = self.slots.get_mut(*slot) {
                    *place = Slot::Value(Some(item.value.clone()));
                }
                match &fold.extract {
                    None => Ok(Control::Backtrack),
                    Some(extract) => {
                        let place = EvaluationPoint { env: env.clone(), input: item };
                        Ok(Control::Evaluate { filter: Arc::clone(extract), place, rest: rest.clone() })
                    }
                }
            }
            Step::TryEnd(number) => {
                self.fork(Fork::Exited(*number))?;
                Ok(Control::Return { item, rest })
            }
            Step::Alternative { slot, number } => {
                if !item.value.is_true() {
                    return Ok(Control::Backtrack);
                }
                self.slots[*slot] = Slot::Found(true);
                self.fork(Fork::Exited(*number))?;
                Ok(Control::Return { item, rest })
            }
            Step::PathEnd(input) => match item.trail {
                Trail::At(path) => Ok(Control::Return { item: input.replaced(path), rest }),
                Trail::Off | Trail::Lost => Err(self.invalid_path(&item.value).into()),
            },
            Step::ModifyPath(slot) => match (item.trail, self.slots.get_mut(*slot)) {
                (Trail::At(path), Some(Slot::List(paths, held))) => {
                    let before = paths.capacity();
                    paths.push(path);
                    match held.grow((paths.capacity() - before) * 40) {
                        true => Ok(Control::Backtrack),
                        false => Err(Failure::Memory.into()),
                    }
                }
                _ => Err(self.invalid_path(&item.value).into()),
            },
            Step::ModifyValue { slot, path, forks } => {
                // Only the first value counts.
                while self.forks.len() > *forks {
                    if let Some(fork) = self.forks.pop() {
                        self.abandon(&fork);
                    }
                }
                self.modify(*slot, path, Some(item.value))?;
                Ok(Control::Backtrack)
            }
        }
    }

    fn invalid_path(&self, value: &Value) -> Failure {
        self.memory.error(format!("Invalid path expression with result {}", shortened(value)))
    }

    /// The path of what a name or an index leads to.
    fn extended(&self, target: &Item, by: Value) -> Result<Trail, Failure> {
        match &target.trail {
            Trail::Off => Ok(Trail::Off),
            Trail::At(path) => Ok(Trail::At(path::push(&self.memory, path, by)?)),
            Trail::Lost => Err(self.invalid_path(&target.value)),
        }
    }

    fn slice_to(
        &mut self,
        target: Item,
        from: Value,
        to: Option<&Filter>,
        place: &EvaluationPoint,
        rest: Rest,
    ) -> Result<Control, Interrupt> {
        let Some(to) = to else { return self.sliced(&target, from, Value::Null, rest) };
        let rest = self.frame(Step::SliceTo { target, from }, rest)?;
        let input = Item::plain(place.input.value.clone());
        Ok(Control::Evaluate { filter: Arc::clone(to), place: EvaluationPoint { env: place.env.clone(), input }, rest })
    }

    fn sliced(&mut self, target: &Item, from: Value, to: Value, rest: Rest) -> Result<Control, Interrupt> {
        self.owed += target.value.len() as u64 / 8;
        let value = slice(&self.memory, &target.value, &from, &to)?;
        let by = path::range(&self.memory, from, to)?;
        let trail = self.extended(target, by)?;
        Ok(Control::Return { item: Item { value, trail }, rest })
    }

    /// Binds the variables of a pattern.
    fn destructure(&mut self, pattern: &Pattern, value: &Value, env: Env) -> Result<Env, Failure> {
        match pattern {
            Pattern::Variable => self.bind(Binding::Variable(value.clone()), env),
            Pattern::Array(parts) => {
                let mut env = env;
                for (at, part) in parts.iter().enumerate() {
                    let element = index(&self.memory, value, &Value::Number(at as f64))?;
                    env = self.destructure(part, &element, env)?;
                }
                Ok(env)
            }
            Pattern::Object(entries) => {
                let mut env = env;
                for entry in entries {
                    let element = index(&self.memory, value, &entry.name)?;
                    if entry.binds {
                        env = self.bind(Binding::Variable(element.clone()), env)?;
                    }
                    if let Some(pattern) = &entry.pattern {
                        env = self.destructure(pattern, &element, env)?;
                    }
                }
                Ok(env)
            }
        }
    }

    /// Sets what `|=` found for a path, or notes that it is to be removed.
    fn modify(&mut self, slot: usize, at: &Value, found: Option<Value>) -> Result<(), Failure> {
        let Some(Slot::Modify { value, deleted, .. }) = self.slots.get_mut(slot) else { return Ok(()) };
        match found {
            None => deleted.push(at.clone()),
            Some(found) => {
                let before = value.take().unwrap_or(Value::Null);
                *value = Some(set_path(&self.memory, before, path::parts(at), found)?);
            }
        }
        Ok(())
    }

    /// Tries the next of what a fork stands for.
    fn retry(&mut self, fork: Fork) -> Result<Control, Interrupt> {
        match fork {
            Fork::Evaluate { filter, place, rest } => Ok(Control::Evaluate { filter, place, rest }),
            Fork::Iterate { item, at, rest } => {
                let (value, by) = match &item.value {
                    Value::Array(array) => match array.content.get(at) {
                        Some(value) => (value.clone(), Value::Number(at as f64)),
                        None => return Ok(Control::Backtrack),
                    },
                    Value::Object(object) => match object.content.get_index(at) {
                        Some((name, value)) => {
                            let by = if matches!(item.trail, Trail::Off) {
                                Value::Null
                            } else {
                                self.memory.string(&**name)?
                            };
                            (value.clone(), by)
                        }
                        None => return Ok(Control::Backtrack),
                    },
                    _ => return Ok(Control::Backtrack),
                };
                let trail = self.extended(&item, by)?;
                self.fork(Fork::Iterate { item, at: at + 1, rest: rest.clone() })?;
                Ok(Control::Return { item: Item { value, trail }, rest })
            }
            Fork::Range { from, to, by, input, rest } => {
                let goes_on = if by > 0.0 { from < to } else { by < 0.0 && from > to };
                if !goes_on {
                    return Ok(Control::Backtrack);
                }
                let item = input.replaced(Value::Number(from));
                self.fork(Fork::Range { from: from + by, to, by, input, rest: rest.clone() })?;
                Ok(Control::Return { item, rest })
            }
            Fork::Matches { search, at, rest } => {
                let text = search.text.as_str().unwrap_or_default();
                self.owed += 128 * search.regular.steps(text.len().saturating_sub(at));
                let Some(found) = search.regular.captures_at(text.as_bytes(), at) else {
                    return Ok(Control::Backtrack);
                };
                let whole = found.get(0).map(|whole| whole.range()).unwrap_or_default();
                self.owed += whole.end as u64 / 16;
                let skips = whole.is_empty() && !search.empty;
                let value = native::matched(&self.memory, text, &found, &search.names)?;
                drop(found);
                let mut next = if whole.is_empty() { whole.end + 1 } else { whole.end };
                while next < text.len() && !text.is_char_boundary(next) {
                    next += 1;
                }
                let item = search.input.replaced(value);
                if (search.all || skips) && next <= text.len() {
                    self.fork(Fork::Matches { search, at: next, rest: rest.clone() })?;
                }
                match skips {
                    true => Ok(Control::Backtrack),
                    false => Ok(Control::Return { item, rest }),
                }
            }
            Fork::Try { .. } | Fork::Exited(_) | Fork::Label(_) => Ok(Control::Backtrack),
            Fork::Alternative { slot, other, place, rest, .. } => {
                let found = matches!(self.slots.get(slot), Some(Slot::Found(true)));
                self.slots.truncate(slot);
                match found {
                    true => Ok(Control::Backtrack),
                    false => Ok(Control::Evaluate { filter: other, place, rest }),
                }
            }
            Fork::Collected { slot, input, rest } => {
                let values = match self.take_slot(slot) {
                    Some(Slot::List(values, _)) => values,
                    _ => Vec::new(),
                };
                self.owed += values.len() as u64;
                let value = self.memory.array(values)?;
                Ok(Control::Return { item: input.replaced(value), rest })
            }
            Fork::Reduced { slot, input, rest } => {
                let value = match self.take_slot(slot) {
                    Some(Slot::Value(value)) => value.unwrap_or(Value::Null),
                    _ => Value::Null,
                };
                Ok(Control::Return { item: input.replaced(value), rest })
            }
            Fork::Folded { slot } => {
                self.slots.truncate(slot);
                Ok(Control::Backtrack)
            }
            Fork::Modify { slot, filter, env, rest, input } => {
                // The first time the slot holds the paths.
                if let Some(Slot::List(..)) = self.slots.get(slot)
                    && let Some(Slot::List(paths, _)) = self.take_slot(slot)
                {
                    let value = Some(input.value.clone());
                    self.slots.push(Slot::Modify { value, paths: paths.into_iter(), deleted: Vec::new() });
                }
                let next = match self.slots.get_mut(slot) {
                    Some(Slot::Modify { paths, value, .. }) => paths.next().map(|path| (path, value.clone())),
                    _ => None,
                };
                match next {
                    Some((path, value)) => {
                        let value = get_path(&self.memory, &value.unwrap_or(Value::Null), &path)?;
                        let at = EvaluationPoint { env: env.clone(), input: Item::plain(value) };
                        let again = Arc::clone(&filter);
                        self.fork(Fork::Modify { slot, filter, env, rest, input })?;
                        let forks = self.forks.len();
                        self.fork(Fork::ModifyNone { slot, path: path.clone() })?;
                        let rest = self.frame(Step::ModifyValue { slot, path, forks }, None)?;
                        Ok(Control::Evaluate { filter: again, place: at, rest })
                    }
                    None => {
                        let Some(Slot::Modify { value, deleted, .. }) = self.take_slot(slot) else {
                            return Ok(Control::Backtrack);
                        };
                        let value = value.unwrap_or(Value::Null);
                        self.owed += 4 * deleted.len() as u64;
                        let value = delete_paths(&self.memory, value, deleted)?;
                        Ok(Control::Return { item: input.replaced(value), rest })
                    }
                }
            }
            Fork::ModifyNone { slot, path } => {
                self.modify(slot, &path, None)?;
                Ok(Control::Backtrack)
            }
        }
    }

    /// Takes a slot, with all that came after it.
    fn take_slot(&mut self, slot: usize) -> Option<Slot> {
        self.slots.truncate(slot + 1);
        self.slots.pop()
    }
}
