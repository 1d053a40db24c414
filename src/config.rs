//! Every setting: meaning, unit, default, variable. The only reader of the environment and of the settings file.
//!
//! A setting comes from its flag, else from its variable, else from the file, else it has its default.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde::Deserialize;

use proofbox_runtime::image::ImageSource;
use proofbox_runtime::{images, packaged};
use proofbox_types::hardening::Hardening;

/// The file of keys, in the data directory.
pub const KEYS_FILE: &str = "keys.sqlite3";

/// Settings of the Python runtime.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RuntimeSettings {
    /// Directory for images and builds [default: `proofbox` in the user's cache directory]
    #[arg(long, global = true, env = "PROOFBOX_CACHE_DIR", value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// A ready image.wasm to use instead of building one, or an image.wasm.zst; without it that is used which was installed with the program
    #[arg(long, global = true, env = "PROOFBOX_IMAGE", value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// A ready image.wasm of the interpreter `data`, as --image is one of `default`
    #[arg(long, global = true, env = "PROOFBOX_DATA_IMAGE", value_name = "FILE")]
    pub data_image: Option<PathBuf>,
    /// Directory with wheels that `pip` installs in sessions [default: none, and nothing can be installed]
    #[arg(long, global = true, env = "PROOFBOX_WHEELS_DIR", value_name = "DIR")]
    pub wheels_dir: Option<PathBuf>,
    /// Directory with the runtime's source archives, for building without package clients
    #[arg(long, global = true, env = "PROOFBOX_SOURCES_DIR", value_name = "DIR")]
    pub sources_dir: Option<PathBuf>,
}

/// Settings of whatever runs guests.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxSettings {
    /// Worker processes [default: one a core]
    #[arg(long, global = true, env = "PROOFBOX_WORKERS", value_name = "N")]
    pub workers: Option<usize>,
    /// Interpreters alive at once in each worker [default: 32]
    #[arg(long, global = true, env = "PROOFBOX_SLOTS", value_name = "N")]
    pub slots: Option<u32>,
    /// Interpreters of sessions at once in each worker; the others of all sessions are kept on disk [default: 1024]
    #[arg(long, global = true, env = "PROOFBOX_SESSION_SLOTS", value_name = "N")]
    pub session_slots: Option<u32>,
    /// Bytes that sessions in workers may take together; beyond it those used least recently are kept on disk [default: 1073741824]
    #[arg(long, global = true, env = "PROOFBOX_SESSION_MEMORY_BYTES", value_name = "BYTES")]
    pub session_memory_bytes: Option<u64>,
    /// Sessions at once, in workers and on disk [default: 10000]
    #[arg(long, global = true, env = "PROOFBOX_SESSIONS", value_name = "N")]
    pub sessions: Option<usize>,
    /// Bytes that checkpoints and sessions on disk may take together; beyond it the oldest go, of the key that holds most [default: 8589934592]
    #[arg(long, global = true, env = "PROOFBOX_STORE_BYTES", value_name = "BYTES")]
    pub store_bytes: Option<u64>,
    /// Bytes that are left free on the disk of the data directory: what would take of them is answered 507 [default: a twentieth of the disk, at most 1073741824]
    #[arg(long, global = true, env = "PROOFBOX_DISK_RESERVE_BYTES", value_name = "BYTES")]
    pub disk_reserve_bytes: Option<u64>,
    /// Directory for what outlives a request: checkpoints, sessions on disk [default: `proofbox` in the user's data directory]
    #[arg(long, global = true, env = "PROOFBOX_DATA_DIR", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Submissions that may wait for a place; past that the answer is 429 [default: 1024]
    #[arg(long, global = true, env = "PROOFBOX_QUEUE", value_name = "N")]
    pub queue: Option<usize>,
    /// Seconds that a submission may wait for a place; one that would wait longer is answered 429 [default: 5]
    #[arg(long, global = true, env = "PROOFBOX_QUEUE_SECONDS", value_name = "SECONDS")]
    pub queue_seconds: Option<f64>,
    /// Directory with policy packs, over those that are built in
    #[arg(long, global = true, env = "PROOFBOX_POLICIES_DIR", value_name = "DIR")]
    pub policies_dir: Option<PathBuf>,
    /// Privileges that processes drop when they have started: what the kernel has (best-effort), all or no start (require), nothing (off) [default: best-effort]
    #[arg(long, global = true, env = "PROOFBOX_HARDENING", value_name = "MODE", hide_possible_values = true, value_parser = hardening())]
    pub hardening: Option<Hardening>,
}

