//! `proofbox serve`

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::app::App;
use crate::config::Config;
use crate::telemetry::logs::Log;

/// Serves until SIGINT or SIGTERM. SIGHUP has the policies read again.
pub fn serve(config: &Config) -> anyhow::Result<ExitCode> {
    let _log = Log::begin(&config.log, config.log_format)
        .with_context(|| format!("--log (PROOFBOX_LOG) is {:?}", config.log))?;
    // The front process only passes on: a thread for every four workers keeps up, and fewer threads wake each other less.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(config.workers.div_ceil(4)).enable_all().build()?;
    runtime.block_on(async {
        // Bound first: a port that is taken is told before minutes of building.
        let listener =
            TcpListener::bind(config.listen).await.with_context(|| format!("listening on {}", config.listen))?;
        let address = listener.local_addr()?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let app = App::new(config).await?;
        let service = Arc::clone(app.service());
        // Ends with the runtime, after the last request.
        tokio::spawn(async move {
            while hangup.recv().await.is_some() {
                let service = Arc::clone(&service);
                match tokio::task::spawn_blocking(move || service.reload_policies()).await {
                    Ok(Ok(())) => tracing::info!("the policies were read again"),
                    Ok(Err(error)) => tracing::error!(%error, "the policies stay as they were"),
                    Err(_) => tracing::error!("reading the policies failed; they stay as they were"),
                }
            }
        });
        tracing::info!(%address, workers = config.workers, "serving");
        app.serve(listener, async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            tracing::info!("draining");
        })
        .await?;
        Ok(ExitCode::SUCCESS)
    })
}
