//! Makes a module count which way its branches go. For making a profile (`branches.rs`): no module that serves anybody
//! counts.

use std::collections::BTreeMap;

use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{
    CodeSection, DataCountSection, DataSection, ElementSection, ExportKind, ExportSection, Function, FunctionSection,
    GlobalSection, ImportSection, MemArg, MemorySection, MemoryType, Module, StartSection, TableSection, TypeSection,
    ValType,
};
use wasmparser::{FunctionBody, ImportSectionReader, Operator, TypeRef};

use crate::Error;
use crate::branches::{BranchProfile, Hint, fingerprint, is_branch};
use crate::rewrite::locals;
use crate::sections::Sections;

/// Name under which the memory with the counters is exported: 64-bit numbers, lowest byte first.
pub const COUNTS: &str = "proofbox_counts";

const PAGE: u64 = 1 << 16;
const COUNTER_BYTES: u64 = 8;

/// Returns the module with counters in a memory of its own, all of them zero.
///
/// # Errors
/// Returns an error when the module can't be read.
pub fn count_branches(module: &[u8]) -> Result<Vec<u8>, Error> {
    let sections = Sections::read(module)?;
    let copy = &mut RoundtripReencoder;
    let memory = memories(&sections)?;
    let mut counters = 0;
    let mut code = CodeSection::new();
    for (body, parameters) in sections.bodies.iter().zip(sections.parameters()?) {
        code.function(&counting(body, parameters, memory, &mut counters)?);
    }

    let mut counting = Module::new();
    if let Some(reader) = sections.types.clone() {
        let mut types = TypeSection::new();
        copy.parse_type_section(&mut types, reader)?;
        counting.section(&types);
    }
    if let Some(reader) = sections.imports.clone() {
        let mut imports = ImportSection::new();
        copy.parse_import_section(&mut imports, reader)?;
        counting.section(&imports);
    }
    if let Some(reader) = sections.functions.clone() {
        let mut functions = FunctionSection::new();
        copy.parse_function_section(&mut functions, reader)?;
        counting.section(&functions);
    }
    if let Some(reader) = sections.tables.clone() {
        let mut tables = TableSection::new();
        copy.parse_table_section(&mut tables, reader)?;
        counting.section(&tables);
    }
    let mut memories = MemorySection::new();
    if let Some(reader) = sections.memories.clone() {
        copy.parse_memory_section(&mut memories, reader)?;
    }
    let minimum = (counters * COUNTER_BYTES).div_ceil(PAGE);
    memories.memory(MemoryType {
        minimum,
        maximum: Some(minimum),
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    counting.section(&memories);
    if let Some(reader) = sections.globals.clone() {
        let mut globals = GlobalSection::new();
        copy.parse_global_section(&mut globals, reader)?;
        counting.section(&globals);
    }
    let mut exports = ExportSection::new();
    if let Some(reader) = sections.exports.clone() {
        copy.parse_export_section(&mut exports, reader)?;
    }
    exports.export(COUNTS, ExportKind::Memory, memory);
    counting.section(&exports);
    if let Some(function_index) = sections.start {
        counting.section(&StartSection { function_index });
    }
    if let Some(reader) = sections.elements.clone() {
        let mut elements = ElementSection::new();
        copy.parse_element_section(&mut elements, reader)?;
        counting.section(&elements);
    }
    if let Some(count) = sections.data_count {
        counting.section(&DataCountSection { count });
    }
    counting.section(&code);
    if let Some(reader) = sections.data.clone() {
        let mut data = DataSection::new();
        copy.parse_data_section(&mut data, reader)?;
        counting.section(&data);
    }
    Ok(counting.finish())
}

/// Number of memories, and so the index of the next one.
fn memories(sections: &Sections<'_>) -> Result<u32, Error> {
    let mut count = sections.memories.as_ref().map_or(0, wasmparser::MemorySectionReader::count);
    for import in sections.imports.clone().into_iter().flat_map(ImportSectionReader::into_imports) {
        count += u32::from(matches!(import?.ty, TypeRef::Memory(_)));
    }
    Ok(count)
}

/// Returns a function that counts. Its counters are, in this order: how often it was entered; then for each operator of its
/// code, for a branch how often it was reached and how often it was taken, for a loop how often its head was reached, for
/// the end of a block how often what follows it was reached.
fn counting(body: &FunctionBody<'_>, parameters: u32, memory: u32, counters: &mut u64) -> Result<Function, Error> {
    let copy = &mut RoundtripReencoder;
    let (mut locals, own) = locals(copy, body)?;
    let condition = parameters + own;
    locals.push((1, ValType::I32));
    let mut function = Function::new(locals);
    // Adds what the local tells, or one.
    let mut count = |function: &mut Function, taken: Option<u32>| {
        let place = MemArg { offset: *counters * COUNTER_BYTES, align: 3, memory_index: memory };
        *counters += 1;
        let mut code = function.instructions();
        code.i32_const(0).i32_const(0).i64_load(place);
        match taken {
            Some(condition) => code.local_get(condition).i32_eqz().i32_eqz().i64_extend_i32_u(),
            None => code.i64_const(1),
        };
        code.i64_add().i64_store(place);
    };
    count(&mut function, None);
    let mut depth = 0_usize;
    for operator in body.get_operators_reader()? {
        let operator = operator?;
        if is_branch(&operator) {
            function.instructions().local_set(condition);
            count(&mut function, None);
            count(&mut function, Some(condition));
            function.instructions().local_get(condition);
        }
        function.instruction(&copy.instruction(operator.clone())?);
        match operator {
            Operator::Loop { .. } => count(&mut function, None),
            Operator::End if depth > 0 => count(&mut function, None),
            _ => {}
        }
        depth = depth_after(&operator, depth);
    }
    Ok(function)
}

fn depth_after(operator: &Operator<'_>, depth: usize) -> usize {
    match operator {
        Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => depth + 1,
        Operator::End => depth.saturating_sub(1),
        _ => depth,
    }
}

/// Branch of a function, and what was counted of it.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    /// True for an `if`, whose body nothing else leads to.
    is_if: bool,
    /// Times that it was reached.
    reached: u64,
    /// Times that it was taken.
    taken: u64,
    /// Times that its target was reached, from wherever.
    target: u64,
}

/// Bounds up to which a way of a branch is rare.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    /// Share of the times a branch is reached, up to which the way that it goes is rare.
    pub branch: f64,
    /// Share of what the most frequent part of the function is reached, up to which a part is rare.
    pub function: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { branch: 0.25, function: 0.002 }
    }
}

