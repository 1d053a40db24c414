//! Requests of promptfoo's assertion `webhook`, translated to those of `POST /v1/execute`.

use axum::http::Uri;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::http::error::ApiError;
use crate::http::extract::parse_part;
use crate::http::query::Query;
use crate::http::v1::execute_request;
use proofbox_types::submission::Submission;

/// Parameters of the URL that are fields of the request.
const FIELDS: [&str; 4] = ["policy", "grading", "visibility", "image"];
/// Parameters of the URL that are fields of the tests.
const TEST_FIELDS: [&str; 6] = ["kind", "entry_point", "preset", "interface", "threshold", "correct_answer"];
/// Prefix of the parameters of the URL that are parameters of an evaluator.
const APP_PARAMS: &str = "app_params.";
/// Kinds of tests whose `entry_point` a row may give beside them.
const WITH_ENTRY_POINT: [&str; 2] = ["check_function", "function_cases"];

/// Body of promptfoo's request; it may have more.
#[derive(Deserialize)]
pub(super) struct WebhookRequest {
    /// Answer of the model: text, or what its provider has parsed of it.
    output: Value,
    #[serde(default)]
    context: Value,
}

/// Fields that the URL of an assertion gives, where a row gives no others.
pub(super) struct Defaults {
    fields: Map<String, Value>,
    tests: Map<String, Value>,
}

impl Defaults {
    /// Reads the parameters of the URL.
    ///
    /// # Errors
    /// Returns an error that names the parameter that is not known, or wrong.
    pub(super) fn of(uri: &Uri) -> Result<Self, ApiError> {
        let query = Query::of(uri, &[&FIELDS[..], &TEST_FIELDS[..], &[APP_PARAMS]].concat())?;
        let given = |names: &[&str]| -> Map<String, Value> {
            names.iter().filter_map(|name| Some(((*name).to_owned(), json!(query.text(name)?)))).collect()
        };
        let (fields, mut tests) = (given(&FIELDS), given(&TEST_FIELDS));
        if let Some(threshold) = query.text("threshold") {
            let wrong = |_| ApiError::meaningless("threshold", "it must be a number");
            tests.insert("threshold".to_owned(), json!(threshold.parse::<f64>().map_err(wrong)?));
        }
        // Values that are JSON, such as numbers, are what they say.
        let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
        let app_params: Map<String, Value> =
            query.under(APP_PARAMS).map(|(name, text)| (name.to_owned(), value(text))).collect();
        if !app_params.is_empty() {
            tests.insert("app_params".to_owned(), Value::Object(app_params));
        }
        Ok(Self { fields, tests })
    }
}

/// Returns a variable of a row. Rows of tables have text only, so text that is JSON stands for it.
fn object(vars: &mut Map<String, Value>, name: &str) -> Result<Option<Map<String, Value>>, ApiError> {
    let field = format!("context.vars.{name}");
    let value = match vars.remove(name) {
        Some(Value::String(text)) => serde_json::from_str(&text)
            .map_err(|error| ApiError::malformed(Some(field.clone()), format!("it is no JSON: {error}")))?,
        Some(value) => value,
        None => return Ok(None),
    };
    match value {
        Value::Object(object) => Ok(Some(object)),
        Value::Null => Ok(None),
        _ => Err(ApiError::malformed(Some(field), "expected an object, or JSON of one")),
    }
}

/// Translates a request of promptfoo's.
///
/// # Errors
/// Returns an error that names the first field that has no meaning.
pub(super) fn submission_of(request: WebhookRequest, defaults: Defaults) -> Result<Submission, ApiError> {
    let WebhookRequest { output, context } = request;
    let mut vars = match context.get("vars") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(vars)) => vars.clone(),
        Some(_) => return Err(ApiError::malformed(Some("context.vars".to_owned()), "expected an object")),
    };
    let mut fields = defaults.fields;
    fields.extend(object(&mut vars, "proofbox")?.unwrap_or_default());
    if fields.contains_key("code") || fields.contains_key("completion") {
        return Err(ApiError::meaningless("context.vars.proofbox", "it has no `code`: that is the output"));
    }
    let mut tests = defaults.tests;
    for given in [fields.remove("tests"), object(&mut vars, "tests")?.map(Value::Object)].into_iter().flatten() {
        match given {
            Value::Object(given) => tests.extend(given),
            _ => return Err(ApiError::malformed(Some("context.vars.proofbox.tests".to_owned()), "expected an object")),
        }
    }
    let kind = tests.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    if kind.is_empty() {
        return Err(ApiError::malformed(
            Some("context.vars.tests".to_owned()),
            "the row has no tests: give them as the variable `tests`, as `POST /v1/execute` has them",
        ));
    }
    if WITH_ENTRY_POINT.contains(&kind.as_str())
        && let Some(entry_point) = vars.remove("entry_point")
    {
        tests.entry("entry_point").or_insert(entry_point);
    }
    // An evaluator has promptfoo's own arguments, and looks at the output; other tests run the code in it.
    if kind == "evaluator" {
        if let Some(answer) = vars.remove("correct_answer") {
            tests.entry("correct_answer").or_insert(answer);
        }
        tests.entry("output").or_insert(output);
        tests.entry("context").or_insert(context);
    } else {
        let completion = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
        fields.insert("completion".to_owned(), Value::String(completion));
    }
    fields.insert("tests".to_owned(), Value::Object(tests));
    execute_request(parse_part("", Value::Object(fields))?)
}

