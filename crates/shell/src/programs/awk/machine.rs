//! The machine that runs programs. It has no stack but its own, counts each instruction, and yields between them.

use super::characters;
use super::code::{
    ARGC, ARGV, Binary, CONVFMT, ENVIRON, FILENAME, FNR, FS, Instruction, NF, NR, OFMT, OFS, ORS, Program, RLENGTH, RS,
    RSTART, Redirection, Replaces, SUBSEP, SortBy, Source, Target, Variable, Yields,
};
use super::lexer::unescape;
use super::records::{Input, Separator};
use super::regex;
use super::replacement::{self, Groups, Part};
use super::value::{RuntimeError, Subscript, Text, Value, format_values, text};
use crate::PIPE_BYTES;
use crate::bounds::{Held, MAX_TEXT, Pace, Pieces};
use crate::execute::WriteAt;
use crate::regular::Regular;
use crate::state::{Shell, Stop};
use crate::streams::{Reader, Writer, pipe};
use proofbox_vfs::FileUse;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// Values on the stack, at most.
const MAX_STACK: usize = 100_000;
/// Functions within each other.
const MAX_CALLS: usize = 2000;
/// Fields of a record.
const MAX_FIELDS: usize = 1_000_000;
/// Files and commands that are open at a time.
const MAX_STREAMS: usize = 200;
/// Expressions that are kept compiled.
const MAX_EXPRESSIONS: usize = 20;
/// Steps that compiling an expression costs.
const STEPS_OF_EXPRESSION: u64 = 50;
/// Output that is written at once, in bytes.
const OUTPUT_BYTES: usize = 8 << 10;
/// Exit code of a program that fails.
const FAILURE: i32 = 2;

/// Way in which an action ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Done,
    Next,
    NextFile,
    Exit,
}

/// Reason for the end of a step of work.
enum Interrupt {
    Error(RuntimeError),
    Stop(Stop),
}

impl From<RuntimeError> for Interrupt {
    fn from(error: RuntimeError) -> Self {
        Self::Error(error)
    }
}

impl From<Stop> for Interrupt {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

/// A function that is running: where it returns to, and what is its own.
struct Frame {
    segment: usize,
    at: usize,
    /// Places of its variables on the stack, of its arrays, of its loops.
    locals: usize,
    arrays: usize,
    iterations: usize,
}

/// Keys that a loop goes through.
struct Iteration {
    keys: std::vec::IntoIter<Arc<Text>>,
    array: usize,
    _held: Held,
}

enum Output {
    File {
        writer: Writer,
        buffer: Vec<u8>,
    },
    /// Input of a command, which runs when it is closed.
    Command {
        bytes: Vec<u8>,
        held: Held,
    },
}

/// Meaning of a newline when a record is divided.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Newlines {
    Plain,
    Separate,
}

type Array = HashMap<Subscript, Value>;

pub(super) struct Machine {
    program: Arc<Program>,
    constants: Vec<Value>,
    regexes: Vec<Arc<Expression>>,
    globals: Vec<Value>,
    arrays: Vec<Array>,
    stack: Vec<Value>,
    frames: Vec<Frame>,
    iterations: Vec<Iteration>,
    active: Vec<bool>,
    /// The record, and its fields once they have been asked for.
    record: Value,
    fields: Vec<Value>,
    fields_held: Held,
    /// Separator of fields when the record was read.
    separator: Value,
    is_split: bool,
    /// True when fields were changed since the record was put together.
    is_stale: bool,
    compiled: HashMap<Vec<u8>, Arc<Expression>>,
    output: Vec<u8>,
    outputs: BTreeMap<Vec<u8>, Output>,
    inputs: BTreeMap<Vec<u8>, Input>,
    main: Option<Input>,
    /// The next operand to be read, and whether one has been.
    operand: usize,
    has_read: bool,
    pieces: Pieces,
    /// Pieces of work that were done and are to be counted before the next instruction.
    owed: Cell<u64>,
    code: i32,
    pub(super) seed: u64,
    pub(super) random: u64,
}

impl Machine {
    /// Makes a machine with the operands of the command.
    pub(super) fn new(shell: &Shell, program: Program, arguments: &[String]) -> Result<Self, RuntimeError> {
        let used = &shell.shared.used;
        let constants = program.constants.iter().map(|bytes| text(used, bytes.clone()).map(Value::Text));
        let constants = constants.collect::<Result<Vec<_>, _>>()?;
        let compiled = program.regexes.iter().map(|text| Expression::new(shell, text).map(Arc::new));
        let regexes = compiled.collect::<Result<Vec<_>, _>>()?;
        let mut globals = vec![Value::Unset; program.names.len()];
        let mut arrays = Vec::new();
        for (at, is_array) in program.arrays.iter().enumerate() {
            if *is_array {
                globals[at] = Value::Array(arrays.len());
                arrays.push(Array::new());
            }
        }
        for (at, value) in
            [(FS, " "), (OFS, " "), (ORS, "\n"), (RS, "\n"), (SUBSEP, "\u{1c}"), (CONVFMT, "%.6g"), (OFMT, "%.6g")]
        {
            globals[at] = Value::Text(text(used, value.as_bytes().to_vec())?);
        }
        for at in [NF, NR, FNR, RSTART] {
            globals[at] = Value::Number(0.0);
        }
        globals[RLENGTH] = Value::Number(-1.0);
        globals[FILENAME] = Value::Text(text(used, Vec::new())?);
        globals[ARGC] = Value::Number(1.0 + arguments.len() as f64);
        let mut machine = Self {
            constants,
            regexes,
            globals,
            arrays,
            stack: Vec::new(),
            frames: Vec::new(),
            iterations: Vec::new(),
            active: vec![false; program.ranges],
            record: Value::Input(text(used, Vec::new())?),
            fields: Vec::new(),
            fields_held: used.hold(0).ok_or_else(RuntimeError::memory)?,
            separator: Value::Unset,
            is_split: true,
            is_stale: false,
            compiled: HashMap::new(),
            output: Vec::new(),
            outputs: BTreeMap::new(),
            inputs: BTreeMap::new(),
            main: None,
            operand: 1,
            has_read: false,
            pieces: Pieces::default(),
            owed: Cell::new(0),
            code: 0,
            seed: 0,
            random: 0x9E37_79B9_7F4A_7C15,
            program: Arc::new(program),
        };
        for (at, argument) in std::iter::once("awk").chain(arguments.iter().map(String::as_str)).enumerate() {
            let value = Value::Input(text(used, argument.as_bytes().to_vec())?);
            machine.put(shell, Variable::Global(ARGV), at.to_string().as_bytes(), value)?;
        }
        for (name, value) in shell.environment() {
            let value = Value::Input(text(used, value.into_bytes())?);
            machine.put(shell, Variable::Global(ENVIRON), name.as_bytes(), value)?;
        }
        Ok(machine)
    }

