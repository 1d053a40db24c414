//! Requests to the guest's runner.

use super::role::Role;
use proofbox_types::program::{Call, Program, PythonTests, ResultWanted, TestFiles};
use proofbox_types::value::Value;

/// The request as `runner.run` takes it.
pub(super) fn request_of(program: &Program, role: &Role) -> Value {
    let strings = |items: &[String]| Value::List(items.iter().map(Value::str).collect());
    let dict = |fields: Vec<(&str, Value)>| {
        Value::Dict(fields.into_iter().map(|(name, value)| (Value::str(name), value)).collect())
    };
    let word = match role {
        Role::Alone(_) => Value::None,
        Role::Candidate(..) => Value::str("candidate"),
        Role::Grader(..) => Value::str("grader"),
    };
    let result = match &program.result {
        None => Value::None,
        Some(ResultWanted::LastExpression) => Value::str("last_expression"),
        Some(ResultWanted::Variable(name)) => dict(vec![("variable", Value::str(name))]),
    };
    let tests = match &program.tests {
        _ if matches!(role, Role::Candidate(..)) => Value::None,
        None => Value::None,
        Some(PythonTests::Asserts { setup, asserts }) => {
            dict(vec![("kind", Value::str("asserts")), ("setup", Value::str(setup)), ("asserts", strings(asserts))])
        }
        Some(PythonTests::CheckFunction { source, entry_point }) => dict(vec![
            ("kind", Value::str("check_function")),
            ("source", Value::str(source)),
            ("entry_point", Value::str(entry_point)),
        ]),
        Some(PythonTests::Script { source }) => {
            dict(vec![("kind", Value::str("script")), ("source", Value::str(source))])
        }
        Some(PythonTests::FunctionCases { entry_point, calls }) => dict(vec![
            ("kind", Value::str("function_cases")),
            ("entry_point", Value::str(entry_point)),
            ("calls", Value::List(calls.iter().map(call_of).collect())),
        ]),
        Some(PythonTests::Unittest(tests)) => dict(test_files_of("unittest", tests, program)),
        Some(PythonTests::Pytest(tests)) => dict(test_files_of("pytest", tests, program)),
        Some(PythonTests::Complexity { generator, entry_point, sizes }) => dict(vec![
            ("kind", Value::str("complexity")),
            ("generator", Value::str(generator)),
            ("entry_point", Value::str(entry_point)),
            ("sizes", Value::List(sizes.iter().map(|size| Value::Int(size.cast_signed())).collect())),
        ]),
        Some(PythonTests::Doctest) => dict(vec![("kind", Value::str("doctest"))]),
        Some(PythonTests::Evaluator(evaluator)) => {
            let mut fields = vec![
                ("kind", Value::str("evaluator")),
                ("source", Value::str(&evaluator.source)),
                ("interface", Value::str(&evaluator.interface)),
                ("threshold", evaluator.threshold.map_or(Value::None, Value::Float)),
            ];
            fields.extend(evaluator.arguments.iter().map(|(name, value)| (name.as_str(), value.clone())));
            dict(fields)
        }
    };
    let env = program.env.iter().map(|(name, value)| (Value::str(name), Value::str(value))).collect();
    let seed = program.deterministic.map_or(Value::None, |wanted| Value::Int(wanted.seed.cast_signed()));
    let mut fields = vec![
        // As bytes: the source is read as a file is, with its byte-order mark and coding line.
        ("code", Value::Bytes(program.code.as_bytes().to_vec())),
        ("args", strings(&program.args)),
        ("env", Value::Dict(env)),
        ("result", result),
        ("tests", tests),
        ("seed", seed),
        ("role", word),
        ("module", program.module.as_ref().map_or(Value::None, Value::str)),
        ("modules", strings(&modules(program))),
    ];
    if program.report_use.any() {
        fields.push(("report_use", Value::Bool(true)));
    }
    dict(fields)
}

fn call_of(call: &Call) -> Value {
    let text = |text: &Option<String>| text.as_ref().map_or(Value::None, Value::str);
    let kwargs = call.kwargs.iter().map(|(name, value)| (Value::str(name), value.clone())).collect();
    Value::Tuple(vec![Value::List(call.args.clone()), Value::Dict(kwargs), text(&call.raises), text(&call.name)])
}

fn test_files_of<'a>(kind: &str, tests: &TestFiles, program: &Program) -> Vec<(&'a str, Value)> {
    let text = |text: &Option<String>| text.as_ref().map_or(Value::None, Value::str);
    let files = program.test_files.iter();
    let files = files.map(|file| (Value::str(&file.path), Value::Bytes(file.content.clone()))).collect();
    vec![
        ("kind", Value::str(kind)),
        ("source", text(&tests.source)),
        ("files", Value::Dict(files)),
        ("test_module", text(&tests.test_module)),
        ("module", text(&program.module)),
        ("fresh_per_case", Value::Bool(tests.fresh_per_case)),
        ("shuffle", tests.shuffle.map_or(Value::None, |seed| Value::int(&seed.into()))),
    ]
}

/// Names of the top-level modules among the candidate's files.
fn modules(program: &Program) -> Vec<String> {
    let mut names: Vec<String> = program
        .files
        .iter()
        .filter(|file| file.path.ends_with(".py"))
        .filter_map(|file| file.path.trim_end_matches(".py").split('/').next().map(str::to_owned))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}
