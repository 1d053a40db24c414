//! Names of the tree's findings: for people, and among the signs of a verdict.

/// From this confidence on a finding is told with the verdict's integrity.
pub(super) const SIGN: f64 = 0.5;

/// The word for a sign of tampering, as `integrity.signals` has it.
pub(super) fn sign(rule: &str, name: &str) -> Option<&'static str> {
    let last = name.rsplit('.').next().unwrap_or(name);
    Some(match (rule, last) {
        ("constant_equality", _) => "constant_equality",
        ("known_answers", _) => "branches_on_known_inputs",
        ("answers_in_turn", _) => "answers_in_turn",
        ("looks_for_tests", _) => "looks_for_tests",
        ("test_hook", _) => "test_library",
        ("replaced" | "object_changed", _) => "patches",
        ("module_names", _) => "module_names",
        (_, "_exit" | "abort") => "process_exit",
        (_, "register" | "_run_exitfuncs" | "_clear" | "unregister" | "atexit" | "excepthook" | "unraisablehook") => {
            "exit_hook"
        }
        (_, "settrace" | "setprofile" | "monitoring" | "settrace_all_threads" | "setprofile_all_threads") => "tracing",
        (_, "get_objects" | "get_referrers" | "get_referents") => "gc_scan",
        (_, name) if name.starts_with("_proofbox") => "sandbox_internals",
        (_, "linecache" | "co_consts" | "co_code" | "cache") => "linecache",
        (_, "SystemExit") => "process_exit",
        (_, "unittest" | "pytest" | "_pytest" | "SkipTest" | "skip" | "exit") => "test_library",
        (
            _,
            "_getframe" | "f_back" | "f_globals" | "f_locals" | "f_builtins" | "f_code" | "tb_frame" | "gi_frame"
            | "cr_frame" | "ag_frame" | "currentframe" | "stack" | "_current_frames" | "getouterframes" | "trace",
        ) => "frame_walk",
        ("attribute", _) => "introspection",
        _ => return None,
    })
}

/// A finding of the tree, in words.
pub(super) fn describe(rule: &str, name: &str) -> String {
    match rule {
        "import" => format!("import of {name}"),
        "name" | "method" => format!("use of {name}"),
        "attribute" => format!("attribute {name}"),
        "builtins_namespace" => "the builtins as a namespace".to_owned(),
        "import_machinery" => format!("the import machinery, by {name}"),
        "computed_import" => "a module whose name is computed".to_owned(),
        "computed_attribute" => format!("an attribute of {name} whose name is computed"),
        "computed_source" => format!("{name} of a computed text"),
        "constant_source" => format!("{name} of a text"),
        "computed_mode" => format!("{name} with a computed mode"),
        "open_to_write" => format!("{name} for writing"),
        "open_to_read" => format!("{name} for analysis"),
        "descriptor" => "a file opened by its descriptor".to_owned(),
        "host_path" => format!("the path {name}"),
        "replaced" => format!("{name} is replaced"),
        "object_changed" => format!("{name} of an object is replaced"),
        "module_names" => format!("{name} of the module is replaced"),
        "constant_equality" => format!("{name} always answers the same"),
        "known_answers" => format!("{name} has a table of answers"),
        "answers_in_turn" => format!("{name} gives answers in turn, whatever it is asked"),
        "uncatchable_exception" => "an exception that no test catches".to_owned(),
        "unread" => "constants that are too large to be followed further".to_owned(),
        "looks_for_tests" => format!("code is searched for in what {name} gives"),
        "test_hook" => format!("{name} is what a test runner would load or call"),
        "named_in_text" => format!("a text that names {name}"),
        "read_address" => format!("{name} of an address"),
        "timer_off" => format!("{name} turns a time limit off"),
        "format_walk" => "a format that walks attributes".to_owned(),
        _ => name.to_owned(),
    }
}
