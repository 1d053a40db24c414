//! Expressions: each is read once, and evaluated as far as that goes.

use std::rc::Rc;

use ruff_python_ast::{BoolOp, Comprehension, ConversionFlag, Expr, FStringPart, InterpolatedStringElement, Number};
use ruff_text_size::{Ranged, TextRange};

use super::abstract_value::{AbstractValue, MAX_LENGTH};
use super::arguments::FirstParameter;
use super::names::ScopeKind;
use super::object::namespace;
use super::{Interpreter, Text, fold, heuristics};
use crate::scanners::Capability;

/// Texts that are kept for the scanners.
const MAX_TEXTS: usize = 50_000;

impl<'a> Interpreter<'a> {
    /// Evaluates an expression.
    pub(super) fn eval(&mut self, expr: &'a Expr) -> AbstractValue<'a> {
        if self.replay_depth > 0 {
            if self.steps == 0 {
                return AbstractValue::Unknown;
            }
            self.steps -= 1;
        }
        let binding_hint = self.binding_hint.take();
        self.at = expr.range();
        let value = match expr {
            Expr::StringLiteral(literal) => {
                let text: Rc<str> = literal.value.to_str().into();
                self.literal(&text, expr.range(), binding_hint);
                return if text.len() > MAX_LENGTH { AbstractValue::Unknown } else { AbstractValue::Text(text) };
            }
            Expr::BytesLiteral(literal) => {
                let bytes: Vec<u8> = literal.value.bytes().collect();
                self.literal(&Rc::from(String::from_utf8_lossy(&bytes)), expr.range(), binding_hint);
                return AbstractValue::bytes(&bytes);
            }
            Expr::NumberLiteral(literal) => return number(&literal.value),
            Expr::BooleanLiteral(literal) => return AbstractValue::Bool(literal.value),
            Expr::NoneLiteral(_) => return AbstractValue::Nothing,
            Expr::EllipsisLiteral(_) | Expr::IpyEscapeCommand(_) => return AbstractValue::Unknown,
            Expr::Name(name) => return self.lookup(&name.id, expr.range()),
            Expr::Attribute(attribute) => {
                let value = self.eval(&attribute.value);
                return self.attribute(&value, &attribute.attr, expr.range());
            }
            Expr::Subscript(subscript) => self.subscript(&subscript.value, &subscript.slice, expr.range()),
            Expr::Call(call) => self.call(call),
            Expr::BinOp(op) => {
                self.binding_hint.clone_from(&binding_hint);
                let left = self.eval(&op.left);
                let right = self.eval(&op.right);
                left.each(|left| right.each(|right| fold::binary(op.op, left, right)))
            }
            Expr::UnaryOp(op) => {
                let value = self.eval(&op.operand);
                return fold::unary(op.op, &value);
            }
            Expr::BoolOp(op) => return self.bool_op(op.op, &op.values),
            Expr::Compare(compare) => {
                let mut left = self.eval(&compare.left);
                self.binding_hint = name_of(&compare.left);
                let mut result = AbstractValue::Unknown;
                for (op, right) in compare.ops.iter().zip(&compare.comparators) {
                    let right = self.eval(right);
                    heuristics::search(self, &left, *op, &right, expr.range());
                    let afforded = self.affords(&[left.clone(), right.clone()]);
                    result = if afforded { fold::compare(*op, &left, &right) } else { AbstractValue::Unknown };
                    left = right;
                }
                return if compare.ops.len() == 1 { result } else { AbstractValue::Unknown };
            }
            Expr::Named(named) => {
                self.binding_hint = name_of(&named.target);
                let value = self.eval(&named.value);
                self.assign(&named.target, &value);
                return value;
            }
            Expr::If(choice) => {
                let test = self.eval(&choice.test);
                self.branches += 1;
                let body = self.eval(&choice.body);
                let orelse = self.eval(&choice.orelse);
                self.branches -= 1;
                return match test.truth() {
                    Some(true) => body,
                    Some(false) => orelse,
                    None => body.or(orelse),
                };
            }
            Expr::Lambda(lambda) => {
                if self.replay_depth == 0 {
                    let back = self.enter(self.here, ScopeKind::Function);
                    if let Some(parameters) = &lambda.parameters {
                        self.parameters(parameters, &[], &[], FirstParameter::Argument);
                    }
                    self.eval(&lambda.body);
                    self.leave(back);
                }
                return AbstractValue::Lambda(lambda, self.here);
            }
            Expr::List(list) => self.sequence(&list.elts),
            Expr::Tuple(tuple) => self.sequence(&tuple.elts),
            Expr::Set(set) => self.sequence(&set.elts),
            Expr::Dict(dict) => {
                let mut items = Vec::new();
                for item in &dict.items {
                    match &item.key {
                        Some(key) => {
                            let key = self.eval(key);
                            self.binding_hint = key.as_text().map(Rc::from);
                            let value = self.eval(&item.value);
                            if let Some(name) = key.as_text() {
                                heuristics::constant_answer(self, name, &value, item.value.range());
                            }
                            items.push((key, value));
                        }
                        None => match self.eval(&item.value) {
                            AbstractValue::Dict(more) => items.extend(more.iter().cloned()),
                            space @ AbstractValue::Namespace(_) => return space,
                            _ => {}
                        },
                    }
                }
                self.binding_hint = None;
                AbstractValue::dict(items)
            }
            Expr::ListComp(comp) => self.comprehension(&comp.generators, &[&comp.elt]),
            Expr::SetComp(comp) => self.comprehension(&comp.generators, &[&comp.elt]),
            Expr::Generator(comp) => self.comprehension(&comp.generators, &[&comp.elt]),
            Expr::DictComp(comp) => {
                let parts: Vec<&'a Expr> = comp.key.as_deref().into_iter().chain([&*comp.value]).collect();
                self.comprehension(&comp.generators, &parts)
            }
            Expr::FString(string) => self.f_string(string, binding_hint.clone()),
            Expr::TString(string) => {
                for element in string.value.elements() {
                    self.element(element);
                }
                return AbstractValue::Unknown;
            }
            Expr::Await(wait) => return self.eval(&wait.value),
            Expr::Yield(given) => {
                let value = given.value.as_ref().map_or(AbstractValue::Nothing, |value| self.eval(value));
                if let Some(frame) = self.frames.last_mut()
                    && frame.yields.len() < 1024
                {
                    frame.yields.push(value);
                }
                return AbstractValue::Unknown;
            }
            Expr::YieldFrom(given) => {
                let value = self.eval(&given.value);
                let items = self.items(&value);
                if let (Some(frame), Some(items)) = (self.frames.last_mut(), items) {
                    frame.yields.extend(items.into_iter().take(1024));
                    frame.yields.truncate(1024);
                }
                return AbstractValue::Unknown;
            }
            Expr::Starred(starred) => return self.eval(&starred.value),
            Expr::Slice(slice) => {
                for part in [&slice.lower, &slice.upper, &slice.step].into_iter().flatten() {
                    self.eval(part);
                }
                return AbstractValue::Unknown;
            }
        };
        let value = self.made(value);
        self.folded(&value, expr.range(), binding_hint);
        value
    }

    /// A string that stands in the source.
    fn literal(&mut self, text: &Rc<str>, range: TextRange, name: Option<Rc<str>>) {
        if self.replay_depth == 0 && self.place.is_none() && self.analysis.texts.len() < MAX_TEXTS {
            self.analysis.texts.push(Text { text: Rc::clone(text), range, name, folded: false });
            heuristics::telling_text(self, text, range);
        }
    }

    /// A string that folding gave: it takes the place of those that it was made of.
    fn folded(&mut self, value: &AbstractValue<'a>, range: TextRange, name: Option<Rc<str>>) {
        let text: Rc<str> = match value {
            AbstractValue::Text(text) => Rc::clone(text),
            AbstractValue::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => text.into(),
                Err(_) => return,
            },
            _ => return,
        };
        // A letter says nothing.
        if text.len() < 4 || self.place.is_some() {
            return;
        }
        let texts = &mut self.analysis.texts;
        while texts.last().is_some_and(|last| last.folded && range.contains_range(last.range)) {
            texts.pop();
        }
        if texts.len() < MAX_TEXTS {
            texts.push(Text { text: Rc::clone(&text), range, name, folded: true });
            heuristics::telling_text(self, &text, range);
        }
    }

