//! Proof that a module is metered: every cycle of control passes a charge, and nothing else writes the counter.
//!
//! It reads the finished module and shares nothing with what has written it, so that a fault there is found here.

use std::collections::BTreeSet;

use wasmparser::{Operator, TypeRef};

use crate::sections::Sections;
use crate::{COUNTER, Error, PAUSE};

/// A way round the charges.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The counter or its import is not there.
    #[error("the module has no {0}")]
    Missing(&'static str),
    /// A loop begins without a charge.
    #[error("function {function} has a loop without a charge")]
    Loop {
        /// Index of the function among those that are defined.
        function: usize,
    },
    /// An indirect call is made without a charge.
    #[error("function {function} calls indirectly without a charge")]
    IndirectCall {
        /// Index of the function among those that are defined.
        function: usize,
    },
    /// Memory is moved without a charge.
    #[error("function {function} moves memory without a charge")]
    Bulk {
        /// Index of the function among those that are defined.
        function: usize,
    },
    /// Functions call each other in a circle without a charge.
    #[error("functions call each other in a circle without a charge: {functions:?}")]
    Circle {
        /// Indices among those that are defined.
        functions: Vec<usize>,
    },
    /// The counter is written by something else than a charge.
    #[error("function {function} writes the counter")]
    Counter {
        /// Index of the function among those that are defined.
        function: usize,
    },
    /// The module uses something that goes round the charges.
    #[error("function {function} uses {operator}")]
    Operator {
        /// Index of the function among those that are defined.
        function: usize,
        /// Operator that is not allowed.
        operator: String,
    },
}

/// Checks that every cycle of a module's control passes a charge.
///
/// # Errors
/// Returns an error when the module can't be read, or has a way round the charges.
pub fn verify(module: &[u8]) -> Result<(), Error> {
    let sections = Sections::read_metered(module)?;
    let counter = sections.exported_global(COUNTER)?.ok_or(Violation::Missing(COUNTER))?;
    let checker = Checker { counter, pause: pause(&sections)?, imported_functions: sections.imported_functions };
    let mut charged = Vec::new();
    let mut calls = Vec::new();
    for (function, body) in sections.bodies.iter().enumerate() {
        let operators = body.get_operators_reader()?.into_iter().collect::<Result<Vec<_>, _>>()?;
        charged.push(checker.charge_at(&operators, 0).is_some());
        calls.push(checker.check(function, &operators)?);
    }
    Ok(no_circle(&charged, &calls)?)
}

/// Returns the index of the import that is called when the counter is below zero.
fn pause(sections: &Sections<'_>) -> Result<u32, Error> {
    let imports = sections.imports.clone().into_iter().flat_map(wasmparser::ImportSectionReader::into_imports);
    let mut index = 0;
    for import in imports {
        let import = import?;
        if let TypeRef::Func(_) = import.ty {
            if (import.module, import.name) == PAUSE {
                return Ok(index);
            }
            index += 1;
        }
    }
    Err(Violation::Missing(PAUSE.1).into())
}

struct Checker {
    counter: u32,
    pause: u32,
    imported_functions: u32,
}

