//! Programs, read and compiled in one go.

use super::code::{
    Binary, Definition, Function, Instruction, Program, Redirection, Replaces, SPECIAL, SortBy, Source, Target,
    Variable, Yields,
};
use super::lexer::{Lexer, Token};
use std::collections::HashMap;

/// Statements and expressions within each other.
const MAX_NESTING: usize = 100;
/// Instructions, names and constants of a program.
const MAX_PARTS: usize = 200_000;

/// An expression that has been read: its value is on the stack, or it is what could be assigned to, and its index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operand {
    Value,
    Place(Target),
}

/// Places of a loop that its statements go to.
#[derive(Debug, Default)]
struct Loop {
    breaks: Vec<usize>,
    continues: Vec<usize>,
}

/// Meaning of `>` and of `in`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    Expression,
    /// Values of `print`: `>` names their destination.
    Print,
}

pub(super) struct Compiler<'t> {
    lexer: Lexer<'t>,
    token: Token,
    program: Program,
    code: Vec<Instruction>,
    globals: HashMap<String, usize>,
    functions: HashMap<String, usize>,
    /// Names of functions that have been defined, by number.
    defined: Vec<Option<String>>,
    locals: HashMap<String, usize>,
    /// The function that is being read.
    scope: Option<usize>,
    loops: Vec<Loop>,
    context: Context,
    depth: usize,
    /// Variables that are arrays, and names that were given to functions: scope, variable, function, parameter.
    arrays: Vec<(Option<usize>, Variable)>,
    passed: Vec<(Option<usize>, Variable, usize, usize)>,
}

type Parsed<T = ()> = Result<T, String>;

/// Compiles a program. Err: what is wrong with it, and in which line.
pub(super) fn compile(text: &str) -> Result<Program, String> {
    let mut compiler = Compiler {
        lexer: Lexer::new(text),
        token: Token::Newline,
        program: Program::default(),
        code: Vec::new(),
        globals: HashMap::new(),
        functions: HashMap::new(),
        defined: Vec::new(),
        locals: HashMap::new(),
        scope: None,
        loops: Vec::new(),
        context: Context::Expression,
        depth: 0,
        arrays: Vec::new(),
        passed: Vec::new(),
    };
    for name in SPECIAL {
        compiler.global(name);
    }
    for name in ["ENVIRON", "ARGV"] {
        let variable = Variable::Global(compiler.global(name));
        compiler.arrays.push((None, variable));
    }
    let read = compiler.program();
    if let Err(why) = read {
        return Err(format!("line {}: {why}", compiler.lexer.line()));
    }
    compiler.finish()
}

