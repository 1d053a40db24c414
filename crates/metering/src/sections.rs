//! Sections of a module, as far as the pass reads or changes them.

use wasmparser::{
    DataSectionReader, ElementSectionReader, ExportSectionReader, ExternalKind, FunctionBody, FunctionSectionReader,
    GlobalSectionReader, ImportSectionReader, KnownCustom, MemorySectionReader, NameSectionReader, Parser, Payload,
    TableSectionReader, TypeRef, TypeSectionReader,
};

use crate::{COUNTER, Error, PAUSE};

/// A module, section by section.
pub(crate) struct Sections<'a> {
    /// Types.
    pub types: Option<TypeSectionReader<'a>>,
    /// Imports.
    pub imports: Option<ImportSectionReader<'a>>,
    /// Types of the functions that are defined.
    pub functions: Option<FunctionSectionReader<'a>>,
    /// Tables.
    pub tables: Option<TableSectionReader<'a>>,
    /// Memories.
    pub memories: Option<MemorySectionReader<'a>>,
    /// Globals that are defined.
    pub globals: Option<GlobalSectionReader<'a>>,
    /// Exports.
    pub exports: Option<ExportSectionReader<'a>>,
    /// Function that is called when the module is instantiated.
    pub start: Option<u32>,
    /// Elements of tables.
    pub elements: Option<ElementSectionReader<'a>>,
    /// Number of data segments.
    pub data_count: Option<u32>,
    /// Contents of memories.
    pub data: Option<DataSectionReader<'a>>,
    /// Names of functions.
    pub names: Option<NameSectionReader<'a>>,
    /// Code of the functions that are defined.
    pub bodies: Vec<FunctionBody<'a>>,
    /// Number of functions that are imported.
    pub imported_functions: u32,
    /// Number of globals that are imported.
    pub imported_globals: u32,
}

impl<'a> Sections<'a> {
    /// Reads a module that is to be metered.
    pub(crate) fn read(module: &'a [u8]) -> Result<Self, Error> {
        let sections = Self::read_metered(module)?;
        sections.refuse_own_names()?;
        sections.refuse_large_memories()?;
        Ok(sections)
    }

    /// Reads a module that may have a counter already.
    pub(crate) fn read_metered(module: &'a [u8]) -> Result<Self, Error> {
        let mut sections = Self::empty();
        for payload in Parser::new(0).parse_all(module) {
            sections.take(payload?)?;
        }
        sections.count_imports()?;
        Ok(sections)
    }

    fn empty() -> Self {
        Self {
            types: None,
            imports: None,
            functions: None,
            tables: None,
            memories: None,
            globals: None,
            exports: None,
            start: None,
            elements: None,
            data_count: None,
            data: None,
            names: None,
            bodies: Vec::new(),
            imported_functions: 0,
            imported_globals: 0,
        }
    }

    fn take(&mut self, payload: Payload<'a>) -> Result<(), Error> {
        match payload {
            Payload::TypeSection(reader) => self.types = Some(reader),
            Payload::ImportSection(reader) => self.imports = Some(reader),
            Payload::FunctionSection(reader) => self.functions = Some(reader),
            Payload::TableSection(reader) => self.tables = Some(reader),
            Payload::MemorySection(reader) => self.memories = Some(reader),
            Payload::GlobalSection(reader) => self.globals = Some(reader),
            Payload::ExportSection(reader) => self.exports = Some(reader),
            Payload::StartSection { func, .. } => self.start = Some(func),
            Payload::ElementSection(reader) => self.elements = Some(reader),
            Payload::DataCountSection { count, .. } => self.data_count = Some(count),
            Payload::DataSection(reader) => self.data = Some(reader),
            Payload::CodeSectionEntry(body) => self.bodies.push(body),
            Payload::CustomSection(section) => {
                if let KnownCustom::Name(reader) = section.as_known() {
                    self.names = Some(reader);
                }
            }
            Payload::Version { .. } | Payload::CodeSectionStart { .. } | Payload::End(_) => {}
            other => return Err(Error::Unsupported(format!("a section like {other:?}"))),
        }
        Ok(())
    }

    fn count_imports(&mut self) -> Result<(), Error> {
        for import in self.imports.clone().into_iter().flat_map(ImportSectionReader::into_imports) {
            match import?.ty {
                TypeRef::Func(_) => self.imported_functions += 1,
                TypeRef::Global(_) => self.imported_globals += 1,
                TypeRef::Table(_) | TypeRef::Memory(_) => {}
                other => return Err(Error::Unsupported(format!("an import like {other:?}"))),
            }
        }
        Ok(())
    }

    /// Refuses a module that has the counter or its import already: it could set the one, or stand for the other.
    fn refuse_own_names(&self) -> Result<(), Error> {
        for import in self.imports.clone().into_iter().flat_map(ImportSectionReader::into_imports) {
            let import = import?;
            if (import.module, import.name) == PAUSE {
                return Err(Error::Taken(PAUSE.1));
            }
        }
        for export in self.exports.clone().into_iter().flatten() {
            if export?.name == COUNTER {
                return Err(Error::Taken(COUNTER));
            }
        }
        Ok(())
    }

    /// Number of parameters of each function that is defined.
    pub(crate) fn parameters(&self) -> Result<Vec<u32>, Error> {
        let mut types = Vec::new();
        for kind in self.types.clone().into_iter().flat_map(TypeSectionReader::into_iter_err_on_gc_types) {
            types.push(u32::try_from(kind?.params().len()).unwrap_or(u32::MAX));
        }
        let functions = self.functions.clone().into_iter().flatten();
        let parameters = functions.map(|kind| {
            types.get(kind? as usize).copied().ok_or_else(|| Error::Encode("a function without a type".to_owned()))
        });
        parameters.collect()
    }

    /// Refuses memories whose lengths are not 32-bit numbers.
    fn refuse_large_memories(&self) -> Result<(), Error> {
        for memory in self.memories.clone().into_iter().flatten() {
            if memory?.memory64 {
                return Err(Error::Unsupported("memories with 64-bit addresses".to_owned()));
            }
        }
        Ok(())
    }

    /// Number of globals, and so the index of the next one.
    pub(crate) fn globals(&self) -> u32 {
        self.imported_globals + self.globals.as_ref().map_or(0, GlobalSectionReader::count)
    }

    /// Index of an exported global.
    pub(crate) fn exported_global(&self, name: &str) -> Result<Option<u32>, Error> {
        for export in self.exports.clone().into_iter().flatten() {
            let export = export?;
            if export.name == name && export.kind == ExternalKind::Global {
                return Ok(Some(export.index));
            }
        }
        Ok(None)
    }
}