/// Settings of the HTTP server.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSettings {
    /// Address to listen on [default: 127.0.0.1:8080]
    #[arg(long, env = "PROOFBOX_LISTEN", value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// File with the certificate, and those between it and its root (PEM): the service speaks TLS, and nothing else; read again when it changes
    #[arg(long, env = "PROOFBOX_TLS_CERT", value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// File with the key of the certificate (PEM)
    #[arg(long, env = "PROOFBOX_TLS_KEY", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Clients that are served without a key: loopback (everybody, as long as the address is of this machine only), always, never [default: loopback]
    #[arg(long, env = "PROOFBOX_KEYLESS", value_name = "WHO")]
    pub keyless: Option<Keyless>,
    /// Clients that may read /metrics: open (whoever reaches the address), loopback (this machine without a key, others with one), key (with a key only) [default: open where requests without a key are served, else loopback]
    #[arg(long, env = "PROOFBOX_METRICS_ACCESS", value_name = "WHO", hide_possible_values = true)]
    pub metrics_access: Option<MetricsAccess>,
    /// Connections at once; more wait until one ends [default: 4096]
    #[arg(long, env = "PROOFBOX_CONNECTIONS", value_name = "N")]
    pub connections: Option<usize>,
    /// Seconds that a client may take for a request's head, or be silent in its body or in reading the answer [default: 30]
    #[arg(long, env = "PROOFBOX_CLIENT_SECONDS", value_name = "SECONDS")]
    pub client_seconds: Option<f64>,
    /// Largest request body, in bytes [default: 33554432]
    #[arg(long, env = "PROOFBOX_BODY_BYTES", value_name = "BYTES")]
    pub body_bytes: Option<usize>,
    /// Seconds that running work has to finish when the service is told to stop [default: 30]
    #[arg(long, env = "PROOFBOX_DRAIN_SECONDS", value_name = "SECONDS")]
    pub drain_seconds: Option<u64>,
    /// The key that receipts are signed with (Ed25519, PEM), made when it is first needed [default: `proofbox/receipt-key.pem` in the user's data directory]
    #[arg(long, env = "PROOFBOX_RECEIPT_KEY", value_name = "FILE")]
    pub receipt_key: Option<PathBuf>,
    /// Days that a job is kept after its end, with its results [default: 30]
    #[arg(long, env = "PROOFBOX_JOBS_DAYS", value_name = "DAYS")]
    pub jobs_days: Option<f64>,
    /// Bytes that all jobs may take on disk; beyond it the oldest that have ended go, of the key that holds most [default: 4294967296]
    #[arg(long, env = "PROOFBOX_JOBS_BYTES", value_name = "BYTES")]
    pub jobs_bytes: Option<u64>,
    /// Hosts that jobs may tell of their end, `host` or `host:port`, with commas between them [default: none]
    #[arg(long, env = "PROOFBOX_CALLBACK_HOSTS", value_name = "HOST,…", value_delimiter = ',')]
    pub callback_hosts: Option<Vec<String>>,
    /// File with the secret that callbacks are signed with: `whsec_` and 24 to 64 bytes in base64
    #[arg(long, env = "PROOFBOX_CALLBACK_SECRET_FILE", value_name = "FILE")]
    pub callback_secret_file: Option<PathBuf>,
    /// Lowest level that is logged: error, warn, info, debug, or a filter as tracing has it [default: info]
    #[arg(long, env = "PROOFBOX_LOG", value_name = "FILTER")]
    pub log: Option<String>,
    /// Format of the log: lines of text or of json [default: text]
    #[arg(long, env = "PROOFBOX_LOG_FORMAT", value_name = "FORMAT", hide_possible_values = true)]
    pub log_format: Option<LogFormat>,
    /// OpenTelemetry collector that traces are sent to (OTLP over HTTP), `http://host:4318` for one; without it there are none
    #[arg(long, env = "PROOFBOX_OTLP_ENDPOINT", value_name = "URL")]
    pub otlp_endpoint: Option<String>,
}