    /// Sets a variable as `-v` and operands do. False: the name is none of a variable.
    pub(super) fn assign(&mut self, shell: &Shell, name: &str, value: &str) -> Result<bool, RuntimeError> {
        let Some(at) = self.program.names.iter().position(|known| known == name) else { return Ok(true) };
        if matches!(self.globals[at], Value::Array(_)) {
            return Ok(false);
        }
        let value = Value::Input(text(&shell.shared.used, unescape(value.as_bytes()))?);
        self.store_variable(Variable::Global(at), value)?;
        Ok(true)
    }

    /// Runs the whole program; its exit code.
    pub(super) async fn run(&mut self, shell: &Shell) -> Result<i32, Stop> {
        let done = self.run_rules(shell).await;
        let done = match done {
            Ok(()) => self.close_all(shell).await,
            done => done,
        };
        match done {
            Ok(()) => Ok(self.code),
            Err(Interrupt::Stop(stop)) => Err(stop),
            Err(Interrupt::Error(RuntimeError(why))) => {
                self.flush(shell).await?;
                shell.error("awk", &why).await;
                Ok(FAILURE)
            }
        }
    }

    async fn run_rules(&mut self, shell: &Shell) -> Result<(), Interrupt> {
        let program = Arc::clone(&self.program);
        let mut exits = false;
        for segment in &program.begin {
            exits |= self.execute(shell, *segment).await? == Flow::Exit;
            if exits {
                break;
            }
        }
        if !exits && (!program.rules.is_empty() || !program.end.is_empty()) {
            'records: while self.next_record(shell).await? {
                for segment in &program.rules {
                    match self.execute(shell, *segment).await? {
                        Flow::Done => {}
                        Flow::Next => break,
                        Flow::NextFile => {
                            self.main = None;
                            break;
                        }
                        Flow::Exit => break 'records,
                    }
                }
            }
        }
        for segment in &program.end {
            if self.execute(shell, *segment).await? == Flow::Exit {
                break;
            }
        }
        Ok(())
    }

    /// Runs a piece of the program.
    async fn execute(&mut self, shell: &Shell, segment: usize) -> Result<Flow, Interrupt> {
        let program = Arc::clone(&self.program);
        self.stack.clear();
        self.frames.clear();
        self.iterations.clear();
        let (mut segment, mut at) = (segment, 0);
        while let Some(instruction) = program.segments[segment].get(at).copied() {
            at += 1;
            let owed = self.owed.take();
            shell.count_pieces(&mut self.pieces, 1 + owed).await?;
            match instruction {
                Instruction::Jump(to) => at = to,
                Instruction::JumpIfFalse(to) => {
                    if !self.pop().is_true() {
                        at = to;
                    }
                }
                Instruction::JumpIfTrue(to) => {
                    if self.pop().is_true() {
                        at = to;
                    }
                }
                Instruction::JumpIfActive { range, to } => {
                    if self.active[range] {
                        at = to;
                    }
                }
                Instruction::NextKey { end } => match self.next_key() {
                    Some(key) => self.push(Value::Input(key))?,
                    None => at = end,
                },
                Instruction::Call { function, arguments } => {
                    let definition = &program.functions[function];
                    if self.frames.len() >= MAX_CALLS {
                        return Err(RuntimeError("function calls are nested too deeply".to_owned()).into());
                    }
                    if arguments > definition.parameters {
                        return Err(RuntimeError("function called with more arguments than declared".to_owned()).into());
                    }
                    let locals = self.stack.len() - arguments;
                    let frame =
                        Frame { segment, at, locals, arrays: self.arrays.len(), iterations: self.iterations.len() };
                    for parameter in arguments..definition.parameters {
                        let value = match definition.arrays[parameter] {
                            true => {
                                self.arrays.push(Array::new());
                                Value::Array(self.arrays.len() - 1)
                            }
                            false => Value::Unset,
                        };
                        self.push(value)?;
                    }
                    self.frames.push(frame);
                    (segment, at) = (definition.segment, 0);
                }
                Instruction::Return => {
                    let value = self.pop();
                    let Some(frame) = self.frames.pop() else { return Ok(Flow::Done) };
                    self.stack.truncate(frame.locals);
                    self.arrays.truncate(frame.arrays);
                    self.iterations.truncate(frame.iterations);
                    (segment, at) = (frame.segment, frame.at);
                    self.push(value)?;
                }
                Instruction::Next => return Ok(Flow::Next),
                Instruction::NextFile => return Ok(Flow::NextFile),
                Instruction::Exit { coded } => {
                    if coded {
                        self.code = (self.pop().number() as i64 & 255) as i32;
                    }
                    return Ok(Flow::Exit);
                }
                instruction => self.step(shell, instruction).await?,
            }
        }
        Ok(Flow::Done)
    }

    /// Carries out an instruction that goes nowhere else.
    async fn step(&mut self, shell: &Shell, instruction: Instruction) -> Result<(), Interrupt> {
        match instruction {
            Instruction::Number(number) => self.push(Value::Number(number))?,
            Instruction::Constant(at) => self.push(self.constants[at].clone())?,
            Instruction::Regex(at) => self.push(Value::Regex(at))?,
            Instruction::MatchRecord(at) => {
                self.join_fields(shell)?;
                let record = self.record.clone();
                let matched = self.matches(shell, &record, &Value::Regex(at)).await?;
                self.push(Value::Number(f64::from(matched)))?;
            }
            Instruction::Match { wanted } => {
                let (expression, subject) = (self.pop(), self.pop());
                let matched = self.matches(shell, &subject, &expression).await?;
                self.push(Value::Number(f64::from(matched == wanted)))?;
            }
            Instruction::Load(target) => {
                let value = self.load(shell, target).await?;
                self.push(value)?;
            }
            Instruction::Store(target) => {
                let value = match self.pop() {
                    Value::Array(_) => {
                        return Err(RuntimeError("attempt to use an array as a scalar".to_owned()).into());
                    }
                    value => value,
                };
                self.store(shell, target, value.clone()).await?;
                self.push(value)?;
            }
            Instruction::Duplicate => self.push(self.stack.last().cloned().unwrap_or(Value::Unset))?,
            Instruction::Pop => drop(self.pop()),
            Instruction::Adjust { target, by, yields } => {
                if !matches!(target, Target::Variable(_)) {
                    self.push(self.stack.last().cloned().unwrap_or(Value::Unset))?;
                }
                let old = self.load(shell, target).await?.number();
                let new = old + by;
                self.store(shell, target, Value::Number(new)).await?;
                self.push(Value::Number(if yields == Yields::Old { old } else { new }))?;
            }
            Instruction::Subscript(count) => {
                let parts = self.stack.split_off(self.stack.len() - count);
                let (format, separator) = (self.format(CONVFMT), self.bytes(SUBSEP));
                let mut joined = Vec::new();
                for (at, part) in parts.iter().enumerate() {
                    if at > 0 {
                        joined.extend_from_slice(&separator);
                    }
                    joined.extend_from_slice(&part.bytes(&format));
                    if joined.len() > MAX_TEXT {
                        return Err(RuntimeError::memory().into());
                    }
                }
                self.owe_bytes(joined.len());
                let joined = self.text(shell, joined)?;
                self.push(Value::Text(joined))?;
            }
            Instruction::Contains(variable) => {
                let subscript = self.pop();
                self.owe_bytes(value_bytes(&subscript));
                let format = self.format(CONVFMT);
                let array = self.array(variable)?;
                let found = self.arrays[array].contains_key(&*subscript.bytes(&format));
                self.push(Value::Number(f64::from(found)))?;
            }
            Instruction::Delete(variable) => {
                let subscript = self.pop();
                self.owe_bytes(value_bytes(&subscript));
                let format = self.format(CONVFMT);
                let array = self.array(variable)?;
                self.arrays[array].remove(&*subscript.bytes(&format));
            }
            Instruction::DeleteAll(variable) => {
                let array = self.array(variable)?;
                let count = self.arrays[array].len() as u64;
                self.arrays[array] = Array::new();
                shell.count_pieces(&mut self.pieces, count).await?;
            }
            Instruction::Binary(binary) => self.binary(shell, binary).await?,
            Instruction::Not => {
                let value = self.pop().is_true();
                self.push(Value::Number(f64::from(!value)))?;
            }
            Instruction::Negate => {
                let value = -self.pop().number();
                self.push(Value::Number(value))?;
            }
            Instruction::ToNumber => {
                let value = self.pop().number();
                self.push(Value::Number(value))?;
            }
            Instruction::ToTruth => {
                let value = self.pop().is_true();
                self.push(Value::Number(f64::from(value)))?;
            }
            Instruction::SetActive { range, active } => self.active[range] = active,
            Instruction::Iterate(variable) => self.iterate(shell, variable).await?,
            Instruction::EndIteration => drop(self.iterations.pop()),
            Instruction::Apply { function, arguments } => {
                let values = self.stack.split_off(self.stack.len() - arguments);
                let format = self.format(CONVFMT);
                let bytes: usize = values.iter().map(value_bytes).sum();
                shell.count_pieces(&mut self.pieces, 4 + bytes as u64 / 16).await?;
                let value = self.apply(shell, function, &values, &format)?;
                self.owe_bytes(value_bytes(&value));
                self.push(value)?;
            }
            Instruction::LengthOf(variable) => {
                let length = match self.load(shell, Target::Variable(variable)).await? {
                    Value::Array(array) => self.arrays[array].len(),
                    value => {
                        self.owe_bytes(value_bytes(&value));
                        characters::length(&value.bytes(&self.format(CONVFMT)))
                    }
                };
                self.push(Value::Number(length as f64))?;
            }
            Instruction::Split { array, separated } => {
                let separator = separated.then(|| self.pop());
                self.split(shell, array, separator).await?;
            }
            Instruction::Substitute { replaces, target } => self.substitute(shell, replaces, target).await?,
            Instruction::Gensub { targeted } => {
                let target = targeted.then(|| self.pop());
                self.gensub(shell, target).await?;
            }
            Instruction::Find { array } => self.find(shell, array).await?,
            Instruction::Sort { array, into, by } => self.sort(shell, array, into, by).await?,
            Instruction::GetLine { source, target } => self.get_line(shell, source, target).await?,
            Instruction::Print { arguments, redirection } => {
                let goal = self.goal(redirection);
                let mut out = Vec::new();
                if arguments == 0 {
                    self.join_fields(shell)?;
                    out.extend_from_slice(&self.record.bytes(b"%.6g"));
                } else {
                    let values = self.stack.split_off(self.stack.len() - arguments);
                    let (format, separator) = (self.format(OFMT), self.bytes(OFS));
                    for (at, value) in values.iter().enumerate() {
                        if at > 0 {
                            out.extend_from_slice(&separator);
                        }
                        if out.len() > PIPE_BYTES {
                            self.put_out(shell, redirection, goal.clone(), &out).await?;
                            out.clear();
                        }
                        out.extend_from_slice(&value.bytes(&format));
                    }
                }
                out.extend_from_slice(&self.bytes(ORS));
                self.put_out(shell, redirection, goal, &out).await?;
            }
            Instruction::Printf { arguments, redirection } => {
                let goal = self.goal(redirection);
                let values = self.stack.split_off(self.stack.len() - arguments);
                let format = self.format(CONVFMT);
                let mut out = Vec::new();
                format_values(&values[0].bytes(&format), &values[1..], &format, &mut out)?;
                self.put_out(shell, redirection, goal, &out).await?;
            }
            Instruction::System => {
                let command = self.pop();
                let command = String::from_utf8_lossy(&command.bytes(b"%.6g")).into_owned();
                self.flush(shell).await?;
                let code = run_command(shell, &command, None, None).await?;
                self.push(Value::Number(f64::from(code)))?;
            }
            Instruction::Close => {
                let name = self.pop().bytes(b"%.6g").into_owned();
                let input = self.inputs.remove(&name).is_some();
                let code = match self.outputs.remove(&name) {
                    Some(output) => self.close_output(shell, &name, output).await?,
                    None if input => 0,
                    None => -1,
                };
                self.push(Value::Number(f64::from(code)))?;
            }
            Instruction::Flush => {
                self.pop();
                self.flush(shell).await?;
                self.push(Value::Number(0.0))?;
            }
            Instruction::Jump(_)
            | Instruction::JumpIfFalse(_)
            | Instruction::JumpIfTrue(_)
            | Instruction::JumpIfActive { .. }
            | Instruction::NextKey { .. }
            | Instruction::Call { .. }
            | Instruction::Return
            | Instruction::Next
            | Instruction::NextFile
            | Instruction::Exit { .. } => {}
        }
        Ok(())
    }

    fn push(&mut self, value: Value) -> Result<(), RuntimeError> {
        if self.stack.len() >= MAX_STACK {
            return Err(RuntimeError("the stack is full".to_owned()));
        }
        self.stack.push(value);
        Ok(())
    }

    fn pop(&mut self) -> Value {
        self.stack.pop().unwrap_or(Value::Unset)
    }

    pub(super) fn text(&self, shell: &Shell, bytes: Vec<u8>) -> Result<Arc<Text>, RuntimeError> {
        self.owe_bytes(bytes.len());
        text(&shell.shared.used, bytes)
    }

    /// The format of numbers that are made texts.
    fn format(&self, variable: usize) -> Vec<u8> {
        self.bytes(variable)
    }

    fn bytes(&self, variable: usize) -> Vec<u8> {
        self.owe_bytes(value_bytes(&self.globals[variable]));
        self.globals[variable].bytes(b"%.6g").into_owned()
    }

    /// Has work on so many bytes counted before the next instruction.
    fn owe_bytes(&self, count: usize) {
        self.owed.set(self.owed.get().saturating_add(count as u64 / 16));
    }

    fn slot(&mut self, variable: Variable) -> &mut Value {
        match variable {
            Variable::Global(at) => &mut self.globals[at],
            Variable::Local(at) => {
                let base = self.frames.last().map_or(0, |frame| frame.locals);
                &mut self.stack[base + at]
            }
        }
    }

    fn array(&mut self, variable: Variable) -> Result<usize, RuntimeError> {
        match self.slot(variable) {
            Value::Array(array) => Ok(*array),
            _ => Err(RuntimeError("attempt to use a scalar as an array".to_owned())),
        }
    }

    /// Puts an element into an array.
    fn put(&mut self, shell: &Shell, variable: Variable, subscript: &[u8], value: Value) -> Result<(), RuntimeError> {
        self.owe_bytes(subscript.len());
        let array = self.array(variable)?;
        if let Some(element) = self.arrays[array].get_mut(subscript) {
            *element = value;
            return Ok(());
        }
        let key = Subscript(self.text(shell, subscript.to_vec())?);
        self.arrays[array].insert(key, value);
        Ok(())
    }

    async fn load(&mut self, shell: &Shell, target: Target) -> Result<Value, Interrupt> {
        match target {
            Target::Variable(variable) => {
                if variable == Variable::Global(NF) {
                    self.split_record(shell).await?;
                }
                Ok(self.slot(variable).clone())
            }
            Target::Field => {
                let index = self.pop().number();
                self.field(shell, index).await
            }
            Target::Element(variable) => {
                let subscript = self.pop();
                let format = self.format(CONVFMT);
                let array = self.array(variable)?;
                let bytes = subscript.bytes(&format);
                self.owe_bytes(bytes.len());
                if let Some(value) = self.arrays[array].get(&*bytes) {
                    return Ok(value.clone());
                }
                self.put(shell, variable, &bytes, Value::Unset)?;
                Ok(Value::Unset)
            }
        }
    }

    async fn store(&mut self, shell: &Shell, target: Target, value: Value) -> Result<(), Interrupt> {
        match target {
            Target::Variable(variable) => {
                if variable == Variable::Global(NF) {
                    self.split_record(shell).await?;
                }
                self.store_variable(variable, value)?;
            }
            Target::Field => {
                let index = self.pop().number();
                self.set_field(shell, index, value).await?;
            }
            Target::Element(variable) => {
                let subscript = self.pop();
                let format = self.format(CONVFMT);
                self.put(shell, variable, &subscript.bytes(&format), value)?;
            }
        }
        Ok(())
    }

    fn store_variable(&mut self, variable: Variable, value: Value) -> Result<(), RuntimeError> {
        if variable == Variable::Global(NF) {
            let count = value.number();
            if !(0.0..=MAX_FIELDS as f64).contains(&count) {
                return Err(RuntimeError("NF set to a value that is out of range".to_owned()));
            }
            self.resize_fields(count as usize)?;
            self.is_stale = true;
            self.globals[NF] = Value::Number(count.trunc());
            return Ok(());
        }
        if let Value::Array(_) = self.slot(variable) {
            return Err(RuntimeError("attempt to use an array as a scalar".to_owned()));
        }
        *self.slot(variable) = value;
        Ok(())
    }

    fn resize_fields(&mut self, count: usize) -> Result<(), RuntimeError> {
        if count > MAX_FIELDS {
            return Err(RuntimeError("a record has too many fields".to_owned()));
        }
        self.owe_bytes(self.fields.len().abs_diff(count) * size_of::<Value>());
        let before = self.fields.capacity();
        self.fields.resize(count, Value::Unset);
        if !self.fields_held.grow((self.fields.capacity() - before) * size_of::<Value>()) {
            return Err(RuntimeError::memory());
        }
        Ok(())
    }

    fn set_record(&mut self, record: Value) {
        self.record = record;
        self.separator = self.globals[FS].clone();
        self.is_split = false;
        self.is_stale = false;
    }

    /// Puts the record together again when its fields have changed.
    fn join_fields(&mut self, shell: &Shell) -> Result<(), RuntimeError> {
        if !self.is_stale {
            return Ok(());
        }
        let (format, separator) = (self.format(CONVFMT), self.bytes(OFS));
        let mut record = Vec::new();
        for (at, field) in self.fields.iter().enumerate() {
            if at > 0 {
                record.extend_from_slice(&separator);
            }
            record.extend_from_slice(&field.bytes(&format));
            if record.len() > MAX_TEXT {
                return Err(RuntimeError::memory());
            }
        }
        self.owe_bytes(record.len() + self.fields.len() * size_of::<Value>());
        self.record = Value::Input(self.text(shell, record)?);
        self.is_stale = false;
        Ok(())
    }

    async fn field(&mut self, shell: &Shell, index: f64) -> Result<Value, Interrupt> {
        if index < 0.0 {
            return Err(RuntimeError(format!("attempt to access field {index}")).into());
        }
        if index < 1.0 {
            self.join_fields(shell)?;
            return Ok(self.record.clone());
        }
        self.split_record(shell).await?;
        Ok(self.fields.get(index as usize - 1).cloned().unwrap_or(Value::Unset))
    }

    async fn set_field(&mut self, shell: &Shell, index: f64, value: Value) -> Result<(), Interrupt> {
        let format = self.format(CONVFMT);
        if !(0.0..=MAX_FIELDS as f64).contains(&index) {
            return Err(RuntimeError(format!("attempt to access field {index}")).into());
        }
        let value = match value {
            value @ (Value::Text(_) | Value::Input(_)) => value,
            value => Value::Input(self.text(shell, value.bytes(&format).into_owned())?),
        };
        let index = index as usize;
        if index == 0 {
            let record = Value::Input(self.text(shell, value.bytes(&format).into_owned())?);
            self.set_record(record);
            return Ok(());
        }
        self.split_record(shell).await?;
        if index > self.fields.len() {
            self.resize_fields(index)?;
            self.globals[NF] = Value::Number(index as f64);
        }
        self.fields[index - 1] = value;
        self.is_stale = true;
        Ok(())
    }

    /// Divides the record into fields, unless that has been done.
    async fn split_record(&mut self, shell: &Shell) -> Result<(), Interrupt> {
        if self.is_split {
            return Ok(());
        }
        self.is_split = true;
        let separator = self.separator.clone();
        let record = self.record.bytes(b"%.6g").into_owned();
        let newlines = if self.bytes(RS).is_empty() { Newlines::Separate } else { Newlines::Plain };
        let ranges = self.divide(shell, &record, &separator, newlines).await?;
        self.resize_fields(0)?;
        self.resize_fields(ranges.len())?;
        for (at, range) in ranges.into_iter().enumerate() {
            shell.count_pieces(&mut self.pieces, 2).await?;
            self.fields[at] = Value::Input(self.text(shell, record[range].to_vec())?);
        }
        self.globals[NF] = Value::Number(self.fields.len() as f64);
        Ok(())
    }

    /// Parts of a text between separators.
    async fn divide(
        &mut self,
        shell: &Shell,
        subject: &[u8],
        separator: &Value,
        newlines: Newlines,
    ) -> Result<Vec<Range<usize>>, Interrupt> {
        shell.count_pieces(&mut self.pieces, subject.len() as u64 / 2).await?;
        let mut parts = Vec::new();
        let bytes = separator.bytes(b"%.6g").into_owned();
        match (separator, bytes.as_slice()) {
            (Value::Regex(_), _) => {}
            (_, b" ") => {
                let mut start = None;
                for (at, byte) in subject.iter().enumerate() {
                    match (byte, start) {
                        (b' ' | b'\t' | b'\n', Some(from)) => {
                            add_part(&mut parts, from..at)?;
                            start = None;
                        }
                        (b' ' | b'\t' | b'\n', None) | (_, Some(_)) => {}
                        (_, None) => start = Some(at),
                    }
                }
                parts.extend(start.map(|from| from..subject.len()));
                return Ok(parts);
            }
            (_, []) => {
                // Each character is a part.
                let text = String::from_utf8_lossy(subject);
                if text.len() == subject.len() {
                    for (at, c) in text.char_indices() {
                        add_part(&mut parts, at..at + c.len_utf8())?;
                    }
                } else {
                    for at in 0..subject.len() {
                        add_part(&mut parts, at..at + 1)?;
                    }
                }
                return Ok(parts);
            }
            (_, [one]) if *one != b'\\' || bytes.len() == 1 => {
                if subject.is_empty() {
                    return Ok(parts);
                }
                let mut from = 0;
                for (at, byte) in subject.iter().enumerate() {
                    if byte == one || (newlines == Newlines::Separate && *byte == b'\n') {
                        add_part(&mut parts, from..at)?;
                        from = at + 1;
                    }
                }
                add_part(&mut parts, from..subject.len())?;
                return Ok(parts);
            }
            _ => {}
        }
        if subject.is_empty() {
            return Ok(parts);
        }
        let expression = self.expression(shell, separator).await?;
        let regular = &expression.regular;
        if !regular.takes(subject.len()) {
            return Err(too_long().into());
        }
        let mut pace = Pace::new();
        let (mut from, mut at) = (0, 0);
        while let Some(found) = regular.find_at(subject, at) {
            shell.count_paced(&mut pace).await?;
            shell.count_pieces(&mut self.pieces, 8).await?;
            if found.is_empty() {
                at = found.end + 1;
                if at > subject.len() {
                    break;
                }
                continue;
            }
            add_part(&mut parts, from..found.start)?;
            (from, at) = (found.end, found.end);
        }
        add_part(&mut parts, from..subject.len())?;
        Ok(parts)
    }

    /// The regular expression that a value is, or whose text it is.
    async fn expression(&mut self, shell: &Shell, value: &Value) -> Result<Arc<Expression>, Interrupt> {
        if let Value::Regex(at) = value {
            return Ok(Arc::clone(&self.regexes[*at]));
        }
        let bytes = value.bytes(b"%.6g");
        self.owe_bytes(bytes.len());
        if let Some(found) = self.compiled.get(&*bytes) {
            return Ok(Arc::clone(found));
        }
        let mut pace = Pace::new();
        let expression = Arc::new(Expression::new(shell, &String::from_utf8_lossy(&bytes))?);
        shell.step(STEPS_OF_EXPRESSION).await?;
        shell.count_paced(&mut pace).await?;
        if self.compiled.len() >= MAX_EXPRESSIONS {
            self.compiled.clear();
        }
        self.compiled.insert(bytes.into_owned(), Arc::clone(&expression));
        Ok(expression)
    }

    async fn matches(&mut self, shell: &Shell, subject: &Value, expression: &Value) -> Result<bool, Interrupt> {
        let expression = self.expression(shell, expression).await?;
        let format = self.format(CONVFMT);
        let subject = subject.bytes(&format);
        if !expression.regular.takes(subject.len()) {
            return Err(too_long().into());
        }
        shell.step(expression.regular.steps(subject.len()) - 1).await?;
        shell.count_pieces(&mut self.pieces, 10).await?;
        Ok(expression.regular.is_match(&subject))
    }

    async fn binary(&mut self, shell: &Shell, binary: Binary) -> Result<(), Interrupt> {
        let (right, left) = (self.pop(), self.pop());
        if let Value::Array(_) = left {
            return Err(RuntimeError("attempt to use an array as a scalar".to_owned()).into());
        }
        let compared = |machine: &Self, wanted: fn(std::cmp::Ordering) -> bool| {
            let order = left.compare(&right, &machine.format(CONVFMT));
            Value::Number(f64::from(order.is_some_and(wanted)))
        };
        let (x, y) = (left.number(), right.number());
        let value = match binary {
            Binary::Add => Value::Number(x + y),
            Binary::Subtract => Value::Number(x - y),
            Binary::Multiply => Value::Number(x * y),
            Binary::Divide | Binary::Modulo if y == 0.0 => {
                let what = if binary == Binary::Divide { "division by zero" } else { "division by zero in %" };
                return Err(RuntimeError(what.to_owned()).into());
            }
            Binary::Divide => Value::Number(x / y),
            Binary::Modulo => Value::Number(x % y),
            Binary::Power => Value::Number(x.powf(y)),
            Binary::Less => compared(self, std::cmp::Ordering::is_lt),
            Binary::LessOrEqual => compared(self, std::cmp::Ordering::is_le),
            Binary::Equal => compared(self, std::cmp::Ordering::is_eq),
            Binary::NotEqual => {
                let order = left.compare(&right, &self.format(CONVFMT));
                Value::Number(f64::from(order.is_none_or(std::cmp::Ordering::is_ne)))
            }
            Binary::GreaterOrEqual => compared(self, std::cmp::Ordering::is_ge),
            Binary::Greater => compared(self, std::cmp::Ordering::is_gt),
            Binary::Concatenate => {
                let format = self.format(CONVFMT);
                let (left, right) = (left.bytes(&format), right.bytes(&format));
                Value::Text(self.text(shell, [left, right].concat())?)
            }
        };
        let bytes = value_bytes(&left) + value_bytes(&right);
        shell.count_pieces(&mut self.pieces, bytes as u64 / 32).await?;
        self.push(value)?;
        Ok(())
    }

    /// The keys of an array: numbers first, in their order, then texts.
    async fn keys(&mut self, shell: &Shell, array: usize) -> Result<(Vec<Arc<Text>>, Held), Interrupt> {
        let count = self.arrays[array].len();
        let Some(held) = shell.shared.used.hold(count * 48) else { return Err(RuntimeError::memory().into()) };
        shell.count_pieces(&mut self.pieces, 20 * count as u64).await?;
        let number = |key: &[u8]| std::str::from_utf8(key).ok().and_then(|text| text.parse::<i64>().ok());
        let mut keys: Vec<(Option<i64>, Arc<Text>)> =
            self.arrays[array].keys().map(|key| (number(&key.0), Arc::clone(&key.0))).collect();
        let mut pace = Pace::new();
        keys.sort_unstable_by(|(one, left), (other, right)| match (one, other) {
            (Some(one), Some(other)) => one.cmp(other).then_with(|| left[..].cmp(&right[..])),
            (None, None) => left[..].cmp(&right[..]),
            (one, other) => other.is_some().cmp(&one.is_some()),
        });
        shell.count_paced(&mut pace).await?;
        Ok((keys.into_iter().map(|(_, key)| key).collect(), held))
    }

    async fn iterate(&mut self, shell: &Shell, variable: Variable) -> Result<(), Interrupt> {
        let array = self.array(variable)?;
        let (keys, held) = self.keys(shell, array).await?;
        self.iterations.push(Iteration { keys: keys.into_iter(), array, _held: held });
        Ok(())
    }

    /// The next key of the innermost loop that is still there.
    fn next_key(&mut self) -> Option<Arc<Text>> {
        let iteration = self.iterations.last_mut()?;
        let arrays = &self.arrays;
        iteration.keys.find(|key| arrays[iteration.array].contains_key(&***key))
    }

    async fn split(&mut self, shell: &Shell, variable: Variable, separator: Option<Value>) -> Result<(), Interrupt> {
        let separator = separator.unwrap_or_else(|| self.globals[FS].clone());
        let subject = self.pop().bytes(&self.format(CONVFMT)).into_owned();
        let array = self.array(variable)?;
        let parts = self.divide(shell, &subject, &separator, Newlines::Plain).await?;
        self.arrays[array] = Array::new();
        let count = parts.len();
        for (at, part) in parts.into_iter().enumerate() {
            shell.count_pieces(&mut self.pieces, 10).await?;
            let value = Value::Input(self.text(shell, subject[part].to_vec())?);
            self.put(shell, variable, (at + 1).to_string().as_bytes(), value)?;
        }
        self.push(Value::Number(count as f64))?;
        Ok(())
    }

    async fn substitute(&mut self, shell: &Shell, replaces: Replaces, target: Target) -> Result<(), Interrupt> {
        let index = (!matches!(target, Target::Variable(_))).then(|| self.pop());
        let format = self.format(CONVFMT);
        let with = self.pop().bytes(&format).into_owned();
        let expression = self.pop();
        let expression = self.expression(shell, &expression).await?;
        if let Some(index) = &index {
            self.push(index.clone())?;
        }
        let subject = self.load(shell, target).await?.bytes(&format).into_owned();
        self.owe_bytes(with.len() + subject.len());
        let parts = replacement::replacement(&with, Groups::Whole)?;
        let which = if replaces == Replaces::First { Some(1) } else { None };
        let (count, out) = self.replace(shell, &expression, &subject, &parts, which).await?;
        if count > 0 {
            let value = Value::Text(self.text(shell, out)?);
            if let Some(index) = index {
                self.push(index)?;
            }
            self.store(shell, target, value).await?;
        }
        self.push(Value::Number(count as f64))?;
        Ok(())
    }

    /// Replaces matches in a text, or in the record where none is given.
    async fn gensub(&mut self, shell: &Shell, target: Option<Value>) -> Result<(), Interrupt> {
        let format = self.format(CONVFMT);
        let subject = match target {
            Some(target) => target,
            None => self.field(shell, 0.0).await?,
        };
        let (how, with, expression) = (self.pop(), self.pop(), self.pop());
        let expression = self.expression(shell, &expression).await?;
        let how_text = how.bytes(&format);
        let which = match how_text.first() {
            Some(b'g' | b'G') => None,
            _ => Some((how.number() as usize).max(1)),
        };
        let parts = replacement::replacement(&with.bytes(&format), Groups::Numbered)?;
        let subject = subject.bytes(&format).into_owned();
        let (_, out) = self.replace(shell, &expression, &subject, &parts, which).await?;
        let value = Value::Text(self.text(shell, out)?);
        self.push(value)?;
        Ok(())
    }

    /// A text with matches replaced: one of them, or all; and how many were.
    async fn replace(
        &mut self,
        shell: &Shell,
        expression: &Expression,
        subject: &[u8],
        with: &[Part],
        which: Option<usize>,
    ) -> Result<(usize, Vec<u8>), Interrupt> {
        let regular = &expression.regular;
        if !regular.takes(subject.len()) {
            return Err(too_long().into());
        }
        shell.step(regular.steps(subject.len()) - 1).await?;
        let mut pace = Pace::new();
        let mut out = Vec::new();
        let (mut copied, mut from, mut seen, mut replaced) = (0, 0, 0, 0);
        let mut last_end = None;
        while let Some(found) = regular.captures_at(subject, from) {
            shell.count_paced(&mut pace).await?;
            shell.count_pieces(&mut self.pieces, 10).await?;
            let whole = found.get(0).map(|whole| whole.range()).unwrap_or_default();
            // Nothing right after a match is no match of its own.
            let counts = !(whole.is_empty() && last_end == Some(whole.start));
            if counts {
                seen += 1;
                if which.is_none_or(|which| which == seen) {
                    replaced += 1;
                    out.extend_from_slice(&subject[copied..whole.start]);
                    replacement::put(with, &found, &mut out);
                    copied = whole.end;
                }
            }
            if out.len() > MAX_TEXT {
                return Err(RuntimeError::memory().into());
            }
            last_end = Some(whole.end);
            if which.is_some_and(|which| seen >= which) || whole.start >= subject.len() {
                break;
            }
            from = if whole.is_empty() { whole.end + 1 } else { whole.end };
        }
        out.extend_from_slice(&subject[copied..]);
        Ok((replaced, out))
    }

    async fn find(&mut self, shell: &Shell, array: Option<Variable>) -> Result<(), Interrupt> {
        let expression = self.pop();
        let subject = self.pop().bytes(&self.format(CONVFMT)).into_owned();
        let expression = self.expression(shell, &expression).await?;
        if !expression.regular.takes(subject.len()) {
            return Err(too_long().into());
        }
        shell.step(expression.regular.steps(subject.len()) - 1).await?;
        let mut pace = Pace::new();
        let found = expression.regular.captures_at(&subject, 0);
        let ranges: Vec<Option<Range<usize>>> = match &found {
            Some(found) => found.iter().map(|group| group.map(|group| group.range())).collect(),
            None => Vec::new(),
        };
        let place = |range: &Range<usize>| {
            let start = characters::length(&subject[..range.start]) as f64 + 1.0;
            (start, characters::length(&subject[range.clone()]) as f64)
        };
        let (start, length) = match ranges.first() {
            Some(Some(whole)) => place(whole),
            _ => (0.0, -1.0),
        };
        if let Some(variable) = array {
            let array = self.array(variable)?;
            self.arrays[array] = Array::new();
            let separator = self.bytes(SUBSEP);
            for (at, range) in ranges.iter().enumerate() {
                let Some(range) = range else { continue };
                let (start, length) = place(range);
                shell.count_paced(&mut pace).await?;
                let value = Value::Input(self.text(shell, subject[range.clone()].to_vec())?);
                self.put(shell, variable, at.to_string().as_bytes(), value)?;
                for (name, number) in [("start", start), ("length", length)] {
                    let key = [at.to_string().as_bytes(), &separator, name.as_bytes()].concat();
                    self.put(shell, variable, &key, Value::Number(number))?;
                }
            }
        }
        shell.count_paced(&mut pace).await?;
        self.globals[RSTART] = Value::Number(start);
        self.globals[RLENGTH] = Value::Number(length);
        self.push(Value::Number(start))?;
        Ok(())
    }

    async fn sort(
        &mut self,
        shell: &Shell,
        variable: Variable,
        into: Option<Variable>,
        by: SortBy,
    ) -> Result<(), Interrupt> {
        let array = self.array(variable)?;
        let (keys, _held) = self.keys(shell, array).await?;
        let mut values: Vec<Value> = match by {
            SortBy::Key => keys.into_iter().map(Value::Text).collect(),
            SortBy::Value => self.arrays[array].values().cloned().collect(),
        };
        let format = self.format(CONVFMT);
        let mut pace = Pace::new();
        values.sort_by(|one, other| match by {
            SortBy::Key => one.bytes(&format).cmp(&other.bytes(&format)),
            SortBy::Value => one.sort_order(other),
        });
        shell.count_paced(&mut pace).await?;
        let target = into.unwrap_or(variable);
        let array = self.array(target)?;
        self.arrays[array] = Array::new();
        let count = values.len();
        for (at, value) in values.into_iter().enumerate() {
            shell.count_pieces(&mut self.pieces, 10).await?;
            self.put(shell, target, (at + 1).to_string().as_bytes(), value)?;
        }
        self.push(Value::Number(count as f64))?;
        Ok(())
    }

    /// The next record of the operands. False: there is none.
    async fn next_record(&mut self, shell: &Shell) -> Result<bool, Interrupt> {
        let Some(record) = self.next_of_main(shell).await? else { return Ok(false) };
        let record = Value::Input(self.text(shell, record)?);
        self.set_record(record);
        Ok(true)
    }

    async fn next_of_main(&mut self, shell: &Shell) -> Result<Option<Vec<u8>>, Interrupt> {
        loop {
            if self.main.is_none() && !self.open_next(shell).await? {
                return Ok(None);
            }
            let Some(mut input) = self.main.take() else { return Ok(None) };
            let record = self.record_of(shell, &mut input).await?;
            if let Some(record) = record {
                self.main = Some(input);
                for counter in [NR, FNR] {
                    self.globals[counter] = Value::Number(self.globals[counter].number() + 1.0);
                }
                return Ok(Some(record));
            }
        }
    }

    async fn record_of(&mut self, shell: &Shell, input: &mut Input) -> Result<Option<Vec<u8>>, Interrupt> {
        let separator = self.globals[RS].clone();
        let bytes = separator.bytes(b"%.6g").into_owned();
        let record = match bytes.as_slice() {
            [] => input.next(shell, Separator::Paragraph).await?,
            [byte] => input.next(shell, Separator::Byte(*byte)).await?,
            _ => {
                let expression = self.expression(shell, &separator).await?;
                input.next(shell, Separator::Regular(&expression.regular)).await?
            }
        };
        Ok(record?)
    }

    /// Opens the next operand that is a file, or standard input if there are none. False: there are no more.
    async fn open_next(&mut self, shell: &Shell) -> Result<bool, Interrupt> {
        loop {
            let count = self.globals[ARGC].number();
            if self.operand as f64 >= count {
                if std::mem::replace(&mut self.has_read, true) {
                    return Ok(false);
                }
                self.main = Some(Input::new(shell, shell.streams.stdin.clone())?);
                return Ok(true);
            }
            let key = self.operand.to_string();
            self.operand += 1;
            shell.step(1).await?;
            let array = self.array(Variable::Global(ARGV))?;
            let Some(value) = self.arrays[array].get(key.as_bytes()).cloned() else { continue };
            let operand = String::from_utf8_lossy(&value.bytes(b"%.6g")).into_owned();
            if operand.is_empty() {
                continue;
            }
            if let Some((name, value)) = operand.split_once('=').filter(|(name, _)| crate::expand::is_name(name)) {
                self.assign(shell, name, value)?;
                continue;
            }
            self.has_read = true;
            let reader = match operand.as_str() {
                "-" => Ok(shell.streams.stdin.clone()),
                path => shell.reader_of(path),
            };
            match reader {
                Ok(reader) => {
                    self.main = Some(Input::new(shell, reader)?);
                    self.globals[FNR] = Value::Number(0.0);
                    self.globals[FILENAME] = value;
                    return Ok(true);
                }
                Err(why) => {
                    self.flush(shell).await?;
                    shell.error("awk", &format!("cannot open {operand} ({why})")).await;
                    self.code = FAILURE;
                }
            }
        }
    }

    async fn get_line(&mut self, shell: &Shell, source: Source, target: Option<Target>) -> Result<(), Interrupt> {
        let (name, index);
        match source {
            Source::Main => (name, index) = (None, self.pop_index(target)),
            Source::File => {
                name = Some(self.pop());
                index = self.pop_index(target);
            }
            Source::Command => {
                index = self.pop_index(target);
                name = Some(self.pop());
            }
        }
        let record = match name {
            None => self.next_of_main(shell).await?,
            Some(name) => {
                let name = name.bytes(b"%.6g").into_owned();
                let Some(mut input) = self.input(shell, source, &name).await? else {
                    self.push(Value::Number(-1.0))?;
                    return Ok(());
                };
                let record = self.record_of(shell, &mut input).await?;
                self.inputs.insert(name, input);
                if record.is_some() && source == Source::Command {
                    self.globals[NR] = Value::Number(self.globals[NR].number() + 1.0);
                }
                record
            }
        };
        let Some(record) = record else {
            self.push(Value::Number(0.0))?;
            return Ok(());
        };
        let record = Value::Input(self.text(shell, record)?);
        match target {
            None => self.set_record(record),
            Some(target) => {
                if let Some(index) = index {
                    self.push(index)?;
                }
                self.store(shell, target, record).await?;
            }
        }
        self.push(Value::Number(1.0))?;
        Ok(())
    }

    fn pop_index(&mut self, target: Option<Target>) -> Option<Value> {
        match target {
            Some(Target::Field | Target::Element(_)) => Some(self.pop()),
            Some(Target::Variable(_)) | None => None,
        }
    }

    /// Takes an input that is open, or opens it; none if it can't be.
    async fn input(&mut self, shell: &Shell, source: Source, name: &[u8]) -> Result<Option<Input>, Interrupt> {
        if let Some(input) = self.inputs.remove(name) {
            return Ok(Some(input));
        }
        if self.inputs.len() + self.outputs.len() >= MAX_STREAMS {
            return Err(RuntimeError("too many files are open".to_owned()).into());
        }
        let text = String::from_utf8_lossy(name).into_owned();
        let reader = match source {
            Source::Command => {
                self.flush(shell).await?;
                let mut bytes = Vec::new();
                let Some(mut held) = shell.shared.used.hold(0) else { return Err(RuntimeError::memory().into()) };
                run_command(shell, &text, None, Some((&mut bytes, &mut held))).await?;
                let mut input = Input::new(shell, Reader::from_bytes(bytes))?;
                input.keep(held);
                return Ok(Some(input));
            }
            Source::File | Source::Main if text == "-" => shell.streams.stdin.clone(),
            Source::File | Source::Main => {
                // What was written to it is to be read.
                self.flush(shell).await?;
                match shell.reader_of(&text) {
                    Ok(reader) => reader,
                    Err(_) => return Ok(None),
                }
            }
        };
        Ok(Some(Input::new(shell, reader)?))
    }

    /// The name that output goes to.
    fn goal(&mut self, redirection: Redirection) -> Vec<u8> {
        match redirection {
            Redirection::None => Vec::new(),
            Redirection::Replace | Redirection::Append | Redirection::Command => self.pop().bytes(b"%.6g").into_owned(),
        }
    }

    async fn put_out(
        &mut self,
        shell: &Shell,
        redirection: Redirection,
        goal: Vec<u8>,
        bytes: &[u8],
    ) -> Result<(), Interrupt> {
        shell.count_pieces(&mut self.pieces, 8 + (bytes.len() + goal.len()) as u64 / 16).await?;
        if redirection == Redirection::None || goal == b"/dev/stdout" {
            self.output.extend_from_slice(bytes);
            if self.output.len() > OUTPUT_BYTES {
                let output = std::mem::take(&mut self.output);
                shell.out("awk", &output).await?;
            }
            return Ok(());
        }
        if !self.outputs.contains_key(&goal) {
            if self.inputs.len() + self.outputs.len() >= MAX_STREAMS {
                return Err(RuntimeError("too many files are open".to_owned()).into());
            }
            let output = self.open_output(shell, redirection, &goal)?;
            self.outputs.insert(goal.clone(), output);
        }
        match self.outputs.get_mut(&goal) {
            Some(Output::Command { bytes: kept, held }) => {
                let before = kept.capacity();
                kept.extend_from_slice(bytes);
                if kept.len() > MAX_TEXT || !held.grow(kept.capacity() - before) {
                    return Err(RuntimeError::memory().into());
                }
            }
            Some(Output::File { writer, buffer }) => {
                buffer.extend_from_slice(bytes);
                if buffer.len() > OUTPUT_BYTES || goal == b"/dev/stderr" {
                    let full = std::mem::take(buffer);
                    shell.write(writer, "awk", &full).await?;
                }
            }
            None => {}
        }
        Ok(())
    }

    fn open_output(&self, shell: &Shell, redirection: Redirection, goal: &[u8]) -> Result<Output, RuntimeError> {
        if redirection == Redirection::Command {
            let held = shell.shared.used.hold(4096).ok_or_else(RuntimeError::memory)?;
            return Ok(Output::Command { bytes: Vec::new(), held });
        }
        let path = String::from_utf8_lossy(goal);
        let (how, at) = match redirection {
            Redirection::Append => (FileUse::Extend, WriteAt::End),
            _ => (FileUse::Replace, WriteAt::Start),
        };
        match shell.writer_of(&path, how, at) {
            Ok(writer) => Ok(Output::File { writer, buffer: Vec::new() }),
            Err(why) => Err(RuntimeError(format!("cannot open \"{path}\" for output ({why})"))),
        }
    }

    /// Writes what is waiting to be written.
    async fn flush(&mut self, shell: &Shell) -> Result<(), Stop> {
        let output = std::mem::take(&mut self.output);
        if !output.is_empty() {
            shell.out("awk", &output).await?;
        }
        for output in self.outputs.values_mut() {
            if let Output::File { writer, buffer } = output
                && !buffer.is_empty()
            {
                let full = std::mem::take(buffer);
                shell.write(writer, "awk", &full).await?;
            }
        }
        Ok(())
    }

    async fn close_output(&mut self, shell: &Shell, name: &[u8], output: Output) -> Result<i32, Interrupt> {
        match output {
            Output::File { writer, buffer } => {
                shell.write(&writer, "awk", &buffer).await?;
                Ok(0)
            }
            Output::Command { bytes, held } => {
                self.flush(shell).await?;
                let command = String::from_utf8_lossy(name).into_owned();
                let code = run_command(shell, &command, Some(Reader::from_bytes(bytes)), None).await?;
                drop(held);
                Ok(code)
            }
        }
    }

    async fn close_all(&mut self, shell: &Shell) -> Result<(), Interrupt> {
        self.flush(shell).await?;
        while let Some((name, output)) = self.outputs.pop_first() {
            self.close_output(shell, &name, output).await?;
        }
        Ok(())
    }
}