    fn sequence(&mut self, items: &'a [Expr]) -> AbstractValue<'a> {
        let mut values = Vec::new();
        for item in items {
            let value = self.eval(item);
            if !item.is_starred_expr() {
                values.push(value);
                continue;
            }
            match self.items(&value) {
                Some(more) => values.extend(more),
                None => values.push(AbstractValue::Unknown),
            }
        }
        AbstractValue::sequence(values)
    }

    fn bool_op(&mut self, op: BoolOp, values: &'a [Expr]) -> AbstractValue<'a> {
        let mut result = AbstractValue::Unknown;
        let mut decided = false;
        for value in values {
            // The rest is read all the same; it is not the value.
            let value = self.eval(value);
            if decided {
                continue;
            }
            match (value.truth(), op) {
                (Some(true), BoolOp::Or) | (Some(false), BoolOp::And) => {
                    result = result.or(value);
                    decided = true;
                }
                (Some(_), _) => {}
                (None, _) => result = result.or(value),
            }
        }
        result
    }

    fn subscript(&mut self, value: &'a Expr, index: &'a Expr, range: TextRange) -> AbstractValue<'a> {
        let value = self.eval(value);
        if let Expr::Slice(slice) = index {
            let mut bounds = [None; 3];
            for (bound, part) in bounds.iter_mut().zip([&slice.lower, &slice.upper, &slice.step]) {
                let Some(part) = part else { continue };
                match self.eval(part) {
                    AbstractValue::Nothing => {}
                    part => match part.as_int() {
                        Some(part) => *bound = Some(part),
                        None => return AbstractValue::Unknown,
                    },
                }
            }
            if !self.affords(std::slice::from_ref(&value)) {
                return AbstractValue::Unknown;
            }
            return value.each(|value| fold::slice(value, bounds[0], bounds[1], bounds[2]));
        }
        let index = self.eval(index);
        if !matches!(value, AbstractValue::Sequence(_)) && !self.affords(std::slice::from_ref(&value)) {
            return AbstractValue::Unknown;
        }
        self.item(&value, &index, range)
    }

    /// The values of a comprehension: `parts` are the element, or key and value.
    fn comprehension(&mut self, generators: &'a [Comprehension], parts: &[&'a Expr]) -> AbstractValue<'a> {
        let Some(first) = generators.first() else { return AbstractValue::Unknown };
        let over = self.eval(&first.iter);
        let back = self.enter(self.here, ScopeKind::Function);
        let mut made = Vec::new();
        let whole = self.generate(generators, over, parts, &mut made);
        self.leave(back);
        match (whole, parts) {
            (false, _) => AbstractValue::Unknown,
            (true, [_]) => AbstractValue::sequence(made.into_iter().map(|(_, value)| value).collect()),
            (true, _) => AbstractValue::dict(made),
        }
    }

    /// Evaluates a comprehension's generators; returns whether every item is known.
    fn generate(
        &mut self,
        generators: &'a [Comprehension],
        over: AbstractValue<'a>,
        parts: &[&'a Expr],
        made: &mut Vec<(AbstractValue<'a>, AbstractValue<'a>)>,
    ) -> bool {
        let [generator, inner @ ..] = generators else { return false };
        let items = self.items(&over);
        let mut whole = items.is_some();
        // Once without knowing, so that everything is read; then again for each.
        let rounds = std::iter::once(None).chain(items.into_iter().flatten().take(4096).map(Some));
        for (round, item) in rounds.enumerate() {
            if round > 0 {
                if !self.may_repeat() {
                    return false;
                }
                self.replay_depth += 1;
            }
            let unknown = item.is_none();
            self.assign(&generator.target, &item.unwrap_or_default());
            let tests: Vec<Option<bool>> = generator.ifs.iter().map(|test| self.eval(test).truth()).collect();
            let taken = !unknown && tests.iter().all(|test| *test != Some(false));
            if unknown || taken {
                let mut aside = Vec::new();
                let into = if unknown { &mut aside } else { &mut *made };
                match inner.first() {
                    Some(next) => {
                        let over = self.eval(&next.iter);
                        let inner = self.generate(inner, over, parts, into);
                        whole &= unknown || inner;
                    }
                    None => match parts {
                        [element] => {
                            let value = self.eval(element);
                            into.push((AbstractValue::Nothing, value));
                        }
                        [key, value, ..] => {
                            let key = self.eval(key);
                            let value = self.eval(value);
                            into.push((key, value));
                        }
                        [] => {}
                    },
                }
            }
            whole &= unknown || tests.iter().all(Option::is_some);
            if round > 0 {
                self.replay_depth -= 1;
            }
        }
        whole
    }

    fn f_string(
        &mut self,
        string: &'a ruff_python_ast::ExprFString,
        binding_hint: Option<Rc<str>>,
    ) -> AbstractValue<'a> {
        let mut text = Some(String::new());
        for part in &string.value {
            match part {
                FStringPart::Literal(literal) => {
                    self.literal(&Rc::from(literal.as_str()), literal.range(), binding_hint.clone());
                    append(&mut text, Some(literal.as_str()));
                }
                FStringPart::FString(string) => {
                    for element in &string.elements {
                        let made = self.element(element);
                        append(&mut text, made.as_deref());
                    }
                }
            }
        }
        text.map_or(AbstractValue::Unknown, |text| AbstractValue::text(&text))
    }

    fn element(&mut self, element: &'a InterpolatedStringElement) -> Option<String> {
        match element {
            InterpolatedStringElement::Literal(literal) => {
                self.literal(&Rc::from(&*literal.value), literal.range, None);
                Some(literal.value.to_string())
            }
            InterpolatedStringElement::Interpolation(part) => {
                let value = self.eval(&part.expression);
                let mut spec = Some(String::new());
                for element in part.format_spec.iter().flat_map(|spec| spec.elements.iter()) {
                    let made = self.element(element);
                    append(&mut spec, made.as_deref());
                }
                let plain = matches!(part.conversion, ConversionFlag::None | ConversionFlag::Str);
                spec.filter(|_| plain && part.debug_text.is_none()).and_then(|spec| fold::formatted(&value, &spec))
            }
        }
    }

    /// Binds what an assignment, a loop or a `with` binds.
    pub(super) fn assign(&mut self, target: &'a Expr, value: &AbstractValue<'a>) {
        match target {
            Expr::Name(name) => {
                heuristics::constant_answer(self, &name.id, value, target.range());
                if matches!(name.id.as_str(), "__name__" | "__file__" | "__builtins__") && self.here == 0 {
                    self.tell(Capability::GraderTampering, "module_names", &name.id, 0.6, target.range());
                }
                self.bind(name.id.as_str(), value.clone());
            }
            Expr::Tuple(_) | Expr::List(_) => {
                let targets: &'a [Expr] = match target {
                    Expr::Tuple(tuple) => &tuple.elts,
                    Expr::List(list) => &list.elts,
                    _ => &[],
                };
                let items = self.items(value).filter(|items| items.len() <= 1024);
                let star = targets.iter().position(|target| target.is_starred_expr());
                for (index, target) in targets.iter().enumerate() {
                    let value = match (&items, star) {
                        (Some(items), None) if items.len() == targets.len() => items[index].clone(),
                        (Some(items), Some(star)) if items.len() + 1 >= targets.len() => {
                            let more = items.len() + 1 - targets.len();
                            match index.cmp(&star) {
                                std::cmp::Ordering::Less => items[index].clone(),
                                std::cmp::Ordering::Equal => AbstractValue::sequence(items[star..star + more].to_vec()),
                                std::cmp::Ordering::Greater => items[index + more - 1].clone(),
                            }
                        }
                        _ => AbstractValue::Unknown,
                    };
                    self.assign(target, &value);
                }
            }
            Expr::Starred(starred) => self.assign(&starred.value, value),
            Expr::Attribute(attribute) => {
                let of = self.eval(&attribute.value);
                let name = attribute.attr.as_str();
                heuristics::constant_answer(self, name, value, target.range());
                if matches!(name, "__code__" | "__class__" | "__defaults__" | "__globals__" | "__bases__") {
                    self.tell(Capability::GraderTampering, "object_changed", name, 0.7, target.range());
                }
                if name == "__code__" {
                    self.tell(Capability::DynamicCode, "object_changed", name, 0.9, target.range());
                }
                self.replaced(&of, Some(name), target.range());
                self.note_attribute(name, value.clone());
            }
            Expr::Subscript(subscript) => {
                let of = self.eval(&subscript.value);
                let index = self.eval(&subscript.slice);
                match (&of, &index) {
                    (AbstractValue::Namespace(space), AbstractValue::Text(name)) if space.as_object() == Some("") => {
                        self.bind_global(name, value.clone());
                    }
                    (AbstractValue::Dict(items), _) => {
                        if let (Expr::Name(name), true) = (&*subscript.value, items.len() < 256) {
                            let mut items = items.to_vec();
                            items.push((index, value.clone()));
                            let dict = self.made(AbstractValue::dict(items));
                            self.bind(name.id.as_str(), dict);
                        }
                    }
                    _ => self.replaced(&of, index.as_text(), target.range()),
                }
            }
            _ => {
                self.eval(target);
            }
        }
    }
}