/// Format of a line of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Lines of text for people.
    #[default]
    Text,
    /// JSON for programs: an object in each line.
    Json,
}

/// Destination of OpenTelemetry traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Traces {
    /// No destination: tracing is off.
    Off,
    /// Collector at this address.
    To(String),
    /// Collector that OpenTelemetry's own variables name.
    Standard,
}

/// Files of the certificate and the key for TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificate, and those between it and its root (PEM).
    pub certificate: PathBuf,
    /// Key of the certificate (PEM).
    pub key: PathBuf,
}

/// Clients that are served without a key.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Keyless {
    /// Everybody, as long as the address that is listened on is of this machine only.
    Loopback,
    /// Everybody.
    Always,
    /// Nobody.
    Never,
}

/// Access to the metrics.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum MetricsAccess {
    /// Everybody who reaches the address.
    Open,
    /// Clients on this machine without a key, others with one.
    Loopback,
    /// Clients with a key.
    Key,
}

/// The settings file: TOML with the names of the flags, in sections.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SettingsFile {
    runtime: RuntimeSettings,
    sandbox: SandboxSettings,
    server: ServerSettings,
}

/// Settings of the process, each with a value.
#[derive(Clone, Debug)]
pub struct Config {
    /// Source of the images.
    pub image: ImageSource,
    /// Directory with the wheels that sessions may install.
    pub wheels_dir: Option<PathBuf>,
    /// Number of worker processes.
    pub workers: usize,
    /// Interpreters alive at once in each.
    pub slots: u32,
    /// Interpreters of sessions at once in each.
    pub session_slots: u32,
    /// Bytes that sessions in workers may take together.
    pub session_memory_bytes: u64,
    /// Maximum number of sessions at once.
    pub sessions: usize,
    /// Bytes that checkpoints and sessions on disk may take together.
    pub store_bytes: u64,
    /// Bytes that are left free on the disk; none: a part of it.
    pub disk_reserve_bytes: Option<u64>,
    /// True when the directory was given, not found.
    pub data_dir_given: bool,
    /// Directory of the store; none where no default is known.
    pub data_dir: Option<PathBuf>,
    /// Submissions that may wait.
    pub queue: usize,
    /// Longest time that a submission may wait.
    pub max_wait: Duration,
    /// Clients that are served without a key.
    pub keyless: Keyless,
    /// Access to the metrics; none: that of requests without a key.
    pub metrics_access: Option<MetricsAccess>,
    /// Maximum number of connections at once.
    pub connections: usize,
    /// Longest time that a client may keep the service waiting.
    pub client_idle_timeout: Duration,
    /// Packs over the built-in ones.
    pub policies_dir: Option<PathBuf>,
    /// Privileges that processes drop after their start.
    pub hardening: Hardening,
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Certificate and key; none: no TLS.
    pub tls: Option<TlsFiles>,
    /// Largest request body, in bytes.
    pub body_bytes: usize,
    /// Time for running work to finish.
    pub drain: Duration,
    /// File of the key that receipts are signed with; none where no default is known.
    pub receipt_key: Option<PathBuf>,
    /// Time for which a job is stored after its end.
    pub jobs_age: Duration,
    /// Bytes that all jobs may take on disk.
    pub jobs_bytes: u64,
    /// Hosts that jobs may tell of their end.
    pub callback_hosts: Vec<String>,
    /// File with the secret that callbacks are signed with; there is one where there are hosts.
    pub callback_secret_file: Option<PathBuf>,
    /// Filter for the log.
    pub log: String,
    /// Format of the log.
    pub log_format: LogFormat,
    /// Destination of OpenTelemetry traces.
    pub traces: Traces,
}

