//! Parts of the contract that all routes share: parameters of their paths, keys, and errors. An error that a route
//! describes itself takes precedence.

use utoipa::Modify;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::AnyOf;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, ObjectBuilder, OpenApi, Ref, RefOr, Required, Response, Schema, Type};

/// Modifier that adds the common parts to every operation.
pub(super) struct Common;

/// Source of an error, by the kind of request.
#[derive(PartialEq)]
enum Source {
    /// Request of any kind.
    All,
    /// Request with parameters or a body.
    Input,
    /// Request with a body.
    Body,
    /// Request about a session or a checkpoint.
    Kept,
}

const ERRORS: &[(Source, &str, &str)] = &[
    (Source::All, "401", "A key is wanted, and there is none, or not a valid one"),
    (Source::All, "403", "The policy, a file or a page of another site may not do this"),
    (Source::All, "429", "Busy, or more than the key may: try again after Retry-After seconds"),
    (Source::All, "503", "Going down, or without what this takes"),
    (Source::Input, "400", "Malformed, or a limit outside the policy's range"),
    (Source::Input, "422", "Well formed, but meaningless"),
    (Source::Body, "408", "The body came too slowly"),
    (Source::Body, "413", "Too large"),
    (Source::Body, "415", "Of another type than this takes"),
    (Source::Kept, "404", "There is none of this name"),
    (Source::Kept, "409", "It is paused, in use, there already, or of another image"),
    (Source::Kept, "410", "It was lost"),
    (Source::Kept, "507", "There is no room"),
];

impl Modify for Common {
    fn modify(&self, contract: &mut OpenApi) {
        let components = contract.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
        let header = ApiKeyValue::with_description("X-API-Key", "The same key");
        components.add_security_scheme("header", SecurityScheme::ApiKey(ApiKey::Header(header)));
        // An item that was not run fits an answer's schema, too.
        if let Some(line) = components.schemas.get_mut("SuiteLine") {
            any_of(line);
        }
        for (path, item) in &mut contract.paths.paths {
            let names = names(path);
            for operation in operations(item) {
                complete(operation, path, &names);
            }
        }
    }
}

/// Replaces `oneOf` by `anyOf` in a schema.
fn any_of(schema: &mut RefOr<Schema>) {
    if let RefOr::T(Schema::OneOf(one)) = schema {
        let mut any = AnyOf::new();
        any.items = std::mem::take(&mut one.items);
        any.description = one.description.take();
        *schema = Schema::AnyOf(any).into();
    }
}

/// Returns the names of the parameters in a path.
fn names(path: &str) -> Vec<String> {
    path.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0.to_owned())).collect()
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, options, head, patch, trace, .. } = item;
    [get, put, post, delete, options, head, patch, trace].into_iter().flatten()
}

fn complete(operation: &mut Operation, path: &str, names: &[String]) {
    let parameters = operation.parameters.get_or_insert_default();
    for name in names {
        let same = |parameter: &Parameter| parameter.name == *name && parameter.parameter_in == ParameterIn::Path;
        if !parameters.iter().any(same) {
            parameters.push(of_path(name));
        }
    }
    let body = operation.request_body.is_some();
    let input = body || !parameters.is_empty();
    for (source, status, description) in ERRORS {
        let possible = match source {
            Source::All => true,
            Source::Input => input,
            Source::Body => body,
            Source::Kept => path.contains("sessions") || path.contains("checkpoints"),
        };
        if possible {
            operation.responses.responses.entry((*status).to_owned()).or_insert_with(|| error(description).into());
        }
    }
    // With a key, or without one where the service asks for none.
    let none: [&str; 0] = [];
    operation.security = Some(vec![
        SecurityRequirement::new("bearer", none),
        SecurityRequirement::new("header", none),
        SecurityRequirement::default(),
    ]);
}

fn of_path(name: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .schema(Some(ObjectBuilder::new().schema_type(Type::String).min_length(Some(1))))
        .build()
}

fn error(description: &str) -> Response {
    Response::builder()
        .description(description)
        .content("application/json", Content::new(Some(Ref::from_schema_name("ErrorBody"))))
        .build()
}
