//! Requests of the protocol.

use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;

use super::backend::Backend;
use super::call::{Call, CallHandle, CallsInFlight, Doing, ToolError, caller_of};
use super::resources;
use super::tools::{self, Answer};
use crate::telemetry::RequestScope;

/// Text for the model about the tools as a whole.
const INSTRUCTIONS: &str = "\
Runs Python 3.13 and shell commands in a WebAssembly sandbox without network. run_python without `session` is a fresh \
interpreter each time; open_session keeps variables and files between calls, and run_command, the file tools, \
fork_session and checkpoint_session work in such a session. run_tests grades code in an interpreter that the code \
can't reach: trust its `passed` and `total`. Code that fails is a normal result: read `status`, `failure_class`, \
`error` and `stderr`, mend it and run it again. Files are below /home/user.";

/// Source of a request's caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerSource {
    /// The HTTP request, which was authenticated.
    Request,
    /// Nobody else than the user who started this process.
    Keyless,
}

/// Server of the protocol.
#[derive(Clone)]
pub struct Handler {
    backend: Backend,
    callers: CallerSource,
    in_flight: Arc<CallsInFlight>,
}

impl Handler {
    /// Makes the server over a service.
    pub fn new(backend: Backend, callers: CallerSource, in_flight: Arc<CallsInFlight>) -> Self {
        Self { backend, callers, in_flight }
    }

    /// Begins a call, which waits for the service.
    async fn begin(&self, context: RequestContext<RoleServer>) -> Result<Result<Call, ToolError>, ErrorData> {
        let caller = caller_of(self.callers, &context)?;
        let handle = CallHandle::new(context, &caller, &self.in_flight);
        let service = handle.run(self.backend.service(), &Doing::new("proofbox is starting")).await;
        Ok(match service {
            Ok(Ok(service)) => Ok(Call::new(service, caller, handle)),
            Ok(Err(error)) | Err(error) => Err(error),
        })
    }
}

/// Returns the request that a call is part of; the protocol's server starts a task for each.
fn scope_of(context: &RequestContext<RoleServer>) -> RequestScope {
    let parts = context.extensions.get::<Parts>();
    parts.and_then(|parts| parts.extensions.get().cloned()).unwrap_or_else(RequestScope::current)
}

fn result_of(answered: Result<Answer, ToolError>) -> CallToolResult {
    match answered {
        Ok(Answer { structured, content }) => {
            let mut blocks = vec![ContentBlock::text(structured.to_string())];
            blocks.extend(content);
            let mut result = CallToolResult::success(blocks);
            result.structured_content = Some(structured);
            result
        }
        Err(error) => CallToolResult::error(vec![ContentBlock::text(error.into_text())]),
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let about = Implementation::new("proofbox", env!("CARGO_PKG_VERSION")).with_title("proofbox");
        ServerConfig::new(capabilities).with_server_info(about).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all().to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all().iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !tools::all().iter().any(|tool| tool.name == request.name) {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None));
        }
        let arguments = request.arguments.unwrap_or_default();
        let answered = scope_of(&context).serve(async {
            match self.begin(context).await? {
                Ok(call) => Ok::<_, ErrorData>(tools::call(&call, &request.name, arguments).await),
                Err(error) => Ok(Err(error)),
            }
        });
        Ok(result_of(answered.await?).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        // Before anybody has waited for the service, there are no sessions: clients ask at once.
        let Some(service) = self.backend.started() else {
            return Ok(ListResourcesResult::with_all_items(Vec::new()));
        };
        let caller = caller_of(self.callers, &context)?;
        let scope = scope_of(&context);
        let call = Call::new(service, caller.clone(), CallHandle::new(context, &caller, &self.in_flight));
        let cursor = request.and_then(|request| request.cursor);
        let listed = scope.serve(resources::list(&call, cursor.as_deref())).await;
        listed.map_err(|error| ErrorData::invalid_params(error.into_text(), None))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![resources::template()]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let read = scope_of(&context).serve(async {
            match self.begin(context).await? {
                Ok(call) => Ok::<_, ErrorData>(resources::read(&call, &uri).await),
                Err(error) => Ok(Err(error)),
            }
        });
        match read.await? {
            Ok(contents) => Ok(contents.into()),
            Err(error) => Err(ErrorData::resource_not_found(error.into_text(), Some(json!({"uri": uri})))),
        }
    }
}