/// Parses a level of hardening, and knows which there are.
fn hardening() -> impl TypedValueParser<Value = Hardening> {
    let names = Hardening::ALL.iter().map(|level| level.as_str());
    PossibleValuesParser::new(names).map(|name| Hardening::parse(&name).expect("clap lets only these through"))
}

/// A setting that can't be used; the process does not start.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The settings file can't be read.
    #[error("reading the settings file {path}: {source}")]
    Io {
        /// Path of the file.
        path: String,
        /// Cause of the failure.
        source: std::io::Error,
    },
    /// Settings file with a mistake; the message has line and column.
    #[error("settings file {path}: {source}")]
    Parse {
        /// Path of the file.
        path: String,
        /// Mistake, and its position.
        source: Box<toml::de::Error>,
    },
    /// A value outside its range.
    #[error("{setting} is {value}: {rule}")]
    Value {
        /// Names of the flag and of the variable.
        setting: &'static str,
        /// Value of the setting.
        value: String,
        /// Rule that the value breaks.
        rule: &'static str,
    },
    /// No directory for the image is known.
    #[error("no cache directory is known (HOME is not set): set PROOFBOX_CACHE_DIR")]
    NoCache,
}

impl Config {
    /// Puts flags and variables (which clap has read) over the file and the defaults.
    ///
    /// # Errors
    /// Returns an error that names the first setting that can't be used.
    pub fn new(
        runtime: RuntimeSettings,
        sandbox: SandboxSettings,
        server: ServerSettings,
        file: Option<&Path>,
    ) -> Result<Self, ConfigError> {
        let file = file.map(read).transpose()?.unwrap_or_default();
        let cache = match runtime.cache_dir.or(file.runtime.cache_dir) {
            Some(directory) => directory,
            None => directories::BaseDirs::new().ok_or(ConfigError::NoCache)?.cache_dir().join("proofbox"),
        };
        let data_dir_given = sandbox.data_dir.is_some() || file.sandbox.data_dir.is_some();
        let data_dir = sandbox
            .data_dir
            .or(file.sandbox.data_dir)
            .or_else(|| Some(directories::BaseDirs::new()?.data_local_dir().join("proofbox")));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let config = Self {
            image: ImageSource {
                cache,
                interpreter: images::DEFAULT.to_owned(),
                prebuilt: prebuilt(
                    runtime.image.or(file.runtime.image),
                    runtime.data_image.or(file.runtime.data_image),
                ),
                sources: runtime.sources_dir.or(file.runtime.sources_dir),
                spare: data_dir.as_ref().map(|directory| directory.join("cache")),
            },
            wheels_dir: runtime.wheels_dir.or(file.runtime.wheels_dir),
            workers: sandbox.workers.or(file.sandbox.workers).unwrap_or(cores),
            slots: sandbox.slots.or(file.sandbox.slots).unwrap_or(32),
            session_slots: sandbox.session_slots.or(file.sandbox.session_slots).unwrap_or(1024),
            session_memory_bytes: sandbox.session_memory_bytes.or(file.sandbox.session_memory_bytes).unwrap_or(1 << 30),
            sessions: sandbox.sessions.or(file.sandbox.sessions).unwrap_or(10_000),
            store_bytes: sandbox.store_bytes.or(file.sandbox.store_bytes).unwrap_or(8 << 30),
            disk_reserve_bytes: sandbox.disk_reserve_bytes.or(file.sandbox.disk_reserve_bytes),
            data_dir_given,
            data_dir,
            queue: sandbox.queue.or(file.sandbox.queue).unwrap_or(1024),
            max_wait: seconds(
                "--queue-seconds (PROOFBOX_QUEUE_SECONDS)",
                sandbox.queue_seconds.or(file.sandbox.queue_seconds).unwrap_or(5.0),
            )?,
            keyless: server.keyless.or(file.server.keyless).unwrap_or(Keyless::Loopback),
            metrics_access: server.metrics_access.or(file.server.metrics_access),
            connections: server.connections.or(file.server.connections).unwrap_or(4096),
            client_idle_timeout: seconds(
                "--client-seconds (PROOFBOX_CLIENT_SECONDS)",
                server.client_seconds.or(file.server.client_seconds).unwrap_or(30.0),
            )?,
            policies_dir: sandbox.policies_dir.or(file.sandbox.policies_dir),
            hardening: sandbox.hardening.or(file.sandbox.hardening).unwrap_or_default(),
            listen: server.listen.or(file.server.listen).unwrap_or(SocketAddr::from(([127, 0, 0, 1], 8080))),
            tls: tls(server.tls_cert.or(file.server.tls_cert), server.tls_key.or(file.server.tls_key))?,
            body_bytes: server.body_bytes.or(file.server.body_bytes).unwrap_or(32 << 20),
            drain: Duration::from_secs(server.drain_seconds.or(file.server.drain_seconds).unwrap_or(30)),
            receipt_key: server.receipt_key.or(file.server.receipt_key).or_else(|| {
                Some(directories::BaseDirs::new()?.data_local_dir().join("proofbox").join("receipt-key.pem"))
            }),
            jobs_age: days(
                "--jobs-days (PROOFBOX_JOBS_DAYS)",
                server.jobs_days.or(file.server.jobs_days).unwrap_or(30.0),
            )?,
            jobs_bytes: server.jobs_bytes.or(file.server.jobs_bytes).unwrap_or(4 << 30),
            callback_hosts: server.callback_hosts.or(file.server.callback_hosts).unwrap_or_default(),
            callback_secret_file: server.callback_secret_file.or(file.server.callback_secret_file),
            log: server.log.or(file.server.log).unwrap_or_else(|| "info".to_owned()),
            log_format: server.log_format.or(file.server.log_format).unwrap_or_default(),
            traces: traces(server.otlp_endpoint.or(file.server.otlp_endpoint))?,
        };
        let in_range = |setting, value: usize, range: std::ops::RangeInclusive<usize>, rule| {
            if range.contains(&value) {
                Ok(())
            } else {
                Err(ConfigError::Value { setting, value: value.to_string(), rule })
            }
        };
        in_range("--workers (PROOFBOX_WORKERS)", config.workers, 1..=256, "it must be from 1 to 256")?;
        // Each slot reserves 4 GiB of address space, of which a process has 128 TiB.
        in_range(
            "--slots (PROOFBOX_SLOTS)",
            config.slots as usize,
            2..=4096,
            "it must be from 2 to 4096: tests of an interpreter of their own need two",
        )?;
        in_range(
            "--connections (PROOFBOX_CONNECTIONS)",
            config.connections,
            1..=1_000_000,
            "it must be from 1 to 1000000",
        )?;
        in_range(
            "--body-bytes (PROOFBOX_BODY_BYTES)",
            config.body_bytes,
            1024..=1 << 29,
            "it must be from 1 KiB to 512 MiB",
        )?;
        if !config.callback_hosts.is_empty() && config.callback_secret_file.is_none() {
            return Err(ConfigError::Value {
                setting: "--callback-hosts (PROOFBOX_CALLBACK_HOSTS)",
                value: config.callback_hosts.join(","),
                rule: "callbacks are signed: PROOFBOX_CALLBACK_SECRET_FILE must name a file with a secret",
            });
        }
        Ok(config)
    }
}

