//! What an instance of a module can change of itself, beside its memory: an instance serves one run after another, so
//! that must be no more than what is put back between them.

use wasmparser::{Operator, TypeRef};

use crate::sections::Sections;
use crate::{COUNTER, Error};

/// Name under which the stack pointer is exported, a mutable `i32`.
pub const STACK_POINTER: &str = "__stack_pointer";

/// A change that nobody would undo.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lasting {
    /// A global that may change is neither the counter nor the stack pointer.
    #[error("global {index} may change, and is neither {COUNTER:?} nor {STACK_POINTER:?}")]
    Global {
        /// Index of the global.
        index: u32,
    },
    /// The module has another memory than one of its own, or imports something else than functions.
    #[error("the module has {0}")]
    Shared(&'static str),
    /// The code changes a table, or drops a segment.
    #[error("function {function} uses {operator}")]
    Operator {
        /// Index of the function among those that are defined.
        function: usize,
        /// Operator that is not allowed.
        operator: String,
    },
}

/// Checks that instances of a metered module change nothing but their memory, the counter and the stack pointer.
///
/// # Errors
/// Returns an error when the module can't be read, or its instances can change something else.
pub fn check_resettable(module: &[u8]) -> Result<(), Error> {
    let sections = Sections::read_metered(module)?;
    let imports = sections.imports.clone().into_iter().flat_map(wasmparser::ImportSectionReader::into_imports);
    for import in imports {
        if !matches!(import?.ty, TypeRef::Func(_)) {
            return Err(Lasting::Shared("an import that is no function").into());
        }
    }
    if sections.memories.as_ref().is_some_and(|memories| memories.count() > 1) {
        return Err(Lasting::Shared("more than one memory").into());
    }
    let put_back = [sections.exported_global(COUNTER)?, sections.exported_global(STACK_POINTER)?];
    for (index, global) in (sections.imported_globals..).zip(sections.globals.clone().into_iter().flatten()) {
        if global?.ty.mutable && !put_back.contains(&Some(index)) {
            return Err(Lasting::Global { index }.into());
        }
    }
    for (function, body) in sections.bodies.iter().enumerate() {
        for operator in body.get_operators_reader()? {
            let operator = operator?;
            if matches!(
                operator,
                Operator::TableSet { .. }
                    | Operator::TableGrow { .. }
                    | Operator::TableCopy { .. }
                    | Operator::TableFill { .. }
                    | Operator::TableInit { .. }
                    | Operator::ElemDrop { .. }
                    | Operator::DataDrop { .. }
            ) {
                return Err(Lasting::Operator { function, operator: format!("{operator:?}") }.into());
            }
        }
    }
    Ok(())
}