impl Compiler<'_> {
    fn finish(mut self) -> Result<Program, String> {
        if let Some(at) = self.defined.iter().position(Option::is_none) {
            let name = self.functions.iter().find(|(_, number)| **number == at).map_or("", |(name, _)| name);
            return Err(format!("function `{name}' not defined"));
        }
        self.program.arrays = vec![false; self.program.names.len()];
        for definition in &mut self.program.functions {
            definition.arrays = vec![false; definition.parameters];
        }
        for (scope, variable) in std::mem::take(&mut self.arrays) {
            *self.is_array(scope, variable) = true;
        }
        // What is given to an array is one, and what is given one.
        loop {
            let mut changed = false;
            for at in 0..self.passed.len() {
                let (scope, variable, function, parameter) = self.passed[at];
                if parameter >= self.program.functions[function].parameters {
                    continue;
                }
                let given = *self.is_array(scope, variable);
                let taken = self.program.functions[function].arrays[parameter];
                if given != taken {
                    changed = true;
                    *self.is_array(scope, variable) = true;
                    self.program.functions[function].arrays[parameter] = true;
                }
            }
            if !changed {
                return Ok(self.program);
            }
        }
    }

    fn is_array(&mut self, scope: Option<usize>, variable: Variable) -> &mut bool {
        match (scope, variable) {
            (Some(function), Variable::Local(at)) => &mut self.program.functions[function].arrays[at],
            (_, Variable::Global(at) | Variable::Local(at)) => &mut self.program.arrays[at],
        }
    }

    fn advance(&mut self) -> Parsed<Token> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn is(&self, operator: &str) -> bool {
        matches!(&self.token, Token::Operator(found) if *found == operator)
    }

    fn is_keyword(&self, word: &str) -> bool {
        matches!(&self.token, Token::Keyword(found) if *found == word)
    }

    fn take(&mut self, operator: &str) -> Parsed<bool> {
        let found = self.is(operator);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, operator: &str) -> Parsed {
        match self.take(operator)? {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    fn unexpected(&self) -> String {
        let what = match &self.token {
            Token::Number(number) => number.to_string(),
            Token::Text(_) => "a string".to_owned(),
            Token::Name(name) | Token::Called(name) => name.clone(),
            Token::Function(function) => format!("{function:?}").to_lowercase(),
            Token::Keyword(word) | Token::Operator(word) => (*word).to_owned(),
            Token::Newline => "end of line".to_owned(),
            Token::End => "end of program".to_owned(),
        };
        format!("syntax error at or near {what}")
    }

    fn skip_newlines(&mut self) -> Parsed {
        while self.token == Token::Newline {
            self.advance()?;
        }
        Ok(())
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_NESTING {
            return Err(format!("nested more than {MAX_NESTING} deep"));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn emit(&mut self, instruction: Instruction) -> usize {
        self.code.push(instruction);
        self.code.len() - 1
    }

    /// Makes an instruction that goes somewhere go to what comes next.
    fn land(&mut self, at: usize) {
        let to = self.code.len();
        match &mut self.code[at] {
            Instruction::Jump(target)
            | Instruction::JumpIfFalse(target)
            | Instruction::JumpIfTrue(target)
            | Instruction::JumpIfActive { to: target, .. }
            | Instruction::NextKey { end: target } => *target = to,
            _ => {}
        }
    }

    fn global(&mut self, name: &str) -> usize {
        if let Some(number) = self.globals.get(name) {
            return *number;
        }
        let number = self.program.names.len();
        self.program.names.push(name.to_owned());
        self.globals.insert(name.to_owned(), number);
        number
    }

    fn variable(&mut self, name: &str) -> Variable {
        match self.locals.get(name) {
            Some(number) => Variable::Local(*number),
            None => Variable::Global(self.global(name)),
        }
    }

    fn array(&mut self, name: &str) -> Variable {
        let variable = self.variable(name);
        self.arrays.push((self.scope, variable));
        variable
    }

    fn function(&mut self, name: &str) -> usize {
        if let Some(number) = self.functions.get(name) {
            return *number;
        }
        let number = self.defined.len();
        self.defined.push(None);
        self.program.functions.push(Definition::default());
        self.functions.insert(name.to_owned(), number);
        number
    }

    fn constant(&mut self, bytes: Vec<u8>) -> Instruction {
        self.program.constants.push(bytes);
        Instruction::Constant(self.program.constants.len() - 1)
    }

    fn regex(&mut self) -> Parsed<usize> {
        // The slash was read, and with it what follows: an equals sign is the expression's.
        let mut text = if self.is("/=") { "=".to_owned() } else { String::new() };
        text.push_str(&self.lexer.regex()?);
        self.advance()?;
        self.program.regexes.push(text);
        Ok(self.program.regexes.len() - 1)
    }

    fn is_regex(&self) -> bool {
        self.is("/") || self.is("/=")
    }

    fn segment(&mut self) -> usize {
        self.program.segments.push(std::mem::take(&mut self.code));
        self.program.segments.len() - 1
    }

    fn program(&mut self) -> Parsed {
        self.advance()?;
        loop {
            while self.token == Token::Newline || self.is(";") {
                self.advance()?;
            }
            let parts = self.program.segments.iter().map(Vec::len).sum::<usize>()
                + self.program.constants.len()
                + self.program.names.len()
                + self.passed.len();
            if parts > MAX_PARTS {
                return Err("the program is too large".to_owned());
            }
            match &self.token {
                Token::End => return Ok(()),
                Token::Keyword("BEGIN") => {
                    self.advance()?;
                    self.action()?;
                    let segment = self.segment();
                    self.program.begin.push(segment);
                }
                Token::Keyword("END") => {
                    self.advance()?;
                    self.action()?;
                    let segment = self.segment();
                    self.program.end.push(segment);
                }
                Token::Keyword("function") => self.definition()?,
                _ => self.rule()?,
            }
        }
    }

    fn definition(&mut self) -> Parsed {
        self.advance()?;
        let (Token::Name(name) | Token::Called(name)) = self.advance()? else {
            return Err("syntax error at a function's name".to_owned());
        };
        self.expect("(")?;
        let mut parameters = 0;
        while !self.is(")") {
            self.skip_newlines()?;
            let Token::Name(parameter) = self.advance()? else {
                return Err(format!("syntax error in the parameters of {name}"));
            };
            self.locals.insert(parameter, parameters);
            parameters += 1;
            if !self.take(",")? {
                break;
            }
        }
        self.expect(")")?;
        self.skip_newlines()?;
        let number = self.function(&name);
        if self.defined[number].replace(name.clone()).is_some() {
            return Err(format!("function `{name}' is defined twice"));
        }
        self.scope = Some(number);
        self.program.functions[number].parameters = parameters;
        self.action()?;
        let unset = self.constant(Vec::new());
        self.emit(unset);
        self.emit(Instruction::Return);
        self.program.functions[number].segment = self.segment();
        self.scope = None;
        self.locals.clear();
        Ok(())
    }

    fn rule(&mut self) -> Parsed {
        let mut skips = Vec::new();
        if !self.is("{") {
            let start = self.code.len();
            self.expression()?;
            if self.take(",")? {
                self.skip_newlines()?;
                let first: Vec<Instruction> = self.code.drain(start..).collect();
                let range = self.program.ranges;
                self.program.ranges += 1;
                let active = self.emit(Instruction::JumpIfActive { range, to: 0 });
                // Jumps within the first pattern stay within it.
                self.code.extend(first.into_iter().map(|instruction| moved(instruction, 1)));
                skips.push(self.emit(Instruction::JumpIfFalse(0)));
                self.emit(Instruction::SetActive { range, active: true });
                self.land(active);
                self.expression()?;
                let goes_on = self.emit(Instruction::JumpIfFalse(0));
                self.emit(Instruction::SetActive { range, active: false });
                self.land(goes_on);
            } else {
                skips.push(self.emit(Instruction::JumpIfFalse(0)));
            }
        }
        match self.is("{") {
            true => self.action()?,
            false => {
                self.emit(Instruction::Print { arguments: 0, redirection: Redirection::None });
            }
        }
        for skip in skips {
            self.land(skip);
        }
        let segment = self.segment();
        self.program.rules.push(segment);
        Ok(())
    }

    /// Statements in braces.
    fn action(&mut self) -> Parsed {
        self.expect("{")?;
        while !self.is("}") {
            if self.token == Token::Newline || self.is(";") {
                self.advance()?;
                continue;
            }
            self.statement()?;
        }
        self.advance()?;
        Ok(())
    }

    fn statement(&mut self) -> Parsed {
        self.deeper(Self::nested_statement)
    }

    /// The body of a loop or a condition.
    fn body(&mut self) -> Parsed {
        self.skip_newlines()?;
        match self.take(";")? {
            true => Ok(()),
            false => self.statement(),
        }
    }

    fn end_of_statement(&mut self) -> Parsed {
        match &self.token {
            Token::Newline | Token::Operator(";") => self.advance().map(|_| ()),
            Token::Operator("}") | Token::End => Ok(()),
            _ => Err(self.unexpected()),
        }
    }

    fn nested_statement(&mut self) -> Parsed {
        let word = match &self.token {
            Token::Keyword(word) => *word,
            Token::Operator("{") => return self.action(),
            Token::Operator(";") => return self.advance().map(|_| ()),
            _ => "",
        };
        match word {
            "if" => {
                self.advance()?;
                self.condition()?;
                let skip = self.emit(Instruction::JumpIfFalse(0));
                self.body()?;
                let saved = (self.lexer.clone(), self.token.clone());
                while self.token == Token::Newline || self.is(";") {
                    self.advance()?;
                }
                if !self.is_keyword("else") {
                    (self.lexer, self.token) = saved;
                    self.land(skip);
                    return Ok(());
                }
                self.advance()?;
                let end = self.emit(Instruction::Jump(0));
                self.land(skip);
                self.body()?;
                self.land(end);
                Ok(())
            }
            "while" => {
                self.advance()?;
                let start = self.code.len();
                self.condition()?;
                let out = self.emit(Instruction::JumpIfFalse(0));
                self.loop_body(Compiler::body)?;
                let ended = self.end_loop(start);
                self.emit(Instruction::Jump(start));
                self.land(out);
                self.land_all(ended);
                Ok(())
            }
            "do" => {
                self.advance()?;
                let start = self.code.len();
                self.loop_body(Compiler::body)?;
                while self.token == Token::Newline || self.is(";") {
                    self.advance()?;
                }
                let again = self.code.len();
                let ended = self.end_loop(again);
                if !self.is_keyword("while") {
                    return Err(self.unexpected());
                }
                self.advance()?;
                self.condition()?;
                self.emit(Instruction::JumpIfTrue(start));
                self.land_all(ended);
                self.end_of_statement()
            }
            "for" => self.for_loop(),
            "break" | "continue" => {
                self.advance()?;
                let jump = self.emit(Instruction::Jump(0));
                let Some(inner) = self.loops.last_mut() else {
                    return Err(format!("`{word}' is not allowed outside a loop"));
                };
                if word == "break" {
                    inner.breaks.push(jump);
                } else {
                    inner.continues.push(jump);
                }
                self.end_of_statement()
            }
            "next" | "nextfile" => {
                self.advance()?;
                self.emit(if word == "next" { Instruction::Next } else { Instruction::NextFile });
                self.end_of_statement()
            }
            "exit" | "return" => {
                self.advance()?;
                let valued = !matches!(self.token, Token::Newline | Token::End) && !self.is(";") && !self.is("}");
                if valued {
                    self.expression()?;
                }
                match word {
                    "exit" => {
                        self.emit(Instruction::Exit { coded: valued });
                    }
                    _ if self.scope.is_none() => return Err("`return' used outside function context".to_owned()),
                    _ => {
                        if !valued {
                            let unset = self.constant(Vec::new());
                            self.emit(unset);
                        }
                        self.emit(Instruction::Return);
                    }
                }
                self.end_of_statement()
            }
            "delete" => {
                self.advance()?;
                let (Token::Name(name) | Token::Called(name)) = self.advance()? else {
                    return Err("syntax error after delete".to_owned());
                };
                let array = self.array(&name);
                if self.take("[")? {
                    self.subscripts()?;
                    self.emit(Instruction::Delete(array));
                } else {
                    self.emit(Instruction::DeleteAll(array));
                }
                self.end_of_statement()
            }
            "print" | "printf" => {
                self.print(word)?;
                self.end_of_statement()
            }
            _ => {
                self.simple()?;
                self.end_of_statement()
            }
        }
    }

    /// An expression whose value does not count.
    fn simple(&mut self) -> Parsed {
        self.expression()?;
        self.emit(Instruction::Pop);
        Ok(())
    }

    fn condition(&mut self) -> Parsed {
        self.expect("(")?;
        self.within(Context::Expression, Self::expression)?;
        self.expect(")")
    }

    fn within<T>(&mut self, context: Context, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let before = std::mem::replace(&mut self.context, context);
        let value = read(self);
        self.context = before;
        value
    }

    fn loop_body(&mut self, body: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.loops.push(Loop::default());
        body(self)
    }

    /// Ends the innermost loop, whose next turn begins at `again`; the jumps to what comes after it.
    fn end_loop(&mut self, again: usize) -> Vec<usize> {
        let ended = self.loops.pop().unwrap_or_default();
        for at in ended.continues {
            self.code[at] = Instruction::Jump(again);
        }
        ended.breaks
    }

    fn land_all(&mut self, jumps: Vec<usize>) {
        for jump in jumps {
            self.land(jump);
        }
    }

    fn for_loop(&mut self) -> Parsed {
        self.advance()?;
        self.expect("(")?;
        let saved = (self.lexer.clone(), self.token.clone());
        if let Token::Name(name) = self.advance()?
            && self.is_keyword("in")
        {
            self.advance()?;
            if let Token::Name(array) = self.advance()?
                && self.is(")")
            {
                self.advance()?;
                return self.for_each(&name, &array);
            }
        }
        (self.lexer, self.token) = saved;
        if !self.is(";") {
            self.simple()?;
        }
        self.expect(";")?;
        self.skip_newlines()?;
        let start = self.code.len();
        let out = match self.is(";") {
            true => None,
            false => {
                self.expression()?;
                Some(self.emit(Instruction::JumpIfFalse(0)))
            }
        };
        self.expect(";")?;
        self.skip_newlines()?;
        // What is done after each turn is read before it.
        let after = self.code.len();
        if !self.is(")") {
            self.simple()?;
        }
        let after: Vec<Instruction> = self.code.drain(after..).collect();
        let read_at = self.code.len();
        self.expect(")")?;
        self.loop_body(Compiler::body)?;
        let again = self.code.len();
        let ended = self.end_loop(again);
        self.code.extend(after.into_iter().map(|instruction| moved(instruction, again - read_at)));
        self.emit(Instruction::Jump(start));
        if let Some(out) = out {
            self.land(out);
        }
        self.land_all(ended);
        Ok(())
    }

    fn for_each(&mut self, name: &str, array: &str) -> Parsed {
        let array = self.array(array);
        let variable = self.variable(name);
        self.emit(Instruction::Iterate(array));
        let start = self.emit(Instruction::NextKey { end: 0 });
        self.emit(Instruction::Store(Target::Variable(variable)));
        self.emit(Instruction::Pop);
        self.loop_body(Compiler::body)?;
        let ended = self.end_loop(start);
        self.emit(Instruction::Jump(start));
        self.land(start);
        self.land_all(ended);
        self.emit(Instruction::EndIteration);
        Ok(())
    }

    fn print(&mut self, word: &str) -> Parsed {
        self.advance()?;
        let mut arguments = None;
        if self.is("(") {
            // Values in parentheses, or a value that begins with one.
            let saved = (self.lexer.clone(), self.token.clone(), self.code.len());
            self.advance()?;
            let count = self.within(Context::Expression, |compiler| compiler.list(")"));
            if let Ok(count) = count {
                let ends = matches!(self.token, Token::Newline | Token::End)
                    || [";", "}", ">", ">>", "|"].iter().any(|operator| self.is(operator));
                arguments = ends.then_some(count);
            }
            if arguments.is_none() {
                (self.lexer, self.token) = (saved.0, saved.1);
                self.code.truncate(saved.2);
            }
        }
        let arguments = match arguments {
            Some(count) => count,
            None if matches!(self.token, Token::Newline | Token::End) => 0,
            None if [";", "}", ">", ">>", "|"].iter().any(|operator| self.is(operator)) => 0,
            None => self.within(Context::Print, |compiler| {
                let mut count = 0;
                loop {
                    compiler.expression()?;
                    count += 1;
                    if !compiler.take(",")? {
                        return Ok(count);
                    }
                    compiler.skip_newlines()?;
                }
            })?,
        };
        let redirection = match &self.token {
            Token::Operator(">") => Redirection::Replace,
            Token::Operator(">>") => Redirection::Append,
            Token::Operator("|") => Redirection::Command,
            _ => Redirection::None,
        };
        if redirection != Redirection::None {
            self.advance()?;
            self.within(Context::Print, |compiler| {
                let operand = compiler.concatenation()?;
                compiler.load(operand);
                Ok(())
            })?;
        }
        match word {
            "print" => self.emit(Instruction::Print { arguments, redirection }),
            _ if arguments == 0 => return Err("printf: no format".to_owned()),
            _ => self.emit(Instruction::Printf { arguments, redirection }),
        };
        Ok(())
    }

    /// Expressions with commas between them, up to what ends them.
    fn list(&mut self, end: &str) -> Parsed<usize> {
        let mut count = 0;
        self.skip_newlines()?;
        while !self.is(end) {
            self.expression()?;
            count += 1;
            self.skip_newlines()?;
            if !self.take(",")? {
                break;
            }
            self.skip_newlines()?;
        }
        self.expect(end)?;
        Ok(count)
    }

    fn subscripts(&mut self) -> Parsed {
        let count = self.within(Context::Expression, |compiler| compiler.list("]"))?;
        match count {
            0 => Err("syntax error at or near ]".to_owned()),
            1 => Ok(()),
            count => {
                self.emit(Instruction::Subscript(count));
                Ok(())
            }
        }
    }

    fn load(&mut self, operand: Operand) {
        if let Operand::Place(target) = operand {
            self.emit(Instruction::Load(target));
        }
    }

    /// An expression whose value is on the stack.
    fn expression(&mut self) -> Parsed {
        let operand = self.assignment()?;
        self.load(operand);
        Ok(())
    }

    fn assignment(&mut self) -> Parsed<Operand> {
        self.deeper(|compiler| {
            let operand = compiler.ternary()?;
            let Operand::Place(target) = operand else { return Ok(operand) };
            let binary = match &compiler.token {
                Token::Operator("=") => None,
                Token::Operator("+=") => Some(Binary::Add),
                Token::Operator("-=") => Some(Binary::Subtract),
                Token::Operator("*=") => Some(Binary::Multiply),
                Token::Operator("/=") => Some(Binary::Divide),
                Token::Operator("%=") => Some(Binary::Modulo),
                Token::Operator("^=") => Some(Binary::Power),
                _ => return Ok(operand),
            };
            compiler.advance()?;
            compiler.skip_newlines()?;
            if let Some(binary) = binary {
                if !matches!(target, Target::Variable(_)) {
                    compiler.emit(Instruction::Duplicate);
                }
                compiler.emit(Instruction::Load(target));
                compiler.expression()?;
                compiler.emit(Instruction::Binary(binary));
            } else {
                compiler.expression()?;
            }
            compiler.emit(Instruction::Store(target));
            Ok(Operand::Value)
        })
    }

    fn ternary(&mut self) -> Parsed<Operand> {
        let condition = self.or()?;
        if !self.is("?") {
            return Ok(condition);
        }
        self.load(condition);
        self.advance()?;
        self.skip_newlines()?;
        let other = self.emit(Instruction::JumpIfFalse(0));
        self.expression()?;
        self.skip_newlines()?;
        self.expect(":")?;
        self.skip_newlines()?;
        let end = self.emit(Instruction::Jump(0));
        self.land(other);
        self.expression()?;
        self.land(end);
        Ok(Operand::Value)
    }

    fn or(&mut self) -> Parsed<Operand> {
        self.logical("||", Self::and)
    }

    fn and(&mut self) -> Parsed<Operand> {
        self.logical("&&", Self::contains)
    }

    fn logical(&mut self, operator: &str, side: fn(&mut Self) -> Parsed<Operand>) -> Parsed<Operand> {
        let left = side(self)?;
        if !self.is(operator) {
            return Ok(left);
        }
        self.load(left);
        self.emit(Instruction::ToTruth);
        while self.take(operator)? {
            self.skip_newlines()?;
            self.emit(Instruction::Duplicate);
            let end = match operator {
                "||" => self.emit(Instruction::JumpIfTrue(0)),
                _ => self.emit(Instruction::JumpIfFalse(0)),
            };
            self.emit(Instruction::Pop);
            let right = side(self)?;
            self.load(right);
            self.emit(Instruction::ToTruth);
            self.land(end);
        }
        Ok(Operand::Value)
    }

    fn contains(&mut self) -> Parsed<Operand> {
        let mut left = self.matching()?;
        while self.is_keyword("in") {
            self.load(left);
            self.advance()?;
            let (Token::Name(name) | Token::Called(name)) = self.advance()? else {
                return Err("syntax error after in".to_owned());
            };
            let array = self.array(&name);
            self.emit(Instruction::Contains(array));
            left = Operand::Value;
        }
        Ok(left)
    }

    fn matching(&mut self) -> Parsed<Operand> {
        let mut left = self.comparison()?;
        while self.is("~") || self.is("!~") {
            let wanted = self.is("~");
            self.load(left);
            self.advance()?;
            self.regex_or(Self::comparison)?;
            self.emit(Instruction::Match { wanted });
            left = Operand::Value;
        }
        Ok(left)
    }

    /// A regular expression itself, or a value that is taken for one.
    fn regex_or(&mut self, other: fn(&mut Self) -> Parsed<Operand>) -> Parsed {
        if self.is_regex() {
            let regex = self.regex()?;
            self.emit(Instruction::Regex(regex));
            return Ok(());
        }
        let operand = other(self)?;
        self.load(operand);
        Ok(())
    }

    fn comparison(&mut self) -> Parsed<Operand> {
        let mut left = self.concatenation()?;
        loop {
            let binary = match &self.token {
                Token::Operator("<") => Binary::Less,
                Token::Operator("<=") => Binary::LessOrEqual,
                Token::Operator("==") => Binary::Equal,
                Token::Operator("!=") => Binary::NotEqual,
                Token::Operator(">=") => Binary::GreaterOrEqual,
                Token::Operator(">") if self.context == Context::Expression => Binary::Greater,
                Token::Operator("|") if self.lexer.is_before("getline") => {
                    self.load(left);
                    self.advance()?;
                    self.advance()?;
                    let target = self.read_target()?;
                    self.emit(Instruction::GetLine { source: Source::Command, target });
                    left = Operand::Value;
                    continue;
                }
                _ => return Ok(left),
            };
            self.load(left);
            self.advance()?;
            let right = self.concatenation()?;
            self.load(right);
            self.emit(Instruction::Binary(binary));
            left = Operand::Value;
        }
    }

    fn concatenation(&mut self) -> Parsed<Operand> {
        let mut left = self.additive()?;
        loop {
            let begins = match &self.token {
                Token::Number(_) | Token::Text(_) | Token::Name(_) | Token::Called(_) | Token::Function(_) => true,
                Token::Keyword(word) => {
                    matches!(*word, "length" | "split" | "sub" | "gsub" | "gensub" | "match" | "system" | "close")
                }
                Token::Operator(operator) => matches!(*operator, "$" | "!" | "(" | "-" | "+" | "++" | "--"),
                Token::Newline | Token::End => false,
            };
            if !begins {
                return Ok(left);
            }
            self.load(left);
            let right = self.additive()?;
            self.load(right);
            self.emit(Instruction::Binary(Binary::Concatenate));
            left = Operand::Value;
        }
    }

    fn additive(&mut self) -> Parsed<Operand> {
        self.binary(&[("+", Binary::Add), ("-", Binary::Subtract)], Self::multiplicative)
    }

    fn multiplicative(&mut self) -> Parsed<Operand> {
        let operators = [("*", Binary::Multiply), ("/", Binary::Divide), ("%", Binary::Modulo)];
        self.binary(&operators, Self::unary)
    }

    fn binary(&mut self, operators: &[(&str, Binary)], side: fn(&mut Self) -> Parsed<Operand>) -> Parsed<Operand> {
        let mut left = side(self)?;
        while let Some((_, binary)) = operators.iter().find(|(operator, _)| self.is(operator)).copied() {
            self.load(left);
            self.advance()?;
            let right = side(self)?;
            self.load(right);
            self.emit(Instruction::Binary(binary));
            left = Operand::Value;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Operand> {
        let instruction = match &self.token {
            Token::Operator("!") => Instruction::Not,
            Token::Operator("-") => Instruction::Negate,
            Token::Operator("+") => Instruction::ToNumber,
            _ => return self.power(),
        };
        self.advance()?;
        self.deeper(|compiler| {
            let operand = compiler.unary()?;
            compiler.load(operand);
            compiler.emit(instruction);
            Ok(Operand::Value)
        })
    }

    fn power(&mut self) -> Parsed<Operand> {
        let base = self.postfix()?;
        if !self.is("^") {
            return Ok(base);
        }
        self.load(base);
        self.advance()?;
        self.deeper(|compiler| {
            let exponent = compiler.unary()?;
            compiler.load(exponent);
            compiler.emit(Instruction::Binary(Binary::Power));
            Ok(Operand::Value)
        })
    }

    fn postfix(&mut self) -> Parsed<Operand> {
        let operand = self.primary()?;
        let Operand::Place(target) = operand else { return Ok(operand) };
        let by = match &self.token {
            Token::Operator("++") => 1.0,
            Token::Operator("--") => -1.0,
            _ => return Ok(operand),
        };
        self.advance()?;
        self.emit(Instruction::Adjust { target, by, yields: Yields::Old });
        Ok(Operand::Value)
    }

    fn primary(&mut self) -> Parsed<Operand> {
        self.deeper(Self::nested_primary)
    }

    fn nested_primary(&mut self) -> Parsed<Operand> {
        if self.is_regex() {
            let regex = self.regex()?;
            self.emit(Instruction::MatchRecord(regex));
            return Ok(Operand::Value);
        }
        match self.advance()? {
            Token::Number(number) => {
                self.emit(Instruction::Number(number));
            }
            Token::Text(bytes) => {
                let constant = self.constant(bytes);
                self.emit(constant);
            }
            Token::Name(name) => return self.name(&name),
            Token::Called(name) => self.call(&name)?,
            Token::Function(function) => self.apply(function)?,
            Token::Keyword(word) => self.special(word)?,
            Token::Operator("$") => {
                let operand = match &self.token {
                    Token::Operator("++" | "--" | "-" | "+" | "!") => self.unary()?,
                    _ => self.primary()?,
                };
                self.load(operand);
                return Ok(Operand::Place(Target::Field));
            }
            Token::Operator(sign @ ("++" | "--")) => {
                let Operand::Place(target) = self.primary()? else {
                    return Err(format!("syntax error after {sign}"));
                };
                let by = if sign == "++" { 1.0 } else { -1.0 };
                self.emit(Instruction::Adjust { target, by, yields: Yields::New });
            }
            Token::Operator("(") => {
                let count = self.within(Context::Expression, |compiler| compiler.list(")"))?;
                match count {
                    1 => {}
                    0 => return Err("syntax error at or near )".to_owned()),
                    count if self.is_keyword("in") => {
                        self.emit(Instruction::Subscript(count));
                    }
                    _ => return Err(self.unexpected()),
                }
            }
            other => {
                self.token = other;
                return Err(self.unexpected());
            }
        }
        Ok(Operand::Value)
    }

    fn name(&mut self, name: &str) -> Parsed<Operand> {
        if self.take("[")? {
            let array = self.array(name);
            self.subscripts()?;
            return Ok(Operand::Place(Target::Element(array)));
        }
        Ok(Operand::Place(Target::Variable(self.variable(name))))
    }

    fn call(&mut self, name: &str) -> Parsed {
        let function = self.function(name);
        self.expect("(")?;
        let mut arguments = 0;
        self.skip_newlines()?;
        while !self.is(")") {
            let operand = self.within(Context::Expression, Self::assignment)?;
            if let Operand::Place(Target::Variable(variable)) = operand {
                self.passed.push((self.scope, variable, function, arguments));
            }
            self.load(operand);
            arguments += 1;
            self.skip_newlines()?;
            if !self.take(",")? {
                break;
            }
            self.skip_newlines()?;
        }
        self.expect(")")?;
        self.emit(Instruction::Call { function, arguments });
        Ok(())
    }

    fn apply(&mut self, function: Function) -> Parsed {
        let arguments = match self.is("(") {
            true => {
                self.advance()?;
                self.within(Context::Expression, |compiler| compiler.list(")"))?
            }
            false => return Err(self.unexpected()),
        };
        let (least, most) = match function {
            Function::Rand | Function::Systime => (0, 0),
            Function::Srand => (0, 1),
            Function::Strftime => (0, 3),
            Function::Index | Function::Atan2 | Function::Lshift | Function::Rshift => (2, 2),
            Function::Substr => (2, 3),
            Function::And | Function::Or | Function::Xor => (2, usize::MAX),
            Function::Sprintf => (1, usize::MAX),
            Function::Mktime => (1, 2),
            _ => (1, 1),
        };
        if !(least..=most).contains(&arguments) {
            let name = format!("{function:?}").to_lowercase();
            return Err(format!("{arguments} is invalid as number of arguments for {name}"));
        }
        self.emit(Instruction::Apply { function, arguments });
        Ok(())
    }

    /// A name in an argument that has to be that of an array.
    fn array_argument(&mut self) -> Parsed<Variable> {
        match self.advance()? {
            Token::Name(name) => Ok(self.array(&name)),
            _ => Err("an array is expected".to_owned()),
        }
    }

    /// Reads an operand that can be assigned to, for `getline` or `sub`.
    fn read_target(&mut self) -> Parsed<Option<Target>> {
        match &self.token {
            Token::Name(_) | Token::Operator("$") => match self.primary()? {
                Operand::Place(target) => Ok(Some(target)),
                Operand::Value => Err(self.unexpected()),
            },
            _ => Ok(None),
        }
    }

    /// Functions and expressions with a grammar of their own.
    fn special(&mut self, word: &'static str) -> Parsed {
        if word == "getline" {
            let target = self.read_target()?;
            let source = match self.take("<")? {
                true => {
                    let operand = self.postfix()?;
                    self.load(operand);
                    Source::File
                }
                false => Source::Main,
            };
            self.emit(Instruction::GetLine { source, target });
            return Ok(());
        }
        if word == "length" && !self.is("(") {
            self.emit(Instruction::Number(0.0));
            self.emit(Instruction::Load(Target::Field));
            self.emit(Instruction::Apply { function: Function::Length, arguments: 1 });
            return Ok(());
        }
        if !["length", "split", "sub", "gsub", "gensub", "match", "system", "close", "fflush", "asort", "asorti"]
            .contains(&word)
        {
            self.token = Token::Keyword(word);
            return Err(self.unexpected());
        }
        if word == "fflush" && !self.is("(") {
            self.emit(Instruction::Number(0.0));
            self.emit(Instruction::Flush);
            return Ok(());
        }
        self.expect("(")?;
        self.within(Context::Expression, |compiler| compiler.arguments(word))?;
        self.expect(")")
    }

    fn comma(&mut self) -> Parsed {
        self.skip_newlines()?;
        self.expect(",")?;
        self.skip_newlines()
    }

    fn arguments(&mut self, word: &str) -> Parsed {
        match word {
            "length" => {
                if self.is(")") {
                    self.emit(Instruction::Number(0.0));
                    self.emit(Instruction::Load(Target::Field));
                    self.emit(Instruction::Apply { function: Function::Length, arguments: 1 });
                    return Ok(());
                }
                match self.assignment()? {
                    // It may turn out to be an array.
                    Operand::Place(Target::Variable(variable)) => {
                        self.emit(Instruction::LengthOf(variable));
                    }
                    operand => {
                        self.load(operand);
                        self.emit(Instruction::Apply { function: Function::Length, arguments: 1 });
                    }
                }
            }
            "split" => {
                self.expression()?;
                self.comma()?;
                let array = self.array_argument()?;
                let separated = self.take(",")?;
                if separated {
                    self.skip_newlines()?;
                    self.regex_or(Self::assignment)?;
                }
                self.emit(Instruction::Split { array, separated });
            }
            "sub" | "gsub" => {
                self.regex_or(Self::assignment)?;
                self.comma()?;
                self.expression()?;
                let mut target = Target::Field;
                match self.take(",")? {
                    true => {
                        self.skip_newlines()?;
                        match self.assignment()? {
                            Operand::Place(place) => target = place,
                            // What is no place is changed in vain.
                            Operand::Value => {
                                let scratch = Variable::Global(self.global("scratch value"));
                                self.emit(Instruction::Store(Target::Variable(scratch)));
                                self.emit(Instruction::Pop);
                                target = Target::Variable(scratch);
                            }
                        }
                    }
                    false => {
                        self.emit(Instruction::Number(0.0));
                    }
                }
                let replaces = if word == "sub" { Replaces::First } else { Replaces::All };
                self.emit(Instruction::Substitute { replaces, target });
            }
            "gensub" => {
                self.regex_or(Self::assignment)?;
                for _ in 0..2 {
                    self.comma()?;
                    self.expression()?;
                }
                let targeted = self.take(",")?;
                if targeted {
                    self.skip_newlines()?;
                    self.expression()?;
                }
                self.emit(Instruction::Gensub { targeted });
            }
            "match" => {
                self.expression()?;
                self.comma()?;
                self.regex_or(Self::assignment)?;
                let array = match self.take(",")? {
                    true => Some(self.array_argument()?),
                    false => None,
                };
                self.emit(Instruction::Find { array });
            }
            "asort" | "asorti" => {
                let array = self.array_argument()?;
                let into = match self.take(",")? {
                    true => Some(self.array_argument()?),
                    false => None,
                };
                let by = if word == "asorti" { SortBy::Key } else { SortBy::Value };
                self.emit(Instruction::Sort { array, into, by });
            }
            "fflush" if self.is(")") => {
                self.emit(Instruction::Number(0.0));
                self.emit(Instruction::Flush);
            }
            word => {
                self.expression()?;
                if word == "close" && self.take(",")? {
                    self.expression()?;
                    self.emit(Instruction::Pop);
                }
                self.emit(match word {
                    "system" => Instruction::System,
                    "close" => Instruction::Close,
                    _ => Instruction::Flush,
                });
            }
        }
        self.skip_newlines()
    }
}

/// An instruction as it is so many places further on.
fn moved(instruction: Instruction, by: usize) -> Instruction {
    match instruction {
        Instruction::Jump(to) => Instruction::Jump(to + by),
        Instruction::JumpIfFalse(to) => Instruction::JumpIfFalse(to + by),
        Instruction::JumpIfTrue(to) => Instruction::JumpIfTrue(to + by),
        instruction => instruction,
    }
}
