//! Machine that runs the code of bc.

use super::code::{Argument, Binary, Builtin, Code, Comparison, Function, Local, Op, Step, Target, Variable};
use super::failure::Failure;
use super::math;
use super::number::Number;
use super::parser::Tables;
use crate::bounds::{Held, Pace, Pieces};
use crate::programs::input::Lines;
use crate::state::{Shell, Stop};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Largest base, scale and exponent.
const MAX_SETTING: i64 = 2_147_483_647;
/// Elements of an array.
const MAX_ELEMENTS: i64 = 16_777_215;
/// Memory of a call and of an element, without the numbers, in bytes.
const CALL_MEMORY: usize = 300;
const ELEMENT_MEMORY: usize = 64;
/// Small pieces of work that an instruction counts as.
const PIECES_OF_OP: u64 = 8;
/// Characters of a line without a value in the environment.
const LINE_LENGTH: usize = 70;

type Result<T> = std::result::Result<T, Failure>;
type Array = BTreeMap<u64, Number>;

/// Value that a call has put away.
enum Saved {
    Variable(usize, Number),
    Array(usize, Array),
    Alias(usize, usize),
}

impl Saved {
    fn memory(&self) -> usize {
        match self {
            Self::Variable(_, value) => value.memory(),
            Self::Array(_, elements) => elements.values().map(|value| value.memory() + ELEMENT_MEMORY).sum(),
            Self::Alias(..) => 0,
        }
    }
}

/// Call that is running, or the code of the main program.
struct Frame {
    code: Arc<Code>,
    at: usize,
    /// Number of the function; none for the main program.
    function: Option<usize>,
    stack: usize,
    saved: Vec<Saved>,
    /// Memory of the call itself, in bytes.
    memory: usize,
}

/// Target with the index of its element.
enum Resolved {
    Variable(Variable),
    Element(usize, u64),
}

pub(super) struct Machine<'s> {
    shell: &'s Shell,
    stack: Vec<Number>,
    variables: Vec<Number>,
    arrays: Vec<Array>,
    /// Number of the array that a name of one stands for.
    aliases: Vec<usize>,
    functions: Vec<Option<Function>>,
    pub(super) tables: Tables,
    input_base: u32,
    output_base: u32,
    pub(super) scale: usize,
    last: Number,
    /// True when the functions of `-l` are there.
    pub(super) has_library: bool,
    column: usize,
    line_length: usize,
    random: u64,
    memory: usize,
    peak: usize,
    held: Held,
    pieces: Pieces,
}

impl<'s> Machine<'s> {
    pub(super) fn new(shell: &'s Shell) -> std::result::Result<Self, Stop> {
        let line_length = shell.text_of("BC_LINE_LENGTH").and_then(|text| text.trim().parse::<usize>().ok());
        Ok(Self {
            shell,
            stack: Vec::new(),
            variables: Vec::new(),
            arrays: Vec::new(),
            aliases: Vec::new(),
            functions: Vec::new(),
            tables: Tables::default(),
            input_base: 10,
            output_base: 10,
            scale: 0,
            last: Number::default(),
            has_library: false,
            column: 0,
            line_length: line_length.filter(|length| *length == 0 || *length > 2).unwrap_or(LINE_LENGTH),
            random: 1,
            memory: 0,
            peak: 0,
            held: shell.shared.used.hold(0).ok_or(Stop::Failed(1))?,
            pieces: Pieces::default(),
        })
    }

