//! Compiler of bc's language to [`Code`], a line or a function at a time.

use super::code::{Argument, Binary, Builtin, Code, Comparison, Function, Local, Op, Step, Target, Variable};
use super::lexer::{Lexer, Token, Unfinished};
use super::number::Number;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Expressions and statements within each other.
const MAX_NESTING: usize = 50;
/// Names of variables, arrays and functions.
const MAX_NAMES: usize = 10_000;

/// Numbers of the names of one kind.
#[derive(Debug, Default)]
pub(super) struct Names {
    numbers: HashMap<Arc<str>, usize>,
    pub(super) names: Vec<Arc<str>>,
}

impl Names {
    fn number(&mut self, name: &Arc<str>) -> Result<usize> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        if self.names.len() >= MAX_NAMES {
            return Err(Failure::Refused("too many names"));
        }
        self.names.push(Arc::clone(name));
        self.numbers.insert(Arc::clone(name), self.names.len() - 1);
        Ok(self.names.len() - 1)
    }
}

/// Names that a program uses.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) variables: Names,
    pub(super) arrays: Names,
    pub(super) functions: Names,
    void_functions: HashSet<usize>,
}

/// Reason why an item was not compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// The item goes on in what has not been read yet.
    Unfinished,
    Syntax,
    /// `quit`, which holds as soon as it is read.
    Quit,
    Refused(&'static str),
}

impl From<Unfinished> for Failure {
    fn from(_: Unfinished) -> Self {
        Self::Unfinished
    }
}

type Result<T> = std::result::Result<T, Failure>;

/// Line of statements, or a function.
pub(super) enum Item {
    Statements(Code),
    Function(usize, Function),
    /// No more text.
    End,
}

/// Display of an expression's value when it is a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Yes,
    No,
}

/// Position after a statement, or after the mistake in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Recovered {
    InList,
    AtEndOfLine,
}

/// Meaning of a name in an expression.
enum Named {
    Target(Target),
    /// A call, which has been compiled.
    Value(Shown),
    /// No name.
    Other,
}

/// Requests of statements that hold as soon as they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    Limits,
    Warranty,
}

pub(super) struct Parser<'t> {
    pub(super) lexer: Lexer<'t>,
    tables: &'t mut Tables,
    token: Option<Token>,
    code: Code,
    size: usize,
    nesting: usize,
    is_in_function: bool,
    /// Jumps out of the loops around, and to where each begins anew.
    loops: Vec<(Vec<usize>, Vec<usize>)>,
    /// Braces around.
    braces: usize,
    /// Words that must come before another mistake is reported.
    quiet: usize,
    pub(super) notices: Vec<Notice>,
}

impl<'t> Parser<'t> {
    pub(super) fn new(lexer: Lexer<'t>, tables: &'t mut Tables) -> Self {
        Self {
            lexer,
            tables,
            token: None,
            code: Code::default(),
            size: 0,
            nesting: 0,
            is_in_function: false,
            loops: Vec::new(),
            braces: 0,
            quiet: 0,
            notices: Vec::new(),
        }
    }

    /// Compiles the next item, of which it reports mistakes: one that has some is not to be run.
    pub(super) fn item(&mut self) -> Result<Item> {
        let mut item = self.next_item();
        while matches!(item, Err(Failure::Syntax)) {
            // In the head of a function, or at the end of all text.
            self.braces = 0;
            item = match self.recover() {
                Ok(Recovered::AtEndOfLine) => Ok(Item::Statements(Code::default())),
                Ok(Recovered::InList) => self.next_item(),
                Err(Failure::Syntax) => Ok(Item::End),
                Err(failure) => Err(failure),
            };
        }
        if let Err(Failure::Refused(why)) = item {
            self.mistake(why);
            while !matches!(self.take()?, Token::Newline | Token::End) {}
            return Ok(Item::Statements(Code::default()));
        }
        item
    }

    fn next_item(&mut self) -> Result<Item> {
        if self.peek()? == &Token::End {
            return Ok(Item::End);
        }
        if self.peek()? == &Token::Word("define") {
            self.take()?;
            return self.function();
        }
        loop {
            while self.accept(&Token::Sign(";"))? {}
            if self.accept(&Token::Newline)? {
                return Ok(Item::Statements(std::mem::take(&mut self.code)));
            }
            if self.listed_statement(|token| matches!(token, Token::Sign(";") | Token::Newline))? == Recovered::InList {
                continue;
            }
            // The rest of the line was passed over.
            return Ok(Item::Statements(Code::default()));
        }
    }

