//! `proofbox mcp`: the service for one agent, on standard input and output.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::app::App;
use crate::config::{Config, ServerSettings};
use crate::http::mcp::serve_stdio;
use crate::telemetry::logs;

/// Settings of the service for one agent.
#[derive(Args)]
pub struct McpArguments {
    /// Filter for the log on standard error
    #[arg(long, env = "PROOFBOX_LOG", value_name = "FILTER", default_value = "warn")]
    log: String,
}

impl From<McpArguments> for ServerSettings {
    fn from(arguments: McpArguments) -> Self {
        Self { log: Some(arguments.log), ..Self::default() }
    }
}

/// Serves until standard input ends, or SIGINT or SIGTERM comes.
pub(super) fn mcp(config: Config) -> anyhow::Result<ExitCode> {
    logs::begin(&config.log, config.log_format).with_context(|| format!("--log (PROOFBOX_LOG) is {:?}", config.log))?;
    // The default directory belongs to `proofbox serve`, and one agent may have several of these processes.
    let keeps = config.data_dir_given;
    let config = Config { data_dir: config.data_dir.filter(|_| keeps), ..config };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let (started, mut app) = oneshot::channel();
        let start = async move {
            let app = App::new(&config).await?;
            let service = Arc::clone(app.service());
            // It is dropped here only if nobody waits any more.
            let _ = started.send(app);
            Ok(service)
        };
        let served = tokio::select! {
            served = serve_stdio(start) => served,
            _ = interrupt.recv() => Ok(()),
            _ = terminate.recv() => Ok(()),
        };
        if let Ok(app) = app.try_recv()
            && keeps
        {
            app.service().sessions.store_all().await;
        }
        served
    });
    // A read of standard input can't be ended.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}
