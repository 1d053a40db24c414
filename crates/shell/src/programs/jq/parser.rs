//! Reader of filters.

use super::filter::{Definition, Entry, Filter, Logical, Node, Pattern};
use super::json::Parser as JsonParser;
use super::native::Native;
use super::operator::Binary;
use super::value::{Failure, Memory, Value};
use std::sync::Arc;

/// Filters within each other.
const MAX_NESTING: usize = 100;
/// Longest chain of operators or of pipes, which is as deep as it is long.
const MAX_CHAIN: usize = 2000;

/// A name that a filter may use.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Binding {
    Variable(String),
    Function(String, usize),
    Label(String),
}

/// A word of a filter.
#[derive(Debug, Clone, PartialEq)]
enum Token {
    Number(f64),
    /// A string begins: its parts are read by the parser.
    Quote,
    /// `.name`
    Field(String),
    Variable(String),
    /// `@name`
    Format(String),
    Name(String),
    Operator(&'static str),
    End,
}

const OPERATORS: [&str; 39] = [
    "?//=", "?//", "//=", "|=", "+=", "-=", "*=", "/=", "%=", "==", "!=", "<=", ">=", "//", "..", "|", ",", "=", "<",
    ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", "{", "}", ":", ";", ".", "?", "$", "@", "!", "#",
];

type Read<T = Filter> = Result<T, String>;

pub(super) struct Parser<'t> {
    memory: Memory,
    text: &'t str,
    at: usize,
    token: Token,
    scope: Vec<Binding>,
    depth: usize,
    chain: usize,
}

/// Reads a filter that may use these variables and the functions of `prelude`.
pub(super) fn parse(memory: &Memory, prelude: &str, text: &str, variables: &[String]) -> Read {
    let scope = variables.iter().map(|name| Binding::Variable(name.clone())).collect();
    let whole = format!("{prelude}\n{text}\n");
    let mut parser =
        Parser { memory: memory.clone(), text: &whole, at: 0, token: Token::End, scope, depth: 0, chain: 0 };
    parser.advance()?;
    let filter = parser.program()?;
    match &parser.token {
        Token::End => Ok(filter),
        _ => Err(parser.unexpected()),
    }
}