/// A regular expression, in memory that is counted.
struct Expression {
    regular: Regular,
    _held: Held,
}

impl Expression {
    fn new(shell: &Shell, text: &str) -> Result<Self, RuntimeError> {
        let regular = regex::compile(text).map_err(|why| RuntimeError(format!("{why}: /{text}/")))?;
        let held = shell.shared.used.hold(regular.memory()).ok_or_else(RuntimeError::memory)?;
        Ok(Self { regular, _held: held })
    }
}

/// Adds a part of a text.
fn add_part(parts: &mut Vec<Range<usize>>, part: Range<usize>) -> Result<(), RuntimeError> {
    if parts.len() >= MAX_FIELDS {
        return Err(RuntimeError("a text has too many parts".to_owned()));
    }
    parts.push(part);
    Ok(())
}

fn too_long() -> RuntimeError {
    RuntimeError("a text is too long for its expression".to_owned())
}

/// Bytes of a value that is a text.
fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Text(text) | Value::Input(text) => text.len(),
        Value::Unset | Value::Number(_) | Value::Regex(_) | Value::Array(_) => 0,
    }
}

/// Runs a command in a subshell; its exit code. What it writes is taken if there is a place for it.
async fn run_command(
    shell: &Shell,
    command: &str,
    input: Option<Reader>,
    taken: Option<(&mut Vec<u8>, &mut Held)>,
) -> Result<i32, Interrupt> {
    let Some(process) = shell.shared.used.process() else {
        return Err(RuntimeError("cannot start a command: Resource temporarily unavailable".to_owned()).into());
    };
    let mut inner = shell.subshell().await?;
    if let Some(input) = input {
        inner.streams.stdin = input;
    }
    let reader = taken.is_some().then(|| {
        let (writer, reader) = pipe(PIPE_BYTES);
        inner.streams.stdout = writer;
        reader
    });
    let work = async move {
        let done = inner.run_text(command, "-c").await;
        let spent = done == Err(Stop::Spent);
        let code = inner.ended(done).await;
        drop(process);
        (code, spent)
    };
    let collect = async {
        let (Some(mut reader), Some((bytes, held))) = (reader, taken) else { return Ok::<(), Interrupt>(()) };
        loop {
            let before = bytes.capacity();
            let read = reader.read_into(bytes, PIPE_BYTES, None).await;
            shell.step(1).await?;
            if bytes.len() > MAX_TEXT || !held.grow(bytes.capacity() - before) {
                return Err(RuntimeError::memory().into());
            }
            if read == 0 {
                return Ok(());
            }
        }
    };
    let ((code, spent), collected) = futures_util::future::join(work, collect).await;
    if spent {
        return Err(Stop::Spent.into());
    }
    collected?;
    Ok(code)
}
