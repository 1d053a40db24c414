//! Writes a module anew, with its charges.

use std::collections::{BTreeMap, BTreeSet};

use wasm_encoder::reencode::{self, Reencode};
use wasm_encoder::{
    BlockType, BranchHint, BranchHints, CodeSection, ConstExpr, DataCountSection, DataSection, ElementSection,
    Elements, EntityType, ExportKind, ExportSection, Function, FunctionSection, GlobalSection, GlobalType,
    ImportSection, InstructionSink, MemorySection, Module, NameMap, NameSection, StartSection, TableSection,
    TypeSection, ValType,
};
use wasmparser::{ElementItems, ElementSectionReader, FunctionBody, Name, Operator};

use crate::branches::{BranchProfile, is_branch};
use crate::model::{FunctionPlan, Plan, STRAIGHT};
use crate::sections::Sections;
use crate::{COUNTER, Error, PAUSE, Report};

/// Bytes that a bulk memory operation moves for one unit of fuel, as a power of two: what a host call may move for it.
const BULK_BYTES_LOG2: i32 = 3;
/// Length of a bulk memory operation that is charged like any other operator, if it is known beforehand.
const MAX_SMALL_BULK: i32 = 4096;

/// Writes a module with the charges of a plan, and with what a profile says of its branches.
pub(crate) fn rewrite(
    sections: &Sections<'_>,
    plan: &Plan,
    profile: &BranchProfile,
) -> Result<(Vec<u8>, Report), Error> {
    let order = order(sections, profile)?;
    let mut places = vec![0; order.len()];
    for (place, &function) in (0..).zip(&order) {
        places[function] = place;
    }
    let mut shift = Shift { imported_functions: sections.imported_functions, places };
    let mut types = TypeSection::new();
    if let Some(reader) = sections.types.clone() {
        shift.parse_type_section(&mut types, reader)?;
    }
    let pause_type = types.len();
    types.ty().function([], []);

    let mut imports = ImportSection::new();
    if let Some(reader) = sections.imports.clone() {
        shift.parse_import_section(&mut imports, reader)?;
    }
    let pause = sections.imported_functions;
    imports.import(PAUSE.0, PAUSE.1, EntityType::Function(pause_type));

    let mut globals = GlobalSection::new();
    if let Some(reader) = sections.globals.clone() {
        shift.parse_global_section(&mut globals, reader)?;
    }
    let counter = sections.globals();
    // Zero: who instantiates the module grants fuel.
    globals.global(GlobalType { val_type: ValType::I64, mutable: true, shared: false }, &ConstExpr::i64_const(0));

    let mut exports = ExportSection::new();
    if let Some(reader) = sections.exports.clone() {
        shift.parse_export_section(&mut exports, reader)?;
    }
    exports.export(COUNTER, ExportKind::Global, counter);

    let mut writer = Writer {
        shift,
        counter,
        pause,
        indirect_call: plan.indirect_call,
        code: CodeSection::new(),
        hints: BranchHints::new(),
        report: Report::default(),
    };
    let parameters = sections.parameters()?;
    if parameters.len() != sections.bodies.len() {
        return Err(Error::Encode("functions and their code differ in number".to_owned()));
    }
    for (place, &function) in (0..).zip(&order) {
        let (body, function_plan) = (&sections.bodies[function], &plan.functions[function]);
        writer.function(place, parameters[function], body, function_plan, profile)?;
    }
    let Writer { mut shift, code, hints, mut report, .. } = writer;
    report.functions = sections.bodies.len();
    report.longest_uncharged = plan.longest_uncharged;

    let mut module = Module::new();
    module.section(&types).section(&imports);
    if let Some(reader) = sections.functions.clone() {
        let kinds = reader.into_iter().collect::<Result<Vec<_>, _>>()?;
        let mut functions = FunctionSection::new();
        for &function in &order {
            functions.function(shift.type_index(kinds[function])?);
        }
        module.section(&functions);
    }
    if let Some(reader) = sections.tables.clone() {
        let mut tables = TableSection::new();
        shift.parse_table_section(&mut tables, reader)?;
        module.section(&tables);
    }
    if let Some(reader) = sections.memories.clone() {
        let mut memories = MemorySection::new();
        shift.parse_memory_section(&mut memories, reader)?;
        module.section(&memories);
    }
    module.section(&globals).section(&exports);
    if let Some(start) = sections.start {
        module.section(&StartSection { function_index: shift.start_section(start)? });
    }
    if let Some(reader) = sections.elements.clone() {
        let mut elements = ElementSection::new();
        elements.declared(Elements::Functions(shift.in_tables(reader.clone())?.into()));
        shift.parse_element_section(&mut elements, reader)?;
        module.section(&elements);
    }
    if let Some(count) = sections.data_count {
        module.section(&DataCountSection { count });
    }
    module.section(&hints).section(&code);
    if let Some(reader) = sections.data.clone() {
        let mut data = DataSection::new();
        shift.parse_data_section(&mut data, reader)?;
        module.section(&data);
    }
    if let Some(reader) = sections.names.clone() {
        let mut names = NameSection::new();
        for name in reader {
            match name? {
                Name::Function(functions) => names.functions(&shift.names(functions)?),
                // These would have to be put in order as well, and nothing asks for them.
                Name::Local(_) | Name::Label(_) => {}
                name => shift.parse_custom_name_subsection(&mut names, name)?,
            }
        }
        module.section(&names);
    }
    Ok((module.finish(), report))
}

