//! Schemas of arguments and results, in the subset of JSON Schema that clients and models agree on.

use std::any::Any;
use std::sync::Arc;

use rmcp::model::JsonObject;
use rmcp::schemars::JsonSchema;
use rmcp::schemars::generate::SchemaSettings;
use serde_json::Value;

/// Makes the schema of arguments.
pub(super) fn arguments<T: JsonSchema + Any>() -> Arc<JsonObject> {
    made::<T>(SchemaSettings::draft2020_12())
}

/// Makes the schema of a result.
pub(super) fn result<T: JsonSchema + Any>() -> Arc<JsonObject> {
    made::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn made<T: JsonSchema + Any>(mut settings: SchemaSettings) -> Arc<JsonObject> {
    // Some clients follow no references.
    settings.inline_subschemas = true;
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let Value::Object(mut schema) = schema.to_value() else { unreachable!("a structure's schema is an object") };
    for noise in ["$schema", "title", "description"] {
        schema.remove(noise);
    }
    schema.values_mut().for_each(strip);
    Arc::new(schema)
}

/// Removes names of number formats, which validators do not know.
fn strip(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("format").is_some_and(Value::is_string) {
                fields.remove("format");
            }
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}