fn append(text: &mut Option<String>, more: Option<&str>) {
    *text = match (text.take(), more) {
        (Some(mut text), Some(more)) if text.len() + more.len() <= MAX_LENGTH => {
            text.push_str(more);
            Some(text)
        }
        _ => None,
    };
}

fn number<'a>(number: &Number) -> AbstractValue<'a> {
    match number {
        Number::Int(value) => match value.as_i64() {
            Some(value) => AbstractValue::Int(value.into()),
            None => {
                let text = value.to_string().replace('_', "").to_ascii_lowercase();
                // Quadratic in the digits.
                if text.len() > 1024 {
                    return AbstractValue::Unknown;
                }
                fold::function("builtins.int", &[AbstractValue::text(&text), AbstractValue::Int(0)], &[])
                    .unwrap_or_default()
            }
        },
        Number::Float(_) | Number::Complex { .. } => AbstractValue::Unknown,
    }
}

/// Returns the name of an assignment's target.
pub(super) fn name_of(target: &Expr) -> Option<Rc<str>> {
    match target {
        Expr::Name(name) => Some(name.id.as_str().into()),
        Expr::Attribute(attribute) => Some(attribute.attr.as_str().into()),
        Expr::Subscript(subscript) => match &*subscript.slice {
            Expr::StringLiteral(key) => Some(key.value.to_str().into()),
            _ => None,
        },
        _ => None,
    }
}

/// The names of the snippet itself.
pub(super) fn own_names<'a>() -> AbstractValue<'a> {
    namespace("")
}
