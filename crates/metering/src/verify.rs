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
        charged.push(checker.is_fixed_charge(&operators, 0));
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
        // The last charge: its end, and what it is of.
        let mut paid = (0, Charge::None);
        let mut at = 0;
        while let Some(operator) = operators.get(at) {
            let charge = self.charge_at(operators, at);
            if charge.length() > 0 {
                at += charge.length();
                paid = (at, charge);
                continue;
            }
            match operator {
                Operator::Loop { .. } if !self.is_fixed_charge(operators, at + 1) => {
                    return Err(Violation::Loop { function });
                }
                Operator::CallIndirect { .. } if paid != (at, Charge::Fixed) => {
                    return Err(Violation::IndirectCall { function });
                }
                Operator::MemoryCopy { .. } | Operator::MemoryFill { .. } | Operator::MemoryInit { .. } => {
                    let before = at.checked_sub(1).and_then(|before| operators.get(before));
                    let is_small = matches!(before, Some(Operator::I32Const { value }) if (0..=4096).contains(value));
                    if paid != (at, Charge::Length) && !is_small {
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
                | Operator::TryTable { .. }
                | Operator::TableCopy { .. }
                | Operator::TableFill { .. }
                | Operator::TableInit { .. }
                | Operator::TableGrow { .. } => {
                    return Err(Violation::Operator { function, operator: format!("{operator:?}") });
                }
                _ => {}
            }
            at += 1;
        }
        Ok(callees)
    }

    /// Returns the charge that begins there.
    fn charge_at(&self, operators: &[Operator<'_>], at: usize) -> Charge {
        if self.is_fixed_charge(operators, at) {
            return Charge::Fixed;
        }
        match (at.checked_sub(1).and_then(|before| operators.get(before)), operators.get(at..)) {
            (
                Some(Operator::LocalTee { local_index: length }),
                Some(
                    [
                        Operator::GlobalGet { global_index },
                        Operator::LocalGet { local_index },
                        Operator::I32Const { value: 0..=6 },
                        Operator::I32ShrU,
                        Operator::I64ExtendI32U,
                        rest @ ..,
                    ],
                ),
            ) if local_index == length && *global_index == self.counter && self.is_rest(rest) => Charge::Length,
            _ => Charge::None,
        }
    }

    /// Returns whether a charge of a fixed cost begins there.
    fn is_fixed_charge(&self, operators: &[Operator<'_>], at: usize) -> bool {
        let Some([Operator::GlobalGet { global_index }, Operator::I64Const { value: 1..=MAX_COST }, rest @ ..]) =
            operators.get(at..)
        else {
            return false;
        };
        *global_index == self.counter && self.is_rest(rest)
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

/// Charge in a function's code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Charge {
    None,
    /// Cost that is the same each time.
    Fixed,
    /// Cost by what is on top of the stack, the length of a bulk operation: none where that is zero.
    Length,
}

impl Charge {
    /// Length in operators.
    fn length(self) -> usize {
        match self {
            Self::None => 0,
            Self::Fixed => 2 + REST,
            Self::Length => 5 + REST,
        }
    }
}

/// Operators of a charge after its cost.
const REST: usize = 8;
/// Largest cost of a charge; `model` has none above it. Two near 2^63 would take the counter below its least number, and so
/// above zero.
const MAX_COST: i64 = u32::MAX as i64;

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
