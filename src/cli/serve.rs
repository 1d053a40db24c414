//! `proofbox serve`: the front process.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::app::{App, approved_wheels};
use crate::config::{Config, Traces};
use crate::http::Tls;
use crate::telemetry::logs;
use proofbox_runtime::image::{Image, ImageSource};
use proofbox_runtime::images::{self, Images, Unusable};
use proofbox_runtime::wheels::Wheels;
use proofbox_worker::jail::{self, Needs};

/// Serves until SIGINT or SIGTERM. SIGHUP has the policies and the certificate read again.
pub(super) fn serve(config: &Config) -> anyhow::Result<ExitCode> {
    logs::begin(&config.log, config.log_format).with_context(|| format!("--log (PROOFBOX_LOG) is {:?}", config.log))?;
    // Bound first: a port that is taken is told before minutes of building.
    let listener =
        std::net::TcpListener::bind(config.listen).with_context(|| format!("listening on {}", config.listen))?;
    listener.set_nonblocking(true)?;
    let tls = config.tls.clone().map(Tls::load).transpose()?;
    let default = ready_image(&config.image)?;
    for other in Images::other_sources(&config.image) {
        ready_image(&other)?;
    }
    let (images, unusable) = Images::over(default, &config.image);
    for Unusable { name, reason } in unusable {
        tracing::warn!(image = %name, %reason, "an image can't be used");
    }
    let wheels = approved_wheels(config)?;
    // Before there are threads, which could not be held to it.
    let hardened = jail::harden_front(config.hardening, &needs(config, &images, wheels.as_ref()))?;
    tracing::info!(%hardened, "what this process has given up");
    let _log = logs::write_apart();
    // The front process only passes on: a thread for every four workers keeps up, and fewer threads wake each other less.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(config.workers.div_ceil(4)).enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let app = App::with_images(config, images, wheels, hardened).await?;
        let service = Arc::clone(app.service());
        if let Some(tls) = &tls {
            tls.follow();
        }
        let certificate = tls.clone();
        // Ends with the runtime, after the last request.
        tokio::spawn(async move {
            while hangup.recv().await.is_some() {
                let service = Arc::clone(&service);
                match tokio::task::spawn_blocking(move || service.policies.reload()).await {
                    Ok(Ok(())) => tracing::info!("the policies were read again"),
                    Ok(Err(error)) => tracing::error!(%error, "the policies stay as they were"),
                    Err(_) => tracing::error!("reading the policies failed; they stay as they were"),
                }
                let Some(certificate) = certificate.clone() else { continue };
                match tokio::task::spawn_blocking(move || certificate.reload()).await {
                    Ok(Ok(())) => tracing::info!("the certificate was read again"),
                    Ok(Err(error)) => tracing::error!(%error, "the certificate stays as it was"),
                    Err(_) => tracing::error!("reading the certificate failed; it stays as it was"),
                }
            }
        });
        tracing::info!(%address, workers = config.workers, "serving");
        app.serve(listener, tls, async move {
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

/// The image, made by another process if need be: making it takes rights and threads that a service is not to have.
fn ready_image(source: &ImageSource) -> anyhow::Result<Image> {
    if let Some(image) = Image::cached(source) {
        return Ok(image);
    }
    let mut build = Command::new("/proc/self/exe");
    build.args(["runtime", "build", "--interpreter", &source.interpreter]).arg("--cache-dir").arg(&source.cache);
    for (interpreter, flag) in [(images::DEFAULT, "--image"), (images::DATA, "--data-image")] {
        if let Some(prebuilt) = source.prebuilt.get(interpreter) {
            build.arg(flag).arg(prebuilt);
        }
    }
    if let Some(sources) = &source.sources {
        build.arg("--sources-dir").arg(sources);
    }
    let status = build.stdin(Stdio::null()).stdout(Stdio::null()).status().context("building the Python runtime")?;
    // It has said why.
    anyhow::ensure!(status.success(), "the Python runtime can't be built");
    Image::cached(source).context("the Python runtime was built, and can't be read")
}

/// Returns the privileges that a service needs after its start, by its settings.
fn needs(config: &Config, images: &Images, wheels: Option<&Wheels>) -> Needs {
    // For the workers that it starts: a cache that was moved has its compiled image where it was.
    let connect = config.traces != Traces::Off || !config.callback_hosts.is_empty();
    let mut needs = Needs { connect, ..Needs::default() };
    let compiled: BTreeSet<PathBuf> = images.all().map(|image| image.compiled.clone()).collect();
    needs.read.extend(compiled);
    needs.read.extend(images.all().filter_map(|image| image.packages_file.clone()));
    needs.read.extend(wheels.map(|wheels| wheels.file.clone()));
    needs.read.extend(config.policies_dir.clone());
    needs.read.extend(config.callback_secret_file.clone());
    needs
        .read
        .extend(config.tls.iter().flat_map(|files| [&files.certificate, &files.key]).flat_map(|path| around(path)));
    // What can't be made is told by who uses it.
    let mut write = |directory: &Path| {
        let _ = std::fs::create_dir_all(directory);
        needs.write.push(directory.to_owned());
    };
    if let Some(directory) = config.data_dir.as_deref() {
        write(directory);
    }
    // Stands in for a data directory that is another service's.
    if !config.data_dir_given {
        write(&std::env::temp_dir());
    }
    match config.receipt_key.as_deref() {
        Some(key) if key.exists() => needs.read.push(key.to_owned()),
        Some(key) => write(key.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))),
        None => {}
    }
    needs
}

/// Returns the places where a file that others replace may be read after its start: its directory, and that of the file
/// which a link leads to, as certbot and Kubernetes have them. In the root directory, the file alone.
fn around(path: &Path) -> Vec<PathBuf> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let target = absolute.canonicalize().unwrap_or_else(|_| absolute.clone());
    let place = |path: PathBuf| match path.parent() {
        Some(directory) if directory.parent().is_some() => directory.to_owned(),
        _ => path,
    };
    [absolute, target].map(place).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_replaced_is_read_from_its_directory() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let directory = directory.path().canonicalize().expect("it is there");
        let (live, archive) = (directory.join("live"), directory.join("archive"));
        for place in [&live, &archive] {
            std::fs::create_dir(place).expect("it can be made");
        }
        std::fs::write(archive.join("cert1.pem"), "").expect("it can be written");
        std::os::unix::fs::symlink("../archive/cert1.pem", live.join("cert.pem")).expect("it can be made");
        assert_eq!(around(&live.join("cert.pem")), [live, archive]);
        assert_eq!(around(Path::new("/cert.pem")), [Path::new("/cert.pem"), Path::new("/cert.pem")]);
    }
}