impl Checker {
    /// Checks a function, and returns those that it calls.
    fn check(&self, function: usize, operators: &[Operator<'_>]) -> Result<BTreeSet<usize>, Violation> {
        let mut callees = BTreeSet::new();
        // End of the last charge.
        let mut paid = 0;
        let mut at = 0;
        while let Some(operator) = operators.get(at) {
            if let Some(length) = self.charge_at(operators, at) {
                at += length;
                paid = at;
                continue;
            }
            match operator {
                Operator::Loop { .. } if self.fixed_charge_at(operators, at + 1).is_none() => {
                    return Err(Violation::Loop { function });
                }
                Operator::CallIndirect { .. } if paid != at || at == 0 => {
                    return Err(Violation::IndirectCall { function });
                }
                Operator::MemoryCopy { .. } | Operator::MemoryFill { .. } | Operator::MemoryInit { .. } => {
                    let before = at.checked_sub(1).and_then(|before| operators.get(before));
                    let is_small = matches!(before, Some(Operator::I32Const { value }) if (0..=4096).contains(value));
                    if (paid != at || at == 0) && !is_small {
                        return Err(Violation::Bulk { function });
                    }
                }
                Operator::GlobalSet { global_index } if *global_index == self.counter => {
                    return Err(Violation::Counter { function });
                }
                Operator::Call { function_index } => {
                    if *function_index == self.pause {
                        return Err(Violation::Counter { function });
                    }
                    callees.extend(function_index.checked_sub(self.imported_functions).map(|callee| callee as usize));
                }
                Operator::ReturnCall { .. }
                | Operator::ReturnCallIndirect { .. }
                | Operator::ReturnCallRef { .. }
                | Operator::CallRef { .. }
                | Operator::TryTable { .. } => {
                    return Err(Violation::Operator { function, operator: format!("{operator:?}") });
                }
                _ => {}
            }
            at += 1;
        }
        Ok(callees)
    }

    /// Returns the length of the charge that begins there, in operators.
    fn charge_at(&self, operators: &[Operator<'_>], at: usize) -> Option<usize> {
        self.fixed_charge_at(operators, at).or_else(|| {
            let [
                Operator::GlobalGet { global_index },
                Operator::LocalGet { .. },
                Operator::I32Const { value: 0..=6 },
                Operator::I32ShrU,
                Operator::I64ExtendI32U,
                rest @ ..,
            ] = operators.get(at..)?
            else {
                return None;
            };
            (*global_index == self.counter && self.is_rest(rest)).then_some(5 + REST)
        })
    }

    /// Returns the length of the charge of a fixed cost that begins there, in operators.
    fn fixed_charge_at(&self, operators: &[Operator<'_>], at: usize) -> Option<usize> {
        let [Operator::GlobalGet { global_index }, Operator::I64Const { value: 1.. }, rest @ ..] =
            operators.get(at..)?
        else {
            return None;
        };
        (*global_index == self.counter && self.is_rest(rest)).then_some(2 + REST)
    }

    /// Returns whether these operators take what is on the stack from the counter, and pause below zero.
    fn is_rest(&self, operators: &[Operator<'_>]) -> bool {
        matches!(
            operators,
            [
                Operator::I64Sub,
                Operator::GlobalSet { global_index: set },
                Operator::GlobalGet { global_index: get },
                Operator::I64Const { value: 0 },
                Operator::I64LtS,
                Operator::If { blockty: wasmparser::BlockType::Empty },
                Operator::Call { function_index },
                Operator::End,
                ..
            ] if *set == self.counter && *get == self.counter && *function_index == self.pause
        )
    }
}

/// Operators of a charge after its cost.
const REST: usize = 8;

/// Checks that functions that are not charged at their entry do not call each other in a circle: takes away those that
/// call none of the others, until none is left. (Kahn, "Topological sorting of large networks", 1962.)
fn no_circle(charged: &[bool], calls: &[BTreeSet<usize>]) -> Result<(), Violation> {
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); calls.len()];
    let mut left: Vec<usize> = vec![0; calls.len()];
    for (caller, callees) in calls.iter().enumerate().filter(|(caller, _)| !charged[*caller]) {
        for &callee in callees.iter().filter(|callee| !charged.get(**callee).copied().unwrap_or(false)) {
            callers.get_mut(callee).ok_or(Violation::Circle { functions: vec![caller, callee] })?.push(caller);
            left[caller] += 1;
        }
    }
    let mut done: Vec<usize> = (0..calls.len()).filter(|&function| charged[function] || left[function] == 0).collect();
    let mut at = 0;
    while let Some(&function) = done.get(at) {
        at += 1;
        for &caller in &callers[function] {
            left[caller] -= 1;
            if left[caller] == 0 {
                done.push(caller);
            }
        }
    }
    if done.len() == calls.len() {
        return Ok(());
    }
    Err(Violation::Circle { functions: (0..calls.len()).filter(|&function| left[function] > 0).collect() })
}