/// Returns the functions in the order in which they are written: those first that are used most, so that what is used
/// together lies together.
fn order(sections: &Sections<'_>, profile: &BranchProfile) -> Result<Vec<usize>, Error> {
    let heats = sections.bodies.iter().map(|body| profile.heat_of(body)).collect::<Result<Vec<_>, _>>()?;
    let mut order: Vec<usize> = (0..heats.len()).collect();
    order.sort_by_key(|&function| std::cmp::Reverse(heats[function]));
    Ok(order)
}

/// Makes room for one more imported function and one more segment of elements, and puts functions that are defined in another
/// order.
struct Shift {
    imported_functions: u32,
    /// Place of each function among those that are defined.
    places: Vec<u32>,
}

impl Shift {
    /// Names of functions, in their new order.
    fn names(&mut self, names: wasmparser::NameMap<'_>) -> Result<NameMap, Error> {
        let mut sorted = BTreeMap::new();
        for naming in names {
            let naming = naming?;
            sorted.insert(self.function_index(naming.index)?, naming.name);
        }
        let mut names = NameMap::new();
        sorted.into_iter().for_each(|(function, name)| names.append(function, name));
        Ok(names)
    }

    /// Functions that segments name by their indices, as compilers of C do for tables, in their new order. An instance has a
    /// record of each, which is filled in when it is first called, and records are in the order in which segments name
    /// functions. So the first segment names these, without an effect of its own: what is used much lies together, and
    /// other pages of an instance are never touched.
    fn in_tables(&mut self, segments: ElementSectionReader<'_>) -> Result<Vec<u32>, Error> {
        let mut functions = BTreeSet::new();
        for segment in segments {
            if let ElementItems::Functions(items) = segment?.items {
                for function in items {
                    functions.insert(self.function_index(function?)?);
                }
            }
        }
        Ok(functions.into_iter().collect())
    }
}

impl Reencode for Shift {
    type Error = std::convert::Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32, reencode::Error> {
        let Some(defined) = function.checked_sub(self.imported_functions) else { return Ok(function) };
        let place = self.places.get(defined as usize).copied().unwrap_or(defined);
        Ok(self.imported_functions + 1 + place)
    }

    fn element_index(&mut self, segment: u32) -> Result<u32, reencode::Error> {
        Ok(segment + 1)
    }
}

struct Writer {
    shift: Shift,
    /// Index of the counter.
    counter: u32,
    /// Index of the import that is called when it is below zero.
    pause: u32,
    /// Cost of an indirect call.
    indirect_call: u64,
    code: CodeSection,
    hints: BranchHints,
    report: Report,
}