    /// Compiles a statement of a list, which ends before one of these words. After a mistake the next one is tried, as
    /// GNU's does: it is found in the words that are left, newlines included when the list is within braces.
    fn listed_statement(&mut self, ends: fn(&Token) -> bool) -> Result<Recovered> {
        let (nesting, loops, braces) = (self.nesting, self.loops.len(), self.braces);
        loop {
            let done = self.statement().and_then(|()| if ends(self.peek()?) { Ok(()) } else { Err(Failure::Syntax) });
            match done {
                Err(Failure::Syntax) => {}
                done => return done.map(|()| Recovered::InList),
            }
            self.nesting = nesting;
            self.loops.truncate(loops);
            self.braces = braces;
            if self.recover()? == Recovered::AtEndOfLine {
                return Ok(Recovered::AtEndOfLine);
            }
        }
    }

    /// Reports a mistake, and passes over words up to one that begins a statement, or the end of the line.
    fn recover(&mut self) -> Result<Recovered> {
        // At the end of all text, lines are counted anew.
        let line = if self.token == Some(Token::End) { 1 } else { self.lexer.line };
        if self.quiet == 0 {
            self.lexer.mistakes.push((Some(line), "syntax error".to_owned()));
        }
        self.quiet = 3;
        loop {
            let is_in_braces = self.braces > 0;
            match self.peek()? {
                Token::End => return Err(Failure::Syntax),
                Token::Newline if !is_in_braces => {
                    self.token = None;
                    self.quiet = 0;
                    return Ok(Recovered::AtEndOfLine);
                }
                token if begins_statement(token) => return Ok(Recovered::InList),
                _ => self.token = None,
            }
        }
    }

    fn peek(&mut self) -> Result<&Token> {
        if self.token.is_none() {
            self.token = Some(self.lexer.next()?);
        }
        Ok(self.token.as_ref().unwrap_or(&Token::End))
    }

    fn take(&mut self) -> Result<Token> {
        self.peek()?;
        self.quiet = self.quiet.saturating_sub(1);
        Ok(self.token.take().unwrap_or(Token::End))
    }

    fn accept(&mut self, token: &Token) -> Result<bool> {
        let is_next = self.peek()? == token;
        if is_next {
            self.take()?;
        }
        Ok(is_next)
    }

    fn expect(&mut self, sign: &'static str) -> Result<()> {
        match self.accept(&Token::Sign(sign))? {
            true => Ok(()),
            false => Err(Failure::Syntax),
        }
    }

    fn emit(&mut self, op: Op, size: usize) {
        self.size += size;
        self.code.ops.push(op);
        self.code.offsets.push(self.size);
    }