    /// Takes memory for what the program has, its code included.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<()> {
        self.memory += bytes;
        let more = self.memory.saturating_sub(self.peak);
        self.peak += more;
        if more == 0 || self.held.grow(more) { Ok(()) } else { Err(Failure::TooLong) }
    }

    fn discharge(&mut self, bytes: usize) {
        self.memory = self.memory.saturating_sub(bytes);
    }

    /// Makes room for all names that are known by now.
    fn make_room(&mut self) -> Result<()> {
        let (variables, arrays) = (self.tables.variables.names.len(), self.tables.arrays.names.len());
        let more = variables + arrays - self.variables.len() - self.arrays.len();
        self.charge(more * 2 * ELEMENT_MEMORY)?;
        self.variables.resize(variables, Number::default());
        self.aliases.extend(self.arrays.len()..arrays);
        self.arrays.resize(arrays, Array::new());
        self.functions.resize(self.tables.functions.names.len(), None);
        Ok(())
    }

    pub(super) fn define(&mut self, number: usize, function: Function) -> Result<()> {
        self.make_room()?;
        self.functions[number] = Some(function);
        Ok(())
    }

    /// Runs a line of statements.
    pub(super) async fn run(&mut self, code: Code) -> Result<()> {
        self.make_room()?;
        let code = Arc::new(code);
        let mut frames = vec![Frame { code, at: 0, function: None, stack: 0, saved: Vec::new(), memory: 0 }];
        let done = self.run_frames(&mut frames).await;
        while let Some(frame) = frames.pop() {
            self.leave(frame);
        }
        while self.pop_any().is_some() {}
        done
    }

    async fn run_frames(&mut self, frames: &mut Vec<Frame>) -> Result<()> {
        let mut pace = Pace::new();
        while let Some(frame) = frames.last_mut() {
            self.shell.count_pieces(&mut self.pieces, PIECES_OF_OP).await?;
            let Some(op) = frame.code.ops.get(frame.at) else {
                if let Some(frame) = frames.pop() {
                    self.leave(frame);
                }
                continue;
            };
            frame.at += 1;
            match op {
                Op::Jump(target) => frame.at = *target,
                Op::JumpIfZero(target) => {
                    let target = *target;
                    if self.pop().is_zero() {
                        frame.at = target;
                    }
                }
                Op::JumpUnlessZero(target) => {
                    let target = *target;
                    if !self.pop().is_zero() {
                        frame.at = target;
                    }
                }
                Op::Halt => return Err(Failure::Halt),
                Op::Return => {
                    let value = self.pop();
                    let Some(frame) = frames.pop() else { return Ok(()) };
                    while self.stack.len() > frame.stack {
                        self.pop_any();
                    }
                    self.leave(frame);
                    self.push(value)?;
                }
                Op::Call(function, arguments) => {
                    let (function, arguments) = (*function, Arc::clone(arguments));
                    let at = frame_offset(frame);
                    let caller = frame.function;
                    if let Some(frame) = self.call(function, &arguments, caller, at).await? {
                        frames.push(frame);
                    }
                    self.shell.count_paced(&mut pace).await?;
                }
                op => {
                    let (op, at, caller) = (op.clone(), frame_offset(frame), frame.function);
                    self.execute(op, caller, at).await?;
                    self.shell.count_paced(&mut pace).await?;
                }
            }
        }
        Ok(())
    }

    fn pop_any(&mut self) -> Option<Number> {
        let value = self.stack.pop()?;
        self.discharge(value.memory());
        Some(value)
    }

    /// Takes the topmost value. Compiled code has put one there.
    fn pop(&mut self) -> Number {
        self.pop_any().unwrap_or_default()
    }

    fn push(&mut self, value: Number) -> Result<()> {
        self.charge(value.memory())?;
        self.stack.push(value);
        Ok(())
    }

    fn push_number(&mut self, value: u64) -> Result<()> {
        self.push(Number::from(value))
    }

    async fn execute(&mut self, op: Op, caller: Option<usize>, at: usize) -> Result<()> {
        match op {
            Op::Constant(text, value) => match self.input_base {
                10 => self.push(value),
                base => self.push(Number::parse(&text, base)?),
            },
            Op::Load(place) => {
                let place = self.resolve(place, caller, at).await?;
                let value = self.load(&place);
                self.push(value)
            }
            Op::LoadKeepingIndex(array) => {
                let index = self.pop();
                self.push(index.clone())?;
                self.push(index)?;
                let place = self.resolve(Target::Element(array), caller, at).await?;
                let value = self.load(&place);
                self.push(value)
            }
            Op::Store(place) => {
                let value = self.pop();
                let place = self.resolve(place, caller, at).await?;
                self.store(&place, value.clone(), caller, at).await?;
                self.push(value)
            }
            Op::StepFirst(place, step) | Op::StepAfter(place, step) => {
                let resolved = self.resolve(place, caller, at).await?;
                let before = self.load(&resolved);
                let after = match step {
                    Step::Up => before.add(&Number::from(1))?,
                    Step::Down => before.subtract(&Number::from(1))?,
                };
                self.store(&resolved, after.clone(), caller, at).await?;
                self.push(if matches!(op, Op::StepFirst(..)) { after } else { before })
            }
            Op::Binary(binary) => self.compute(binary, caller, at).await,
            Op::Compare(comparison) => {
                let (right, left) = (self.pop(), self.pop());
                let order = left.compare(&right)?;
                let holds = match comparison {
                    Comparison::Less => order == Ordering::Less,
                    Comparison::LessOrEqual => order != Ordering::Greater,
                    Comparison::Equal => order == Ordering::Equal,
                    Comparison::NotEqual => order != Ordering::Equal,
                    Comparison::GreaterOrEqual => order != Ordering::Less,
                    Comparison::Greater => order == Ordering::Greater,
                };
                self.push_number(u64::from(holds))
            }
            Op::Negate => {
                let value = self.pop();
                self.push(value.negated())
            }
            Op::Not => {
                let value = self.pop();
                self.push_number(u64::from(value.is_zero()))
            }
            Op::Duplicate => {
                let value = self.pop();
                self.push(value.clone())?;
                self.push(value)
            }
            Op::Pop => {
                self.pop();
                Ok(())
            }
            Op::Builtin(builtin) => self.call_builtin(builtin, caller, at).await,
            Op::Show | Op::Print => {
                let value = self.pop();
                let mut text = value.render(self.output_base);
                if matches!(op, Op::Show) {
                    text.push('\n');
                }
                self.store(&Resolved::Variable(Variable::Last), value, caller, at).await?;
                self.write(&text).await
            }
            Op::Text { text, escapes: false } => self.write(&text).await,
            Op::Text { text, escapes: true } => self.write(&unescape(&text)).await,
            // These are those of `run_frames`.
            Op::Jump(_) | Op::JumpIfZero(_) | Op::JumpUnlessZero(_) | Op::Halt | Op::Return | Op::Call(..) => Ok(()),
        }
    }

    async fn compute(&mut self, binary: Binary, caller: Option<usize>, at: usize) -> Result<()> {
        let (right, left) = (self.pop(), self.pop());
        let scale = self.scale;
        let value = match binary {
            Binary::Add => left.add(&right)?,
            Binary::Subtract => left.subtract(&right)?,
            Binary::Multiply => left.multiply(&right, scale)?,
            Binary::Divide => match left.divide(&right, scale)? {
                Some(value) => value,
                None => return self.fail(caller, at, "Divide by zero").await,
            },
            Binary::Modulo => match left.modulo(&right, scale)? {
                Some(value) => value,
                None => return self.fail(caller, at, "Modulo by zero").await,
            },
            Binary::Power => {
                if right.has_fraction() {
                    self.warn(caller, at, "non-zero scale in exponent").await;
                }
                let Some(exponent) = right.to_i64().filter(|exponent| exponent.abs() <= MAX_SETTING) else {
                    return self.fail(caller, at, "exponent too large in raise").await;
                };
                match left.power(exponent, scale)? {
                    Some(value) => value,
                    None => return self.fail(caller, at, "divide by zero").await,
                }
            }
        };
        self.push(value)
    }

    async fn call_builtin(&mut self, builtin: Builtin, caller: Option<usize>, at: usize) -> Result<()> {
        match builtin {
            Builtin::Length => {
                let length = self.pop().length();
                self.push_number(length as u64)
            }
            Builtin::Scale => {
                let scale = self.pop().scale();
                self.push_number(scale as u64)
            }
            Builtin::SquareRoot => match self.pop().square_root(self.scale)? {
                Some(root) => self.push(root),
                None => self.fail(caller, at, "Square root of a negative number").await,
            },
            Builtin::Read => {
                let mut lines = Lines::new(self.shell, self.shell.streams.stdin.clone())?;
                lines.next(self.shell, "bc").await?;
                let text = String::from_utf8_lossy(&lines.line).into_owned();
                let text = text.trim();
                let digits = text.trim_start_matches(['-', '+']);
                let digits = &digits[..digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len())];
                let value = Number::parse(digits, self.input_base)?;
                self.push(if text.starts_with('-') { value.negated() } else { value })
            }
            Builtin::Random => {
                self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                self.push_number(self.random >> 33)
            }
        }
    }

    /// Begins a call; none for a function of the library, which has been run.
    async fn call(
        &mut self,
        number: usize,
        arguments: &[Argument],
        caller: Option<usize>,
        at: usize,
    ) -> Result<Option<Frame>> {
        // Where GNU's code has the function's number.
        let named_at = at.saturating_sub(arguments.len() + 1);
        let Some(function) = self.functions.get(number).cloned().flatten() else {
            let name = Arc::clone(&self.tables.functions.names[number]);
            if self.has_library && self.call_library(&name, arguments, caller, at).await? {
                return Ok(None);
            }
            return self.fail(caller, named_at, &format!("Function {name} not defined.")).await;
        };
        if function.parameters.len() != arguments.len() {
            let compared = (function.parameters.len() + 1).min(arguments.len() + 1);
            return self.fail(caller, named_at + compared, "Parameter number mismatch").await;
        }
        let memory = CALL_MEMORY + (arguments.len() + function.locals.len()) * 2 * ELEMENT_MEMORY;
        self.charge(memory)?;
        // What is passed is taken before anything is put away.
        let mut passed = Vec::new();
        for (parameter, argument) in function.parameters.iter().zip(arguments).rev() {
            passed.push(match (parameter, argument) {
                (Local::Variable(variable), Argument::Value) => Saved::Variable(*variable, self.pop()),
                (Local::Array(array), Argument::Array(given)) => {
                    let elements = self.arrays[self.aliases[*given]].clone();
                    self.shell.step(elements.len() as u64 / 8).await?;
                    Saved::Array(*array, elements)
                }
                (Local::Reference(array), Argument::Array(given)) => Saved::Alias(*array, self.aliases[*given]),
                (Local::Variable(variable), Argument::Array(_)) => {
                    let name = &self.tables.variables.names[*variable];
                    let what = format!("Parameter type mismatch, parameter {name}.");
                    return self.fail(caller, at, &what).await;
                }
                (Local::Array(array) | Local::Reference(array), Argument::Value) => {
                    let name = &self.tables.arrays.names[*array];
                    let what = format!("Parameter type mismatch, parameter {name}.");
                    return self.fail(caller, at, &what).await;
                }
            });
        }
        let mut frame = Frame {
            code: Arc::clone(&function.code),
            at: 0,
            function: Some(number),
            stack: self.stack.len(),
            saved: Vec::with_capacity(passed.len() + function.locals.len()),
            memory,
        };
        let locals = function.locals.iter().map(|local| match local {
            Local::Variable(variable) => Saved::Variable(*variable, Number::default()),
            Local::Array(array) | Local::Reference(array) => Saved::Array(*array, Array::new()),
        });
        for new in passed.into_iter().rev().chain(locals) {
            let bytes = new.memory();
            if let Saved::Array(array, _) = new {
                // A name that stands for an array of a caller has one of its own in this call.
                frame.saved.push(self.exchange(Saved::Alias(array, array)));
            }
            frame.saved.push(self.exchange(new));
            self.charge(bytes)?;
        }
        Ok(Some(frame))
    }

    /// Sets a value, and returns the one that was there.
    fn exchange(&mut self, new: Saved) -> Saved {
        match new {
            Saved::Variable(variable, value) => {
                Saved::Variable(variable, std::mem::replace(&mut self.variables[variable], value))
            }
            Saved::Array(array, elements) => Saved::Array(array, std::mem::replace(&mut self.arrays[array], elements)),
            Saved::Alias(array, target) => Saved::Alias(array, std::mem::replace(&mut self.aliases[array], target)),
        }
    }

    /// Ends a call: what it put away is put back.
    fn leave(&mut self, frame: Frame) {
        self.discharge(frame.memory);
        for saved in frame.saved.into_iter().rev() {
            let bytes = self.exchange(saved).memory();
            self.discharge(bytes);
        }
    }

    /// Runs a function of the library. False: there is none of that name.
    async fn call_library(
        &mut self,
        name: &str,
        arguments: &[Argument],
        caller: Option<usize>,
        at: usize,
    ) -> Result<bool> {
        let count = match name {
            "s" | "c" | "a" | "l" | "e" => 1,
            "j" => 2,
            _ => return Ok(false),
        };
        if arguments.len() != count || arguments.iter().any(|argument| *argument != Argument::Value) {
            let named_at = at.saturating_sub(arguments.len() + 1);
            let compared = (count + 1).min(arguments.len() + 1);
            return self.fail(caller, named_at + compared, "Parameter number mismatch").await;
        }
        let (value, scale) = (self.pop(), self.scale);
        let result = match name {
            "s" => math::sine(self.shell, &value, scale).await,
            "c" => math::cosine(self.shell, &value, scale).await,
            "a" => math::arc_tangent(self.shell, &value, scale).await,
            "l" => math::logarithm(self.shell, &value, scale).await,
            "e" => math::exponential(self.shell, &value, scale).await,
            _ => {
                let order = self.pop();
                math::bessel(self.shell, &order, &value, scale).await
            }
        };
        self.push(result?)?;
        Ok(true)
    }

    /// Finds the element that a place is, whose index is on the stack.
    async fn resolve(&mut self, place: Target, caller: Option<usize>, at: usize) -> Result<Resolved> {
        match place {
            Target::Variable(variable) => Ok(Resolved::Variable(variable)),
            Target::Element(array) => {
                let index = self.pop().to_i64().filter(|index| (0..=MAX_ELEMENTS).contains(index));
                let Some(index) = index else {
                    let name = &self.tables.arrays.names[array];
                    let what = format!("Array {name} subscript out of bounds.");
                    return self.fail(caller, at, &what).await;
                };
                Ok(Resolved::Element(self.aliases[array], index as u64))
            }
        }
    }

    fn load(&self, place: &Resolved) -> Number {
        match place {
            Resolved::Variable(variable) => match variable {
                Variable::InputBase => Number::from(u64::from(self.input_base)),
                Variable::OutputBase => Number::from(u64::from(self.output_base)),
                Variable::Scale => Number::from(self.scale as u64),
                Variable::Last => self.last.clone(),
                Variable::History => Number::default(),
                Variable::Plain(number) => self.variables[*number].clone(),
            },
            Resolved::Element(array, index) => self.arrays[*array].get(index).cloned().unwrap_or_default(),
        }
    }

    async fn store(&mut self, place: &Resolved, value: Number, caller: Option<usize>, at: usize) -> Result<()> {
        let variable = match place {
            Resolved::Element(array, index) => {
                self.charge(value.memory() + ELEMENT_MEMORY)?;
                if let Some(before) = self.arrays[*array].insert(*index, value) {
                    self.discharge(before.memory() + ELEMENT_MEMORY);
                }
                return Ok(());
            }
            Resolved::Variable(variable) => *variable,
        };
        let (name, least, most) = match variable {
            Variable::Plain(number) => {
                self.charge(value.memory())?;
                let before = std::mem::replace(&mut self.variables[number], value);
                self.discharge(before.memory());
                return Ok(());
            }
            Variable::Last => {
                self.charge(value.memory())?;
                let before = std::mem::replace(&mut self.last, value);
                self.discharge(before.memory());
                return Ok(());
            }
            Variable::History => return Ok(()),
            Variable::InputBase => ("ibase", 2, 36),
            Variable::OutputBase => ("obase", 2, MAX_SETTING),
            Variable::Scale => ("scale", 0, MAX_SETTING),
        };
        let wanted = value.to_i64().unwrap_or(if value.is_negative() { i64::MIN } else { i64::MAX });
        let taken = wanted.clamp(least, most);
        if wanted < least && least == 0 {
            self.warn(caller, at, "negative scale, set to 0").await;
        } else if wanted != taken {
            let side = if wanted < least { "small" } else { "large" };
            self.warn(caller, at, &format!("{name} too {side}, set to {taken}")).await;
        }
        match variable {
            Variable::InputBase => self.input_base = taken as u32,
            Variable::OutputBase => self.output_base = taken as u32,
            _ => self.scale = taken as usize,
        }
        Ok(())
    }

    fn function_name(&self, function: Option<usize>) -> &str {
        function.map_or("(main)", |number| &self.tables.functions.names[number])
    }

    async fn warn(&self, caller: Option<usize>, at: usize, what: &str) {
        let name = self.function_name(caller);
        self.shell.say(&format!("Runtime warning (func={name}, adr={at}): {what}\n")).await;
    }

    async fn fail<T>(&self, caller: Option<usize>, at: usize, what: &str) -> Result<T> {
        let name = self.function_name(caller);
        self.shell.say(&format!("Runtime error (func={name}, adr={at}): {what}\n")).await;
        Err(Failure::Told)
    }

    /// Writes a text, in lines of which each but the last ends with a backslash.
    pub(super) async fn write(&mut self, text: &str) -> Result<()> {
        let mut out = String::with_capacity(text.len() + text.len() / 32 + 2);
        for c in text.chars() {
            if c == '\n' {
                self.column = 0;
            } else {
                self.column += 1;
                if self.line_length > 0 && self.column == self.line_length - 1 {
                    out.push_str("\\\n");
                    self.column = 1;
                }
            }
            out.push(c);
        }
        Ok(self.shell.out("bc", out.as_bytes()).await?)
    }
}

/// Returns the offset of GNU's code behind the instruction at hand.
fn frame_offset(frame: &Frame) -> usize {
    frame.code.offsets.get(frame.at.saturating_sub(1)).copied().unwrap_or(0)
}

/// Carries out the escapes of `print`.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match characters.next() {
            Some('a') => out.push('\x07'),
            Some('b') => out.push('\x08'),
            Some('f') => out.push('\x0c'),
            Some('n') => out.push('\n'),
            Some('q') => out.push('"'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('\\') => out.push('\\'),
            // Others are left out, as they are by GNU's.
            Some(_) | None => {}
        }
    }
    out
}