/// The files for TLS: both, or none.
fn tls(certificate: Option<PathBuf>, key: Option<PathBuf>) -> Result<Option<TlsFiles>, ConfigError> {
    let lone = |setting, path: PathBuf, rule| ConfigError::Value { setting, value: path.display().to_string(), rule };
    match (certificate, key) {
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) => Ok(Some(TlsFiles { certificate, key })),
        (Some(path), None) => Err(lone(
            "--tls-cert (PROOFBOX_TLS_CERT)",
            path,
            "a certificate needs its key: --tls-key (PROOFBOX_TLS_KEY) must name the file",
        )),
        (None, Some(path)) => Err(lone(
            "--tls-key (PROOFBOX_TLS_KEY)",
            path,
            "a key needs its certificate: --tls-cert (PROOFBOX_TLS_CERT) must name the file",
        )),
    }
}

fn days(setting: &'static str, value: f64) -> Result<Duration, ConfigError> {
    let rule = "it must be a number of days above 0, at most 36500";
    let wrong = || ConfigError::Value { setting, value: value.to_string(), rule };
    Some(value)
        .filter(|days| *days > 0.0 && *days <= 36_500.0)
        .map(|days| Duration::from_secs_f64(days * 86_400.0))
        .ok_or_else(wrong)
}