    fn deeper(&mut self) -> Result<()> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(Failure::Refused("nested too deeply"));
        }
        Ok(())
    }

    /// Adds a jump whose target is set later.
    fn emit_jump(&mut self, make: fn(usize) -> Op) -> usize {
        self.emit(make(0), 3);
        self.code.ops.len() - 1
    }

    /// Makes a jump lead to what comes next.
    fn land(&mut self, jump: usize) {
        let here = self.code.ops.len();
        self.land_at(jump, here);
    }

    fn land_at(&mut self, jump: usize, target: usize) {
        match &mut self.code.ops[jump] {
            Op::Jump(to) | Op::JumpIfZero(to) | Op::JumpUnlessZero(to) => *to = target,
            _ => {}
        }
    }

    /// Reports a mistake, after which the item is read to its end.
    fn mistake(&mut self, what: &str) {
        self.lexer.mistakes.push((Some(self.lexer.line), what.to_owned()));
    }

    fn skip_newlines(&mut self) -> Result<()> {
        while self.accept(&Token::Newline)? {}
        Ok(())
    }

    /// Compiles what is behind `define`.
    fn function(&mut self) -> Result<Item> {
        let is_void = self.accept(&Token::Word("void"))?;
        let Token::Name(name) = self.take_if_name()? else { return Err(Failure::Syntax) };
        let number = self.tables.functions.number(&name)?;
        match is_void {
            true => self.tables.void_functions.insert(number),
            false => self.tables.void_functions.remove(&number),
        };
        self.expect("(")?;
        let parameters = if self.peek()? == &Token::Sign(")") { Vec::new() } else { self.locals()? };
        self.expect(")")?;
        self.skip_newlines()?;
        self.expect("{")?;
        while self.accept(&Token::Newline)? || self.accept(&Token::Sign(";"))? {}
        let mut locals = Vec::new();
        if self.accept(&Token::Word("auto"))? {
            locals = self.locals()?;
            if !self.accept(&Token::Newline)? {
                self.expect(";")?;
            }
        }
        self.is_in_function = true;
        self.statements()?;
        self.emit(Op::Constant(Arc::from("0"), Number::default()), 1);
        self.emit(Op::Return, 1);
        let code = Arc::new(std::mem::take(&mut self.code));
        Ok(Item::Function(number, Function { parameters, locals, code }))
    }

    fn take_if_name(&mut self) -> Result<Token> {
        match self.peek()? {
            Token::Name(_) => self.take(),
            _ => Err(Failure::Syntax),
        }
    }

    fn locals(&mut self) -> Result<Vec<Local>> {
        let number_of = |local: &Local| match local {
            Local::Variable(number) => (false, *number),
            Local::Array(number) | Local::Reference(number) => (true, *number),
        };
        let mut seen = HashSet::new();
        let mut locals = Vec::new();
        loop {
            let is_reference = self.accept(&Token::Sign("*"))?;
            let Token::Name(name) = self.take_if_name()? else { return Err(Failure::Syntax) };
            let is_array = self.accept(&Token::Sign("["))?;
            if is_array {
                self.expect("]")?;
            }
            let local = match (is_array, is_reference) {
                (true, false) => Local::Array(self.tables.arrays.number(&name)?),
                (true, true) => Local::Reference(self.tables.arrays.number(&name)?),
                (false, false) => Local::Variable(self.tables.variables.number(&name)?),
                (false, true) => return Err(Failure::Syntax),
            };
            if !seen.insert(number_of(&local)) {
                self.mistake("duplicate parameter names");
            }
            locals.push(local);
            if !self.accept(&Token::Sign(","))? {
                return Ok(locals);
            }
        }
    }

    /// Compiles statements up to a closing brace, behind the opening one.
    fn statements(&mut self) -> Result<()> {
        self.braces += 1;
        loop {
            while self.accept(&Token::Newline)? || self.accept(&Token::Sign(";"))? {}
            if self.accept(&Token::Sign("}"))? {
                self.braces -= 1;
                return Ok(());
            }
            self.listed_statement(|token| matches!(token, Token::Sign(";" | "}") | Token::Newline))?;
        }
    }

    fn statement(&mut self) -> Result<()> {
        self.deeper()?;
        self.nested_statement()?;
        self.nesting -= 1;
        Ok(())
    }

    fn nested_statement(&mut self) -> Result<()> {
        match self.peek()?.clone() {
            Token::Text(text) => {
                self.take()?;
                let size = text.len() + 2;
                self.emit(Op::Text { text, escapes: false }, size);
                Ok(())
            }
            Token::Sign("{") => {
                self.take()?;
                self.statements()
            }
            Token::Word(word) => match word {
                "if" => self.if_statement(),
                "while" => self.while_statement(),
                "for" => self.for_statement(),
                "print" => self.print_statement(),
                "return" => self.return_statement(),
                "break" | "continue" => {
                    self.take()?;
                    let jump = self.emit_jump(Op::Jump);
                    match self.loops.last_mut() {
                        Some((ends, _)) if word == "break" => ends.push(jump),
                        Some((_, begins)) => begins.push(jump),
                        None if word == "break" => self.mistake("Break outside a for/while"),
                        None => self.mistake("Continue outside a for"),
                    }
                    Ok(())
                }
                "halt" => {
                    self.take()?;
                    self.emit(Op::Halt, 1);
                    Ok(())
                }
                "quit" => Err(Failure::Quit),
                "limits" | "warranty" => {
                    self.take()?;
                    self.notices.push(if word == "limits" { Notice::Limits } else { Notice::Warranty });
                    Ok(())
                }
                _ => self.expression_statement(),
            },
            _ => self.expression_statement(),
        }
    }

    fn expression_statement(&mut self) -> Result<()> {
        match self.expression()? {
            Shown::Yes => self.emit(Op::Show, 1),
            Shown::No => self.emit(Op::Pop, 1),
        }
        Ok(())
    }

    fn condition(&mut self) -> Result<usize> {
        self.expect("(")?;
        self.expression()?;
        self.expect(")")?;
        self.skip_newlines()?;
        Ok(self.emit_jump(Op::JumpIfZero))
    }

    fn if_statement(&mut self) -> Result<()> {
        self.take()?;
        let otherwise = self.condition()?;
        self.statement()?;
        if !self.accept(&Token::Word("else"))? {
            self.land(otherwise);
            return Ok(());
        }
        let end = self.emit_jump(Op::Jump);
        self.land(otherwise);
        self.skip_newlines()?;
        self.statement()?;
        self.land(end);
        Ok(())
    }

    fn while_statement(&mut self) -> Result<()> {
        self.take()?;
        let begin = self.code.ops.len();
        let out = self.condition()?;
        self.loops.push((vec![out], Vec::new()));
        self.statement()?;
        self.emit(Op::Jump(begin), 3);
        self.end_loop(begin);
        Ok(())
    }

    /// Sets the jumps of a loop, which begins anew at `begin`.
    fn end_loop(&mut self, begin: usize) {
        let (ends, begins) = self.loops.pop().unwrap_or_default();
        for jump in begins {
            self.land_at(jump, begin);
        }
        for jump in ends {
            self.land(jump);
        }
    }

    fn for_statement(&mut self) -> Result<()> {
        self.take()?;
        self.expect("(")?;
        if self.peek()? != &Token::Sign(";") {
            self.expression()?;
            self.emit(Op::Pop, 1);
        }
        self.expect(";")?;
        let condition = self.code.ops.len();
        if self.peek()? == &Token::Sign(";") {
            self.emit(Op::Constant(Arc::from("1"), Number::from(1)), 1);
        } else {
            self.expression()?;
        }
        self.expect(";")?;
        let body = self.emit_jump(Op::JumpUnlessZero);
        let out = self.emit_jump(Op::Jump);
        let next = self.code.ops.len();
        if self.peek()? != &Token::Sign(")") {
            self.expression()?;
            self.emit(Op::Pop, 1);
        }
        self.emit(Op::Jump(condition), 3);
        self.expect(")")?;
        self.skip_newlines()?;
        self.land(body);
        self.loops.push((vec![out], Vec::new()));
        self.statement()?;
        self.emit(Op::Jump(next), 3);
        self.end_loop(next);
        Ok(())
    }

    fn print_statement(&mut self) -> Result<()> {
        self.take()?;
        loop {
            match self.peek()?.clone() {
                Token::Text(text) => {
                    self.take()?;
                    let size = text.len() + 2;
                    self.emit(Op::Text { text, escapes: true }, size);
                }
                _ => {
                    self.expression()?;
                    self.emit(Op::Print, 1);
                }
            }
            if !self.accept(&Token::Sign(","))? {
                return Ok(());
            }
        }
    }

    fn return_statement(&mut self) -> Result<()> {
        self.take()?;
        if matches!(self.peek()?, Token::Sign(";" | "}") | Token::Newline | Token::Word("else")) {
            self.emit(Op::Constant(Arc::from("0"), Number::default()), 1);
        } else {
            self.expression()?;
        }
        self.emit(Op::Return, 1);
        if !self.is_in_function {
            self.mistake("Return outside of a function.");
        }
        Ok(())
    }

    fn expression(&mut self) -> Result<Shown> {
        self.binary(0)
    }

    /// Compiles operators of this rank and above: `||`, `&&`, comparisons, sums, products, powers.
    fn binary(&mut self, rank: usize) -> Result<Shown> {
        self.deeper()?;
        let shown = self.ranked(rank)?;
        self.nesting -= 1;
        Ok(shown)
    }

    fn ranked(&mut self, least: usize) -> Result<Shown> {
        let mut shown = self.unary()?;
        loop {
            let Token::Sign(sign) = *self.peek()? else { return Ok(shown) };
            let Some(rank) = rank_of(sign).filter(|rank| *rank >= least) else { return Ok(shown) };
            self.take()?;
            match sign {
                "&&" => {
                    self.emit(Op::Duplicate, 1);
                    let first = self.emit_jump(Op::JumpIfZero);
                    self.emit(Op::Pop, 1);
                    self.binary(rank + 1)?;
                    self.emit(Op::Duplicate, 1);
                    let second = self.emit_jump(Op::JumpIfZero);
                    self.emit(Op::Pop, 1);
                    self.emit(Op::Constant(Arc::from("1"), Number::from(1)), 1);
                    self.land(first);
                    self.land(second);
                }
                "||" => {
                    let first = self.emit_jump(Op::JumpUnlessZero);
                    self.binary(rank + 1)?;
                    let second = self.emit_jump(Op::JumpUnlessZero);
                    self.emit(Op::Constant(Arc::from("0"), Number::default()), 1);
                    let end = self.emit_jump(Op::Jump);
                    self.land(first);
                    self.land(second);
                    self.emit(Op::Constant(Arc::from("1"), Number::from(1)), 1);
                    self.land(end);
                }
                "^" => {
                    self.binary(rank)?;
                    self.emit(Op::Binary(Binary::Power), 1);
                }
                sign => {
                    self.binary(rank + 1)?;
                    let op = match sign {
                        "+" => Op::Binary(Binary::Add),
                        "-" => Op::Binary(Binary::Subtract),
                        "*" => Op::Binary(Binary::Multiply),
                        "/" => Op::Binary(Binary::Divide),
                        "%" => Op::Binary(Binary::Modulo),
                        "<" => Op::Compare(Comparison::Less),
                        "<=" => Op::Compare(Comparison::LessOrEqual),
                        "==" => Op::Compare(Comparison::Equal),
                        "!=" => Op::Compare(Comparison::NotEqual),
                        ">=" => Op::Compare(Comparison::GreaterOrEqual),
                        _ => Op::Compare(Comparison::Greater),
                    };
                    self.emit(op, 1);
                }
            }
            shown = Shown::Yes;
        }
    }

    fn unary(&mut self) -> Result<Shown> {
        if self.accept(&Token::Sign("!"))? {
            // It holds for all that binds closer, comparisons included.
            self.binary(COMPARISON)?;
            self.emit(Op::Not, 1);
            return Ok(Shown::Yes);
        }
        if self.accept(&Token::Sign("-"))? {
            self.deeper()?;
            let shown = self.unary()?;
            self.nesting -= 1;
            self.emit(Op::Negate, 1);
            return Ok(shown);
        }
        for (sign, step) in [("++", Step::Up), ("--", Step::Down)] {
            if self.accept(&Token::Sign(sign))? {
                let Named::Target(place) = self.name()? else { return Err(Failure::Syntax) };
                let size = if matches!(place, Target::Element(_)) { 5 } else { 4 };
                self.emit(Op::StepFirst(place, step), size);
                return Ok(Shown::Yes);
            }
        }
        match self.name()? {
            Named::Target(place) => self.use_place(place),
            Named::Value(shown) => Ok(shown),
            Named::Other => self.operand(),
        }
    }

    /// Compiles a call, or the index of an element, if a name comes next.
    fn name(&mut self) -> Result<Named> {
        let variable = match self.peek()?.clone() {
            Token::Word("ibase") => Variable::InputBase,
            Token::Word("obase") => Variable::OutputBase,
            Token::Word("last") => Variable::Last,
            Token::Word("history") => Variable::History,
            Token::Word("scale") => {
                self.take()?;
                if self.accept(&Token::Sign("("))? {
                    self.expression()?;
                    self.expect(")")?;
                    self.emit(Op::Builtin(Builtin::Scale), 2);
                    return Ok(Named::Value(Shown::Yes));
                }
                return Ok(Named::Target(Target::Variable(Variable::Scale)));
            }
            Token::Name(name) => {
                self.take()?;
                if self.accept(&Token::Sign("["))? {
                    let array = self.tables.arrays.number(&name)?;
                    self.expression()?;
                    self.expect("]")?;
                    return Ok(Named::Target(Target::Element(array)));
                }
                if self.accept(&Token::Sign("("))? {
                    return Ok(Named::Value(self.call(&name)?));
                }
                return Ok(Named::Target(Target::Variable(Variable::Plain(self.tables.variables.number(&name)?))));
            }
            _ => return Ok(Named::Other),
        };
        self.take()?;
        Ok(Named::Target(Target::Variable(variable)))
    }

    /// Compiles what is done with a place: it is set, changed or read.
    fn use_place(&mut self, place: Target) -> Result<Shown> {
        match *self.peek()? {
            Token::Assign(operator) => {
                self.take()?;
                let binary = match operator {
                    "+" => Some(Binary::Add),
                    "-" => Some(Binary::Subtract),
                    "*" => Some(Binary::Multiply),
                    "/" => Some(Binary::Divide),
                    "%" => Some(Binary::Modulo),
                    "^" => Some(Binary::Power),
                    _ => None,
                };
                if binary.is_some() {
                    match place {
                        Target::Variable(_) => self.emit(Op::Load(place), 2),
                        Target::Element(array) => self.emit(Op::LoadKeepingIndex(array), 3),
                    }
                }
                self.binary(SUM)?;
                if let Some(binary) = binary {
                    self.emit(Op::Binary(binary), 1);
                }
                self.emit(Op::Store(place), 2);
                Ok(Shown::No)
            }
            Token::Sign(sign @ ("++" | "--")) => {
                self.take()?;
                let step = if sign == "++" { Step::Up } else { Step::Down };
                let size = if matches!(place, Target::Element(_)) { 6 } else { 4 };
                self.emit(Op::StepAfter(place, step), size);
                Ok(Shown::Yes)
            }
            _ => {
                self.emit(Op::Load(place), 2);
                Ok(Shown::Yes)
            }
        }
    }

    fn operand(&mut self) -> Result<Shown> {
        match self.peek()?.clone() {
            Token::Number(text) => {
                self.take()?;
                let Ok(value) = Number::parse(&text, 10) else { return Err(Failure::Refused("number too long")) };
                let size = if matches!(&*text, "0" | "1") { 1 } else { text.len() + 2 };
                self.emit(Op::Constant(text, value), size);
                Ok(Shown::Yes)
            }
            Token::Sign("(") => {
                self.take()?;
                self.binary(0)?;
                self.expect(")")?;
                Ok(Shown::Yes)
            }
            Token::Word(word @ ("length" | "sqrt" | "read" | "random")) => {
                self.take()?;
                self.expect("(")?;
                let builtin = match word {
                    "length" => Builtin::Length,
                    "sqrt" => Builtin::SquareRoot,
                    "read" => Builtin::Read,
                    _ => Builtin::Random,
                };
                if matches!(builtin, Builtin::Length | Builtin::SquareRoot) {
                    self.expression()?;
                }
                self.expect(")")?;
                self.emit(Op::Builtin(builtin), 2);
                Ok(Shown::Yes)
            }
            _ => Err(Failure::Syntax),
        }
    }

    /// Compiles the arguments of a call, and the call.
    fn call(&mut self, name: &Arc<str>) -> Result<Shown> {
        let function = self.tables.functions.number(name)?;
        let mut arguments = Vec::new();
        while !self.accept(&Token::Sign(")"))? {
            if !arguments.is_empty() {
                self.expect(",")?;
            }
            arguments.push(self.argument()?);
        }
        let size = arguments.len() + 3;
        self.emit(Op::Call(function, arguments.into()), size);
        Ok(if self.tables.void_functions.contains(&function) { Shown::No } else { Shown::Yes })
    }

    fn argument(&mut self) -> Result<Argument> {
        if let Token::Name(name) = self.peek()?.clone() {
            // An array, when nothing is between its brackets.
            let (at, line) = (self.lexer.at, self.lexer.line);
            self.take()?;
            if self.accept(&Token::Sign("["))? && self.accept(&Token::Sign("]"))? {
                // Its code is as long as that of a number.
                self.size += 3;
                return Ok(Argument::Array(self.tables.arrays.number(&name)?));
            }
            (self.lexer.at, self.lexer.line) = (at, line);
            self.token = Some(Token::Name(name));
        }
        self.expression()?;
        Ok(Argument::Value)
    }
}

/// Returns whether a statement may begin with a word.
fn begins_statement(token: &Token) -> bool {
    match token {
        Token::Number(_) | Token::Name(_) | Token::Text(_) => true,
        Token::Word(word) => !matches!(*word, "auto" | "define" | "else" | "void"),
        Token::Sign(sign) => matches!(*sign, "{" | "(" | "-" | "++" | "--" | "!"),
        Token::Assign(_) | Token::Newline | Token::End => false,
    }
}

/// Rank of comparisons.
const COMPARISON: usize = 3;
/// Rank of sums.
const SUM: usize = 4;

/// Returns the rank of an operator between two operands.
fn rank_of(sign: &str) -> Option<usize> {
    Some(match sign {
        "||" => 0,
        "&&" => 1,
        "<" | "<=" | "==" | "!=" | ">=" | ">" => COMPARISON,
        "+" | "-" => SUM,
        "*" | "/" | "%" => 5,
        "^" => 6,
        _ => return None,
    })
}