#[cfg(test)]
mod tests {
    use proofbox_types::program::PythonTests;
    use proofbox_types::submission::{Grading, Tests};

    use super::*;

    fn submission(query: &str, request: Value) -> Result<Submission, String> {
        let uri = format!("/v1/promptfoo/webhook{query}").parse().expect("a path");
        let said = |error: ApiError| error.to_json().to_string();
        submission_of(serde_json::from_value(request).expect("a request"), Defaults::of(&uri).map_err(said)?)
            .map_err(said)
    }

    fn asserts(submission: Submission) -> Vec<String> {
        match submission.tests {
            Some(Tests::Python { tests: PythonTests::Asserts { asserts, .. }, .. }) => asserts,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn tests_come_from_the_row_as_an_object_or_as_text() {
        let tests = json!({"kind": "asserts", "asserts": ["assert add(1, 2) == 3"]});
        for given in [tests.clone(), json!(tests.to_string())] {
            let request = json!({"output": "def add(a, b): return a + b",
                "context": {"prompt": "p", "vars": {"tests": given, "language": "Python"}}});
            let made = submission("", request).expect("it has a meaning");
            assert_eq!(made.program.code, "def add(a, b): return a + b");
            assert_eq!(asserts(made), ["assert add(1, 2) == 3"]);
        }
    }

    #[test]
    fn the_url_gives_what_the_row_does_not() {
        let request = json!({"output": "x = 1", "context": {"vars": {
            "tests": {"source": "def check(f): pass"}, "entry_point": "f",
            "proofbox": {"policy": "eval", "labels": {"row": "7"}}}}});
        let made =
            submission("?kind=check_function&policy=strict&grading=isolated", request).expect("it has a meaning");
        assert_eq!((made.policy.as_str(), made.grading, made.labels.len()), ("eval", Some(Grading::Isolated), 1));
        let Some(Tests::Python { tests: PythonTests::CheckFunction { entry_point, .. }, .. }) = made.tests else {
            panic!("other tests")
        };
        assert_eq!(entry_point, "f");
    }

    #[test]
    fn an_evaluator_gets_the_output_and_the_context() {
        let request = json!({"output": {"a": 1}, "context": {"prompt": "p", "vars": {"topic": "b"}}});
        let made = submission("?kind=evaluator&preset=json_equality&threshold=0.5", request).expect("it has a meaning");
        assert_eq!(made.program.code, "");
        let Some(Tests::Python { tests: PythonTests::Evaluator(evaluator), .. }) = made.tests else {
            panic!("other tests")
        };
        let names: Vec<&str> = evaluator.arguments.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, evaluator.threshold), (vec!["output", "context"], Some(0.5)));
        let request = json!({"output": "7", "context": {"vars": {"correct_answer": "7"}}});
        let query = "?kind=evaluator&preset=regex&app_params.pattern=%5E7%24&app_params.should_match=false";
        let Some(Tests::Python { tests: PythonTests::Evaluator(evaluator), .. }) =
            submission(query, request).expect("it has a meaning").tests
        else {
            panic!("other tests")
        };
        let arguments = format!("{:?}", evaluator.arguments);
        assert!(arguments.contains("^7$") && arguments.contains("Bool(false)"), "{arguments}");
        assert!(evaluator.arguments.iter().any(|(name, _)| name == "correct_answer"));
    }

    #[test]
    fn a_row_without_tests_is_an_error_and_no_pass() {
        for (query, vars, field) in [
            ("", json!({}), "context.vars.tests"),
            ("", json!({"test": {"kind": "asserts"}}), "context.vars.tests"),
            ("", json!({"tests": "assert x"}), "context.vars.tests"),
            ("", json!({"tests": ["assert x"]}), "context.vars.tests"),
            ("", json!({"tests": {"kind": "asserts", "asserts": []}}), "tests.asserts"),
            ("?kind=nonsense", json!({}), "tests.kind"),
            ("?threshold=high", json!({}), "threshold"),
            ("?test=x", json!({}), "test"),
            ("", json!({"proofbox": {"code": "x"}}), "context.vars.proofbox"),
            ("?kind=doctest", json!({"proofbox": {"fuel": 1}}), "fuel"),
        ] {
            let said = submission(query, json!({"output": "x = 1", "context": {"vars": vars}})).expect_err(query);
            assert!(said.contains(&format!(r#""field":"{field}""#)), "{query} {field}: {said}");
        }
    }
}