fn seconds(setting: &'static str, value: f64) -> Result<Duration, ConfigError> {
    let rule = "it must be a number of seconds above 0, at most a day";
    let wrong = || ConfigError::Value { setting, value: value.to_string(), rule };
    Duration::try_from_secs_f64(value)
        .ok()
        .filter(|duration| !duration.is_zero() && *duration <= Duration::from_secs(86_400))
        .ok_or_else(wrong)
}

/// Returns the destination that our setting names, else that of OpenTelemetry's variables.
fn traces(endpoint: Option<String>) -> Result<Traces, ConfigError> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(Traces::Off);
    }
    if let Some(endpoint) = endpoint.filter(|endpoint| !endpoint.is_empty()) {
        let url = collector(&endpoint).map_err(|rule| {
            // Its value may have a password in it.
            let setting = "--otlp-endpoint (PROOFBOX_OTLP_ENDPOINT)";
            ConfigError::Value { setting, value: "not an address that can be used".to_owned(), rule }
        })?;
        return Ok(Traces::To(format!("{}/v1/traces", url.trim_end_matches('/'))));
    }
    for setting in ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"] {
        if let Some(endpoint) = variable(setting) {
            let value = "not an address that can be used".to_owned();
            collector(&endpoint).map_err(|rule| ConfigError::Value { setting, value, rule })?;
            return Ok(Traces::Standard);
        }
    }
    Ok(Traces::Off)
}

fn collector(endpoint: &str) -> Result<&str, &'static str> {
    const RULE: &str =
        "it must be like http://host:4318; there is no TLS, so a collector stands on this machine or a private network";
    let url = url::Url::parse(endpoint).map_err(|_| RULE)?;
    if url.scheme() == "http" && url.has_host() && url.query().is_none() && url.fragment().is_none() {
        Ok(endpoint)
    } else {
        Err(RULE)
    }
}

/// The ready images by their interpreters: those that are installed, and over them those that settings give.
fn prebuilt(default: Option<PathBuf>, data: Option<PathBuf>) -> BTreeMap<String, PathBuf> {
    let given = [(images::DEFAULT, default), (images::DATA, data)];
    let given = given.into_iter().filter_map(|(name, path)| Some((name.to_owned(), path?)));
    packaged::installed().into_iter().chain(given).collect()
}

fn read(path: &Path) -> Result<SettingsFile, ConfigError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Io { path: name.clone(), source })?;
    toml::from_str(&text).map_err(|source| ConfigError::Parse { path: name, source: Box::new(source) })
}

/// Returns whether to colour text for people: on a terminal, unless NO_COLOR (<https://no-color.org>) says otherwise.
pub fn colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}