/// Returns the profile of a module, given the counters of the one that [`count_branches`] has made of it. Functions that
/// look the same share what was counted of them.
///
/// # Errors
/// Returns an error when the module can't be read, or has another number of counters.
pub fn profile(module: &[u8], counts: &[u64], thresholds: Thresholds) -> Result<BranchProfile, Error> {
    let sections = Sections::read(module)?;
    let mut counts = counts.iter().copied();
    let mut functions: BTreeMap<u64, (u64, Vec<Counted>)> = BTreeMap::new();
    for body in &sections.bodies {
        let (most, branches) = counted(body, &mut counts)?;
        let (hash, count) = fingerprint(body)?;
        let (known_most, known) = functions.entry(hash).or_insert_with(|| (0, vec![Counted::default(); count]));
        *known_most += most;
        // Two functions with one hash and different branches would be a miracle; what one has more is left out.
        for (known, branch) in known.iter_mut().zip(branches) {
            known.is_if = branch.is_if;
            known.reached += branch.reached;
            known.taken += branch.taken;
            known.target += branch.target;
        }
    }
    check_rest(counts)?;
    let mut profile = BranchProfile::default();
    for (hash, (most, branches)) in functions {
        let hints: Vec<_> = branches.iter().map(|branch| branch.hint(most, thresholds)).collect();
        if most > 0 {
            profile.insert(hash, most, hints);
        }
    }
    Ok(profile)
}