impl Parser<'_> {
    fn program(&mut self) -> Read {
        // Definitions alone are a filter, too.
        if self.token == Token::End {
            return Ok(Arc::new(Node::Identity));
        }
        self.pipe()
    }

    fn unexpected(&self) -> String {
        let what = match &self.token {
            Token::Number(number) => number.to_string(),
            Token::Quote => "string".to_owned(),
            Token::Field(name) => format!(".{name}"),
            Token::Variable(name) => format!("${name}"),
            Token::Format(name) => format!("@{name}"),
            Token::Name(name) => name.clone(),
            Token::Operator(operator) => (*operator).to_owned(),
            Token::End => "end of filter".to_owned(),
        };
        format!("syntax error, unexpected {what}")
    }

    fn value(&self, made: Result<Value, Failure>) -> Result<Value, String> {
        made.map_err(|_| "memory exhausted".to_owned())
    }

    fn string_value(&self, text: &str) -> Read {
        Ok(Arc::new(Node::Literal(self.value(self.memory.string(text))?)))
    }

    fn name_length(&self, from: usize) -> usize {
        let rest = &self.text.as_bytes()[from..];
        let mut length = 0;
        while let Some(byte) = rest.get(length) {
            let part = byte.is_ascii_alphabetic() || *byte == b'_' || (length > 0 && byte.is_ascii_digit());
            let joint = rest[length..].starts_with(b"::") && length > 0;
            if joint {
                length += 2;
            } else if part {
                length += 1;
            } else {
                break;
            }
        }
        length
    }

    fn advance(&mut self) -> Result<Token, String> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'#') => {
                    while bytes.get(self.at).is_some_and(|byte| *byte != b'\n') {
                        self.at += 1;
                    }
                }
                _ => break,
            }
        }
        let start = self.at;
        let mut name_after = |skip: usize| {
            let length = self.name_length(start + skip);
            (length > 0).then(|| {
                self.at = start + skip + length;
                self.text[start + skip..self.at].to_owned()
            })
        };
        let next = match bytes.get(start) {
            None => Token::End,
            Some(b'"') => {
                self.at += 1;
                Token::Quote
            }
            Some(b'.') if name_after(1).is_some() => Token::Field(self.text[start + 1..self.at].to_owned()),
            Some(b'$') if name_after(1).is_some() => Token::Variable(self.text[start + 1..self.at].to_owned()),
            Some(b'@') if name_after(1).is_some() => Token::Format(self.text[start + 1..self.at].to_owned()),
            Some(byte)
                if byte.is_ascii_digit() || (*byte == b'.' && bytes.get(start + 1).is_some_and(u8::is_ascii_digit)) =>
            {
                let mut end = start;
                while let Some(byte) = bytes.get(end) {
                    let sign = matches!(byte, b'+' | b'-') && matches!(bytes[end - 1], b'e' | b'E') && end > start;
                    if !(byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E') || sign) {
                        break;
                    }
                    end += 1;
                }
                self.at = end;
                Token::Number(self.text[start..end].parse().map_err(|_| "invalid numeric literal".to_owned())?)
            }
            Some(_) => match name_after(0) {
                Some(name) => Token::Name(name),
                None => {
                    let rest = &self.text[start..];
                    match OPERATORS.into_iter().find(|operator| rest.starts_with(operator)) {
                        Some(operator) => {
                            self.at = start + operator.len();
                            Token::Operator(operator)
                        }
                        None => {
                            return Err(format!("syntax error, unexpected '{}'", rest.chars().next().unwrap_or(' ')));
                        }
                    }
                }
            },
        };
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn is(&self, operator: &str) -> bool {
        matches!(&self.token, Token::Operator(found) if *found == operator)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(&self.token, Token::Name(found) if found == word)
    }

    fn take(&mut self, operator: &str) -> Result<bool, String> {
        let found = self.is(operator);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, operator: &str) -> Result<(), String> {
        match self.take(operator)? {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    fn expect_word(&mut self, word: &str) -> Result<(), String> {
        match self.is_word(word) {
            true => self.advance().map(|_| ()),
            false => Err(self.unexpected()),
        }
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= MAX_NESTING {
            return Err(format!("nested more than {MAX_NESTING} deep"));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// Counts a link of a chain.
    fn link(&mut self) -> Result<(), String> {
        self.chain += 1;
        match self.chain > MAX_CHAIN {
            true => Err("the filter is too long".to_owned()),
            false => Ok(()),
        }
    }

    fn out(&self, wanted: &Binding) -> Option<usize> {
        self.scope.iter().rev().position(|binding| binding == wanted)
    }

    /// Reads within more bindings.
    fn binding<T>(&mut self, bindings: Vec<Binding>, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let before = self.scope.len();
        self.scope.extend(bindings);
        let value = read(self);
        self.scope.truncate(before);
        value
    }

    fn pipe(&mut self) -> Read {
        self.deeper(Self::nested_pipe)
    }

    fn nested_pipe(&mut self) -> Read {
        // Definitions stand before what may use them; each is a level of its own.
        if self.is_word("def") {
            let before = self.scope.len();
            let mut definitions = Vec::new();
            while self.is_word("def") {
                definitions.push(self.definition()?);
            }
            let mut rest = self.program()?;
            self.scope.truncate(before);
            for definition in definitions.into_iter().rev() {
                rest = Arc::new(Node::Define(definition, rest));
            }
            return Ok(rest);
        }
        if self.is_word("label") {
            self.advance()?;
            let Token::Variable(name) = self.advance()? else { return Err("a label's name is expected".to_owned()) };
            self.expect("|")?;
            let body = self.binding(vec![Binding::Label(name)], Self::pipe)?;
            return Ok(Arc::new(Node::Label(body)));
        }
        let left = self.comma()?;
        if self.is_word("as") {
            self.advance()?;
            let mut bindings = Vec::new();
            let pattern = Arc::new(self.pattern(&mut bindings)?);
            if self.is("?//") {
                return Err("alternatives of patterns are not supported".to_owned());
            }
            self.expect("|")?;
            let body = self.binding(bindings, Self::pipe)?;
            return Ok(Arc::new(Node::Bind { source: left, pattern, body }));
        }
        if self.take("|")? {
            self.link()?;
            let right = self.pipe()?;
            return Ok(Arc::new(Node::Pipe(left, right)));
        }
        Ok(left)
    }

    fn definition(&mut self) -> Read<Arc<Definition>> {
        self.advance()?;
        let Token::Name(name) = self.advance()? else { return Err("a function's name is expected".to_owned()) };
        let mut parameters = Vec::new();
        if self.take("(")? {
            loop {
                match self.advance()? {
                    Token::Name(name) => parameters.push((name, false)),
                    Token::Variable(name) => parameters.push((name, true)),
                    _ => return Err("a parameter is expected".to_owned()),
                }
                if !self.take(";")? {
                    break;
                }
            }
            self.expect(")")?;
        }
        self.expect(":")?;
        let own = Binding::Function(name, parameters.len());
        let mut bindings = vec![own.clone()];
        bindings.extend(parameters.iter().map(|(name, _)| Binding::Function(name.clone(), 0)));
        let values: Vec<String> = parameters.iter().filter(|(_, value)| *value).map(|(name, _)| name.clone()).collect();
        let body = self.binding(bindings, |parser| {
            let mut inner = Vec::new();
            let mut sources = Vec::new();
            for name in &values {
                // A parameter that is a value is bound in the body.
                let out = parser.out(&Binding::Function(name.clone(), 0)).unwrap_or(0) + inner.len();
                sources.push(out);
                inner.push(Binding::Variable(name.clone()));
            }
            let mut body = parser.binding(inner, Self::pipe)?;
            for out in sources.into_iter().rev() {
                let source = Arc::new(Node::Call { out, arguments: Arc::from([]) });
                body = Arc::new(Node::Bind { source, pattern: Arc::new(Pattern::Variable), body });
            }
            Ok(body)
        })?;
        self.expect(";")?;
        self.scope.push(own);
        Ok(Arc::new(Definition { body }))
    }

    fn pattern(&mut self, bindings: &mut Vec<Binding>) -> Read<Pattern> {
        self.deeper(|parser| parser.nested_pattern(bindings))
    }

    fn nested_pattern(&mut self, bindings: &mut Vec<Binding>) -> Read<Pattern> {
        if self.take("[")? {
            let mut parts = Vec::new();
            loop {
                parts.push(self.pattern(bindings)?);
                if !self.take(",")? {
                    break;
                }
            }
            self.expect("]")?;
            return Ok(Pattern::Array(parts));
        }
        if self.take("{")? {
            let mut entries = Vec::new();
            loop {
                let (name, binds) = match self.token.clone() {
                    Token::Variable(name) => {
                        self.advance()?;
                        bindings.push(Binding::Variable(name.clone()));
                        (self.value(self.memory.string(name))?, true)
                    }
                    Token::Name(name) => {
                        self.advance()?;
                        (self.value(self.memory.string(name))?, false)
                    }
                    Token::Quote => match &*self.string(None)? {
                        Node::Literal(name) => (name.clone(), false),
                        _ => return Err("a plain string is expected in a pattern".to_owned()),
                    },
                    _ => return Err("a name is expected in a pattern".to_owned()),
                };
                let pattern = if self.take(":")? { Some(self.pattern(bindings)?) } else { None };
                entries.push(Entry { name, binds, pattern });
                if !self.take(",")? {
                    break;
                }
            }
            self.expect("}")?;
            return Ok(Pattern::Object(entries));
        }
        match self.advance()? {
            Token::Variable(name) => {
                bindings.push(Binding::Variable(name));
                Ok(Pattern::Variable)
            }
            _ => Err("a variable is expected".to_owned()),
        }
    }

    fn comma(&mut self) -> Read {
        let mut left = self.alternative()?;
        while self.take(",")? {
            self.link()?;
            let right = self.alternative()?;
            left = Arc::new(Node::Comma(left, right));
        }
        Ok(left)
    }

    /// `//`, and the assignments, which bind less than what stands beside them.
    fn alternative(&mut self) -> Read {
        let left = self.assignment()?;
        if self.take("//")? {
            self.link()?;
            let right = self.deeper(Self::alternative)?;
            return Ok(Arc::new(Node::Alternative(left, right)));
        }
        Ok(left)
    }

    fn assignment(&mut self) -> Read {
        let left = self.or()?;
        let name = match &self.token {
            Token::Operator("=") => "_assign",
            Token::Operator("|=") => "",
            Token::Operator("+=") => "_add_to",
            Token::Operator("-=") => "_subtract_from",
            Token::Operator("*=") => "_multiply_by",
            Token::Operator("/=") => "_divide_by",
            Token::Operator("%=") => "_modulo_by",
            Token::Operator("//=") => "_default_to",
            _ => return Ok(left),
        };
        self.advance()?;
        let right = self.deeper(Self::alternative)?;
        if name.is_empty() {
            return Ok(Arc::new(Node::Modify(left, right)));
        }
        let out = self.out(&Binding::Function(name.to_owned(), 2)).ok_or("unknown assignment")?;
        Ok(Arc::new(Node::Call { out, arguments: Arc::from([left, right]) }))
    }

    fn or(&mut self) -> Read {
        self.logical("or", Logical::Or, Self::and)
    }

    fn and(&mut self) -> Read {
        self.logical("and", Logical::And, Self::comparison)
    }

    /// Reads operands that a word joins.
    fn logical(&mut self, word: &str, operator: Logical, operand: fn(&mut Self) -> Read) -> Read {
        let mut left = operand(self)?;
        while self.is_word(word) {
            self.advance()?;
            self.link()?;
            left = Arc::new(Node::Logical(operator, left, operand(self)?));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Read {
        let left = self.additive()?;
        let binary = match &self.token {
            Token::Operator("==") => Binary::Equal,
            Token::Operator("!=") => Binary::NotEqual,
            Token::Operator("<") => Binary::Less,
            Token::Operator("<=") => Binary::LessOrEqual,
            Token::Operator(">") => Binary::Greater,
            Token::Operator(">=") => Binary::GreaterOrEqual,
            _ => return Ok(left),
        };
        self.advance()?;
        let right = self.additive()?;
        Ok(Arc::new(Node::Binary(binary, left, right)))
    }

    fn additive(&mut self) -> Read {
        self.binary(&[("+", Binary::Add), ("-", Binary::Subtract)], Self::multiplicative)
    }

    fn multiplicative(&mut self) -> Read {
        self.binary(&[("*", Binary::Multiply), ("/", Binary::Divide), ("%", Binary::Modulo)], Self::unary)
    }

    fn binary(&mut self, operators: &[(&str, Binary)], side: fn(&mut Self) -> Read) -> Read {
        let mut left = side(self)?;
        while let Some((_, binary)) = operators.iter().find(|(operator, _)| self.is(operator)).copied() {
            self.advance()?;
            self.link()?;
            let right = side(self)?;
            left = Arc::new(Node::Binary(binary, left, right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Read {
        if self.take("-")? {
            let inner = self.deeper(Self::unary)?;
            return Ok(Arc::new(Node::Negate(inner)));
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Read {
        let mut term = self.deeper(Self::term)?;
        loop {
            self.link()?;
            match self.token.clone() {
                Token::Field(name) => {
                    self.advance()?;
                    let name = self.string_value(&name)?;
                    term = Arc::new(Node::Index(term, name));
                }
                Token::Operator(".") => {
                    self.advance()?;
                    match &self.token {
                        Token::Quote => {
                            let name = self.string(None)?;
                            term = Arc::new(Node::Index(term, name));
                        }
                        Token::Operator("[") => {}
                        _ => return Err(self.unexpected()),
                    }
                }
                Token::Operator("[") => {
                    self.advance()?;
                    term = self.bracket(term)?;
                }
                Token::Operator("?") => {
                    self.advance()?;
                    term = Arc::new(Node::Try(term, None));
                }
                _ => break,
            }
        }
        // `as` binds a term, and what follows its pipe.
        if self.is_word("as") {
            self.advance()?;
            let mut bindings = Vec::new();
            let pattern = Arc::new(self.pattern(&mut bindings)?);
            if self.is("?//") {
                return Err("alternatives of patterns are not supported".to_owned());
            }
            self.expect("|")?;
            let body = self.binding(bindings, Self::pipe)?;
            return Ok(Arc::new(Node::Bind { source: term, pattern, body }));
        }
        Ok(term)
    }

    /// `[…]` after a term.
    fn bracket(&mut self, term: Filter) -> Read {
        if self.take("]")? {
            return Ok(Arc::new(Node::Iterate(term)));
        }
        if self.take(":")? {
            let to = self.pipe()?;
            self.expect("]")?;
            return Ok(Arc::new(Node::Slice(term, None, Some(to))));
        }
        let from = self.pipe()?;
        if self.take(":")? {
            let to = if self.is("]") { None } else { Some(self.pipe()?) };
            self.expect("]")?;
            return Ok(Arc::new(Node::Slice(term, Some(from), to)));
        }
        self.expect("]")?;
        Ok(Arc::new(Node::Index(term, from)))
    }

    fn term(&mut self) -> Read {
        let identity = || Arc::new(Node::Identity);
        match self.token.clone() {
            Token::Number(number) => {
                self.advance()?;
                Ok(Arc::new(Node::Literal(Value::Number(number))))
            }
            Token::Quote => self.string(None),
            Token::Format(name) => {
                self.advance()?;
                let native = Native::format(&name).ok_or_else(|| format!("{name} is not a valid format"))?;
                match &self.token {
                    Token::Quote => self.string(Some(native)),
                    _ => Ok(Arc::new(Node::Native(native, Arc::from([])))),
                }
            }
            Token::Field(name) => {
                self.advance()?;
                let name = self.string_value(&name)?;
                Ok(Arc::new(Node::Index(identity(), name)))
            }
            Token::Operator("..") => {
                self.advance()?;
                self.call("recurse", Vec::new())
            }
            Token::Operator(".") => {
                self.advance()?;
                match &self.token {
                    Token::Quote => {
                        let name = self.string(None)?;
                        Ok(Arc::new(Node::Index(identity(), name)))
                    }
                    _ => Ok(identity()),
                }
            }
            Token::Variable(name) => {
                self.advance()?;
                match self.out(&Binding::Variable(name.clone())) {
                    Some(out) => Ok(Arc::new(Node::Variable(out))),
                    None if name == "ENV" => Ok(Arc::new(Node::Native(Native::Env, Arc::from([])))),
                    None => Err(format!("${name} is not defined")),
                }
            }
            Token::Operator("(") => {
                self.advance()?;
                let inner = self.pipe()?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Operator("[") => {
                self.advance()?;
                if self.take("]")? {
                    return Ok(Arc::new(Node::Array(None)));
                }
                let inner = self.pipe()?;
                self.expect("]")?;
                Ok(Arc::new(Node::Array(Some(inner))))
            }
            Token::Operator("{") => self.object(),
            Token::Operator("-") => self.unary(),
            Token::Name(name) => {
                self.advance()?;
                self.word(&name)
            }
            _ => Err(self.unexpected()),
        }
    }

    fn word(&mut self, name: &str) -> Read {
        match name {
            "if" => self.condition(),
            "try" => {
                let body = self.postfix_of_try()?;
                let handler = match self.is_word("catch") {
                    true => {
                        self.advance()?;
                        Some(self.postfix_of_try()?)
                    }
                    false => None,
                };
                Ok(Arc::new(Node::Try(body, handler)))
            }
            "reduce" | "foreach" => {
                let source = self.deeper(Self::source)?;
                self.expect_word("as")?;
                let mut bindings = Vec::new();
                let pattern = Arc::new(self.pattern(&mut bindings)?);
                self.expect("(")?;
                let start = self.pipe()?;
                self.expect(";")?;
                let update = self.binding(bindings.clone(), Self::pipe)?;
                if name == "reduce" {
                    self.expect(")")?;
                    return Ok(Arc::new(Node::Reduce { source, pattern, start, update }));
                }
                let extract = match self.take(";")? {
                    true => self.binding(bindings, Self::pipe)?,
                    false => Arc::new(Node::Identity),
                };
                self.expect(")")?;
                Ok(Arc::new(Node::Foreach { source, pattern, start, update, extract }))
            }
            "break" => {
                let Token::Variable(label) = self.advance()? else { return Err("break needs a label".to_owned()) };
                match self.out(&Binding::Label(label.clone())) {
                    Some(out) => Ok(Arc::new(Node::Break(out))),
                    None => Err(format!("$*label-{label} is not defined")),
                }
            }
            "def" => {
                // A definition within a term.
                Err("syntax error, unexpected def".to_owned())
            }
            "null" => Ok(Arc::new(Node::Literal(Value::Null))),
            "true" => Ok(Arc::new(Node::Literal(Value::Bool(true)))),
            "false" => Ok(Arc::new(Node::Literal(Value::Bool(false)))),
            "then" | "elif" | "else" | "end" | "as" | "and" | "or" | "catch" | "import" | "include" => {
                Err(format!("syntax error, unexpected {name}"))
            }
            name => {
                let mut arguments = Vec::new();
                if self.take("(")? {
                    loop {
                        arguments.push(self.pipe()?);
                        if !self.take(";")? {
                            break;
                        }
                    }
                    self.expect(")")?;
                }
                self.call(name, arguments)
            }
        }
    }

    /// A term with what follows it, but for `as`.
    fn source(&mut self) -> Read {
        let mut term = self.term()?;
        loop {
            self.link()?;
            match self.token.clone() {
                Token::Field(name) => {
                    self.advance()?;
                    let name = self.string_value(&name)?;
                    term = Arc::new(Node::Index(term, name));
                }
                Token::Operator(".") => {
                    self.advance()?;
                    if !self.is("[") {
                        let name = self.string(None)?;
                        term = Arc::new(Node::Index(term, name));
                    }
                }
                Token::Operator("[") => {
                    self.advance()?;
                    term = self.bracket(term)?;
                }
                Token::Operator("?") => {
                    self.advance()?;
                    term = Arc::new(Node::Try(term, None));
                }
                _ => return Ok(term),
            }
        }
    }

    fn postfix_of_try(&mut self) -> Read {
        self.deeper(Self::source)
    }

    fn condition(&mut self) -> Read {
        self.deeper(|parser| {
            let condition = parser.pipe()?;
            parser.expect_word("then")?;
            let then = parser.pipe()?;
            let other = match &parser.token {
                Token::Name(word) if word == "elif" => {
                    parser.advance()?;
                    return Ok(Arc::new(Node::If(condition, then, parser.condition()?)));
                }
                Token::Name(word) if word == "else" => {
                    parser.advance()?;
                    parser.pipe()?
                }
                _ => Arc::new(Node::Identity),
            };
            parser.expect_word("end")?;
            Ok(Arc::new(Node::If(condition, then, other)))
        })
    }

    fn call(&mut self, name: &str, arguments: Vec<Filter>) -> Read {
        if let Some(out) = self.out(&Binding::Function(name.to_owned(), arguments.len())) {
            return Ok(Arc::new(Node::Call { out, arguments: arguments.into() }));
        }
        if name == "path" && arguments.len() == 1 {
            return Ok(Arc::new(Node::Path(Arc::clone(&arguments[0]))));
        }
        match Native::named(name, arguments.len()) {
            Some(native) => Ok(Arc::new(Node::Native(native, arguments.into()))),
            None => Err(format!("{name}/{} is not defined", arguments.len())),
        }
    }

    fn string(&mut self, format: Option<Native>) -> Read {
        if self.token != Token::Quote {
            return Err(self.unexpected());
        }
        // The quote has been read; its text begins right after it.
        self.parts(format)
    }

    /// The parts of a string whose quote is the present word.
    fn parts(&mut self, format: Option<Native>) -> Read {
        let mut parts: Vec<Filter> = Vec::new();
        let mut raw = String::from("\"");
        loop {
            let rest = &self.text[self.at..];
            let Some(c) = rest.chars().next() else { return Err("unterminated string".to_owned()) };
            self.at += c.len_utf8();
            match c {
                '"' => break,
                '\\' if rest.starts_with("\\(") => {
                    self.at += 1;
                    let plain = self.literal(&mut raw)?;
                    parts.push(plain);
                    self.advance()?;
                    let inner = self.pipe()?;
                    if !self.is(")") {
                        return Err(self.unexpected());
                    }
                    // The text goes on right after the parenthesis.
                    let shown = format.unwrap_or(Native::ToString);
                    let node = Arc::new(Node::Native(shown, Arc::from([])));
                    parts.push(Arc::new(Node::Pipe(inner, node)));
                }
                '\\' => {
                    raw.push('\\');
                    let Some(escaped) = self.text[self.at..].chars().next() else {
                        return Err("unterminated string".to_owned());
                    };
                    raw.push(escaped);
                    self.at += escaped.len_utf8();
                }
                c => raw.push(c),
            }
        }
        let last = self.literal(&mut raw)?;
        self.advance()?;
        if parts.is_empty() {
            return Ok(last);
        }
        parts.push(last);
        Ok(Arc::new(Node::Native(Native::Join, parts.into())))
    }

    /// The string so far, with its escapes carried out.
    fn literal(&self, raw: &mut String) -> Read {
        let mut text = std::mem::replace(raw, String::from("\""));
        text.push('"');
        let mut parser = JsonParser::new(&self.memory, text.as_bytes(), 0);
        match parser.next() {
            Ok(Some(value)) if parser.at == text.len() => Ok(Arc::new(Node::Literal(value))),
            _ => Err("invalid escape in a string".to_owned()),
        }
    }

    fn object(&mut self) -> Read {
        self.advance()?;
        let mut entries: Vec<(Filter, Filter)> = Vec::new();
        while !self.is("}") {
            self.link()?;
            let identity = Arc::new(Node::Identity);
            let (key, default) = match self.token.clone() {
                Token::Name(name) => {
                    self.advance()?;
                    let key = self.string_value(&name)?;
                    (Arc::clone(&key), Some(Arc::new(Node::Index(identity, key))))
                }
                Token::Variable(name) => {
                    self.advance()?;
                    let value = match self.out(&Binding::Variable(name.clone())) {
                        Some(out) => Arc::new(Node::Variable(out)),
                        None => return Err(format!("${name} is not defined")),
                    };
                    (self.string_value(&name)?, Some(value))
                }
                Token::Number(number) => {
                    self.advance()?;
                    (Arc::new(Node::Literal(Value::Number(number))), None)
                }
                Token::Quote => {
                    let key = self.string(None)?;
                    (Arc::clone(&key), Some(Arc::new(Node::Index(identity, key))))
                }
                Token::Format(name) => {
                    self.advance()?;
                    let native = Native::format(&name).ok_or_else(|| format!("{name} is not a valid format"))?;
                    let key = self.string(Some(native))?;
                    (Arc::clone(&key), Some(Arc::new(Node::Index(identity, key))))
                }
                Token::Operator("(") => {
                    self.advance()?;
                    let key = self.pipe()?;
                    self.expect(")")?;
                    (key, None)
                }
                _ => return Err(self.unexpected()),
            };
            let value = match (self.take(":")?, default) {
                (true, _) => self.object_value()?,
                (false, Some(default)) => default,
                (false, None) => return Err(self.unexpected()),
            };
            entries.push((key, value));
            if !self.take(",")? {
                break;
            }
        }
        self.expect("}")?;
        Ok(Arc::new(Node::Object(entries.into())))
    }

    /// A value of an object: without commas, but with pipes and alternatives.
    fn object_value(&mut self) -> Read {
        self.deeper(|parser| {
            let left = parser.alternative()?;
            if parser.take("|")? {
                let right = parser.object_value()?;
                return Ok(Arc::new(Node::Pipe(left, right)));
            }
            Ok(left)
        })
    }
}