impl Writer {
    /// Writes the function of that index among those that are defined.
    fn function(
        &mut self,
        index: u32,
        parameters: u32,
        body: &FunctionBody<'_>,
        plan: &FunctionPlan,
        profile: &BranchProfile,
    ) -> Result<(), Error> {
        let operators = body.get_operators_reader()?.into_iter().collect::<Result<Vec<_>, _>>()?;
        let known = profile.hints_of(body)?;
        self.report.hinted += usize::from(!known.is_empty());
        let mut known = known.iter();
        let bulk = operators.windows(2).any(|pair| bulk_charge(Some(&pair[0]), &pair[1]));
        // The length of a bulk operation.
        let added = bulk.then_some(ValType::I32);
        let (mut function, length) = self.new_function(parameters, body, added)?;
        let mut hints = Vec::new();
        if let Some(cost) = plan.entry {
            self.report.entries += 1;
            self.charge(&mut function, &mut hints, Cost::Fixed(cost));
        }
        let mut loops = plan.loops.iter();
        let mut calls = plan.calls.iter().peekable();
        let mut previous = None;
        for (at, operator) in operators.iter().enumerate() {
            if calls.next_if_eq(&&at).is_some() {
                self.report.long_paths += 1;
                self.charge(&mut function, &mut hints, Cost::Fixed(STRAIGHT));
            }
            match operator {
                Operator::CallIndirect { .. } => {
                    self.report.indirect_calls += 1;
                    self.charge(&mut function, &mut hints, Cost::Fixed(self.indirect_call));
                }
                _ if bulk_charge(previous, operator) => {
                    self.report.bulk_operations += 1;
                    function.instructions().local_tee(length);
                    self.charge(&mut function, &mut hints, Cost::Bytes(length));
                }
                _ => {}
            }
            if is_branch(operator)
                && let Some(hint) = known.next().copied().flatten()
            {
                hints.push(hint_at(&function, hint.value()));
                self.report.hints += 1;
            }
            function.instruction(&self.shift.instruction(operator.clone())?);
            if let Operator::Loop { .. } = operator {
                self.report.loops += 1;
                let cost = loops.next().copied().ok_or_else(|| Error::Encode("a loop without a cost".to_owned()))?;
                self.charge(&mut function, &mut hints, Cost::Fixed(cost));
            }
            previous = Some(operator);
        }
        if !hints.is_empty() {
            self.hints.function_hints(self.pause + 1 + index, hints);
        }
        self.code.function(&function);
        Ok(())
    }

    /// Returns a function without code, and the index of one local more, which has the type `added`, where it has one.
    fn new_function(
        &mut self,
        parameters: u32,
        body: &FunctionBody<'_>,
        added: Option<ValType>,
    ) -> Result<(Function, u32), Error> {
        let (mut locals, count) = locals(&mut self.shift, body)?;
        locals.extend(added.map(|added| (1, added)));
        Ok((Function::new(locals), parameters + count))
    }

    /// Writes a charge. It leaves the operands below it as they are.
    fn charge(&self, function: &mut Function, hints: &mut Vec<BranchHint>, cost: Cost) {
        let mut code = function.instructions();
        code.global_get(self.counter);
        cost.push(&mut code);
        code.i64_sub().global_set(self.counter).global_get(self.counter).i64_const(0).i64_lt_s();
        hints.push(hint_at(function, 0));
        function.instructions().if_(BlockType::Empty).call(self.pause).end();
    }
}

/// Returns a hint for the instruction that is written next.
fn hint_at(function: &Function, branch_hint_value: u32) -> BranchHint {
    // A function has less than 4 GiB of code.
    BranchHint { branch_func_offset: u32::try_from(function.byte_len()).unwrap_or(u32::MAX), branch_hint_value }
}

/// Returns whether an operator is a bulk memory operation that is charged by its length.
fn bulk_charge(previous: Option<&Operator<'_>>, operator: &Operator<'_>) -> bool {
    let is_bulk =
        matches!(operator, Operator::MemoryCopy { .. } | Operator::MemoryFill { .. } | Operator::MemoryInit { .. });
    let is_small = matches!(previous, Some(Operator::I32Const { value }) if (0..=MAX_SMALL_BULK).contains(value));
    is_bulk && !is_small
}

/// Cost of a charge.
enum Cost {
    /// So many units.
    Fixed(u64),
    /// Units for the bytes that this local tells, a 32-bit length.
    Bytes(u32),
}

impl Cost {
    fn push(self, code: &mut InstructionSink<'_>) {
        match self {
            Self::Fixed(cost) => code.i64_const(i64::try_from(cost).unwrap_or(i64::MAX)),
            Self::Bytes(length) => code.local_get(length).i32_const(BULK_BYTES_LOG2).i32_shr_u().i64_extend_i32_u(),
        };
    }
}

/// Returns the locals of a function, and how many they are without its parameters.
pub(crate) fn locals(
    copy: &mut impl Reencode<Error = std::convert::Infallible>,
    body: &FunctionBody<'_>,
) -> Result<(Vec<(u32, ValType)>, u32), Error> {
    let (mut locals, mut count) = (Vec::new(), 0);
    for local in body.get_locals_reader()? {
        let (number, kind) = local?;
        locals.push((number, copy.val_type(kind)?));
        count += number;
    }
    Ok((locals, count))
}
