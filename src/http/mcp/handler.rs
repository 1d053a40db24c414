//! Requests of the protocol.

use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use futures_util::future::BoxFuture;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock, CreateTaskResult,
    GetTaskParams, GetTaskResult, Implementation, JsonObject, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, Tool, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

use super::backend::Backend;
use super::call::{Call, CallHandle, CallerSource, CallsInFlight, Doing, ToolError, caller_of};
use super::resources;
use super::tasks::{DEFAULT_TTL, NoRoom, Task, Tasks};
use super::tools::{self, Answer};
use crate::telemetry::RequestScope;
use proofbox_types::caller::Caller;

/// Text for the model about the tools as a whole.
const INSTRUCTIONS: &str = "\
Runs Python 3.13 and shell commands in a WebAssembly sandbox without network. run_python without `session` is a fresh \
interpreter each time; open_session keeps variables and files between calls, and run_command, the file tools, \
fork_session and checkpoint_session work in such a session. run_tests grades code in an interpreter that the code \
can't reach: trust its `passed` and `total`. Code that fails is a normal result: read `status`, `failure_class`, \
`error` and `stderr`, mend it and run it again. Files are below /home/user.";

/// Time in which the result of a call is awaited that may become a task: a client that asks for the state of tasks hears
/// of what is done soon only later.
const PATIENCE: Duration = Duration::from_secs(1);

/// Server of the protocol.
#[derive(Clone)]
pub(super) struct Handler {
    backend: Backend,
    callers: CallerSource,
    in_flight: Arc<CallsInFlight>,
    tasks: Arc<Tasks>,
}

impl Handler {
    /// Makes the server over a service.
    pub(super) fn new(backend: Backend, callers: CallerSource, in_flight: Arc<CallsInFlight>) -> Self {
        Self { backend, callers, in_flight, tasks: Arc::default() }
    }

    /// Returns the tasks.
    pub(super) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Begins a call of a tool as a task, whose request is answered at once.
    ///
    /// # Errors
    /// Returns an error when there is no room for another task.
    pub(super) fn begin_task(
        &self,
        caller: &Caller,
        ttl: Duration,
        name: String,
        arguments: JsonObject,
    ) -> Result<Arc<Task>, NoRoom> {
        let (caller, bytes) = (caller.clone(), size(&arguments));
        self.tasks.begin(caller.owner(), ttl, bytes, |task| {
            self.work(caller.clone(), CallHandle::of_task(task), name, arguments)
        })
    }

    /// Calls a tool for a client that knows tasks: the answer is the result if it is there soon, and else a task.
    async fn call_or_task(
        &self,
        context: RequestContext<RoleServer>,
        name: String,
        arguments: JsonObject,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = caller_of(self.callers, &context)?;
        let bytes = size(&arguments);
        let handle = CallHandle::new(context, &caller, &self.in_flight);
        let mut begun = Some((handle, arguments));
        let mut waiting = None;
        let task = self.tasks.begin(caller.owner(), DEFAULT_TTL, bytes, |task| {
            let (handle, arguments) = begun.take().expect("it is begun once");
            let (handle, request) = handle.into_task(task);
            waiting = Some(request);
            self.work(caller.clone(), handle, name.clone(), arguments)
        });
        let (Ok(task), Some(waiting)) = (task, waiting) else {
            // No room: the client waits for the result, as one that knows no tasks does.
            let (handle, arguments) = begun.take().expect("it was not begun");
            return Ok(self.work(caller, handle, name, arguments).await.into());
        };
        let untold = Untold { tasks: &self.tasks, task: Some(&task) };
        tokio::select! {
            result = task.result() => Ok(result.into()),
            () = waiting.cancelled() => Ok(result_of(Err(ToolError::cancelled())).into()),
            () = tokio::time::sleep(PATIENCE) => {
                untold.tell();
                Ok(CreateTaskResult::new(task.state()).into())
            }
        }
    }

    /// Calls a tool. What does it is large, and is not to be moved from stack to stack.
    fn work(
        &self,
        caller: Caller,
        handle: CallHandle,
        name: String,
        arguments: JsonObject,
    ) -> BoxFuture<'static, CallToolResult> {
        let backend = self.backend.clone();
        Box::pin(async move {
            let answered = match handle.run(backend.service(), &Doing::new("proofbox is starting")).await {
                Ok(Ok(service)) => tools::call(&Call::new(service, caller, handle), &name, arguments).await,
                Ok(Err(error)) | Err(error) => Err(error),
            };
            result_of(answered)
        })
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

/// A task whose client has not been told of it: it ends with its request.
struct Untold<'a> {
    tasks: &'a Tasks,
    task: Option<&'a Task>,
}

impl Untold<'_> {
    fn tell(mut self) {
        self.task = None;
    }
}

impl Drop for Untold<'_> {
    fn drop(&mut self) {
        if let Some(task) = self.task {
            self.tasks.remove(task);
        }
    }
}

/// Returns about how many bytes arguments take.
fn size(arguments: &JsonObject) -> usize {
    fn of(value: &Value) -> usize {
        size_of::<Value>()
            + match value {
                Value::String(text) => text.len(),
                Value::Array(items) => items.iter().map(of).sum(),
                Value::Object(fields) => size(fields),
                Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            }
    }
    arguments.iter().map(|(name, value)| name.len() + of(value)).sum()
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
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_tasks().build();
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
        let name = request.name.into_owned();
        let scope = scope_of(&context);
        let knows_tasks = context.client_capabilities().is_some_and(|client| client.supports_tasks());
        if knows_tasks && tools::may_be_long(&name) {
            return scope.serve(self.call_or_task(context, name, arguments)).await;
        }
        let caller = caller_of(self.callers, &context)?;
        let handle = CallHandle::new(context, &caller, &self.in_flight);
        Ok(scope.serve(self.work(caller, handle, name, arguments)).await.into())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let caller = caller_of(self.callers, &context)?;
        Ok(GetTaskResult::new(self.tasks.get(caller.owner(), &request.task_id)?.detailed()))
    }

    /// Accepts input for a task. None ever asks for any.
    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let caller = caller_of(self.callers, &context)?;
        self.tasks.get(caller.owner(), &request.task_id).map(drop)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let caller = caller_of(self.callers, &context)?;
        self.tasks.get(caller.owner(), &request.task_id)?.cancel();
        Ok(())
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