/// Puts functions that short runs reach before all others, whatever long ones do most; `counts` is what was counted of short
/// ones.
///
/// # Errors
/// Returns an error when the module can't be read, or has another number of counters.
pub fn note_short_runs(profile: &mut BranchProfile, module: &[u8], counts: &[u64]) -> Result<(), Error> {
    let mut counts = counts.iter().copied();
    for body in &Sections::read(module)?.bodies {
        if counted(body, &mut counts)?.0 > 0 {
            let (hash, branches) = fingerprint(body)?;
            profile.note_in_short_runs(hash, branches);
        }
    }
    check_rest(counts)
}

/// Checks that nothing is left of the counters of a module but the end of a page of their memory, where nothing is counted.
fn check_rest(counts: impl Iterator<Item = u64>) -> Result<(), Error> {
    let rest: Vec<u64> = counts.collect();
    if rest.len() as u64 >= PAGE / COUNTER_BYTES || rest.iter().any(|count| *count > 0) {
        return Err(Error::Encode("these are counters of another module".to_owned()));
    }
    Ok(())
}

impl Counted {
    /// Returns the hint for the branch, in a function whose most frequent part was reached so often.
    fn hint(self, most: u64, thresholds: Thresholds) -> Option<Hint> {
        let Self { is_if, reached, taken, target } = self;
        let rare = (reached as f64 * thresholds.branch).max(most as f64 * thresholds.function) as u64;
        let mostly = (reached.saturating_sub(taken) <= rare).then_some(Hint::Mostly);
        // What a branch leads to is laid out of the way as a whole, so all ways to it have to be rare.
        let rarely = (target <= rare).then_some(Hint::Rarely);
        // Where both ways are rare, that is said which no other branch can say: the next instruction is reached by this one
        // alone, as is the body of an `if`.
        if is_if { rarely.or(mostly) } else { mostly.or(rarely) }
    }
}

/// Returns how often the most frequent part of a function was reached, and what was counted of its branches.
fn counted(body: &FunctionBody<'_>, counts: &mut impl Iterator<Item = u64>) -> Result<(u64, Vec<Counted>), Error> {
    enum Label {
        /// Branches to it lead to its end, which is not reached yet.
        Ahead(Vec<usize>),
        /// Branches to it lead to its head.
        Head(u64),
    }
    let mut next = || counts.next().ok_or_else(|| Error::Encode("these are counters of another module".to_owned()));
    let entered = next()?;
    let mut most = entered;
    let mut branches: Vec<Counted> = Vec::new();
    let mut labels = Vec::new();
    for operator in body.get_operators_reader()? {
        let operator = operator?;
        if is_branch(&operator) {
            let (reached, taken) = (next()?, next()?);
            most = most.max(reached);
            branches.push(Counted { is_if: matches!(operator, Operator::If { .. }), reached, taken, target: 0 });
        }
        let last = branches.len().wrapping_sub(1);
        match &operator {
            Operator::Block { .. } => labels.push(Label::Ahead(Vec::new())),
            Operator::If { .. } => {
                branches[last].target = branches[last].taken;
                labels.push(Label::Ahead(Vec::new()));
            }
            Operator::Loop { .. } => {
                let head = next()?;
                most = most.max(head);
                labels.push(Label::Head(head));
            }
            Operator::BrIf { relative_depth } => {
                let label = labels.len().checked_sub(1 + *relative_depth as usize).and_then(|at| labels.get_mut(at));
                match label {
                    Some(Label::Ahead(waiting)) => waiting.push(last),
                    Some(Label::Head(head)) => branches[last].target = *head,
                    // The end of the function, which is reached as often as its beginning.
                    None => branches[last].target = entered,
                }
            }
            Operator::End => {
                if let Some(label) = labels.pop() {
                    let after = next()?;
                    if let Label::Ahead(waiting) = label {
                        waiting.into_iter().for_each(|branch| branches[branch].target = after);
                    }
                }
            }
            _ => {}
        }
    }
    Ok((most, branches))
}
