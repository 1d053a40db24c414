//! `proofbox keys create|list|revoke`: on the data directory, whether or not a service runs on it.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Subcommand;
use jiff::Timestamp;
use serde_json::json;
use zeroize::Zeroizing;

use super::out;
use crate::config::{Config, KEYS_FILE};
use crate::service::Secret;
use proofbox_policy::Policies;
use proofbox_store::{KeyFile, KeyRow};
use proofbox_types::ids::KeyId;

/// Longest name of a key, in bytes.
const MAX_NAME: usize = 64;

/// Actions on the file of keys.
#[derive(Subcommand)]
pub(super) enum KeysCommand {
    /// Make a key and show it, once: only its SHA-256 is kept
    Create {
        /// Name of the key: letters, digits, `.`, `_` and `-`
        #[arg(value_name = "NAME")]
        name: String,
        /// A policy that it may name; may be given several times [default: all that are not for certain other keys]
        #[arg(long = "policy", value_name = "NAME")]
        policies: Vec<String>,
        /// Requests that it may send in a minute
        #[arg(long, value_name = "N")]
        requests_per_minute: Option<u32>,
        /// Submissions of it that run at once; more wait for their turn
        #[arg(long, value_name = "N")]
        concurrency: Option<u32>,
        /// Sessions that it may have at once
        #[arg(long, value_name = "N")]
        sessions_at_once: Option<u32>,
        /// Fuel that it may use from midnight to midnight (UTC)
        #[arg(long, value_name = "FUEL")]
        fuel_per_day: Option<u64>,
        /// Bytes that it may keep on disk: checkpoints, sessions out of memory, volumes and jobs
        #[arg(long, value_name = "BYTES")]
        disk_bytes: Option<u64>,
        /// Take the key in this file instead of making one, and do nothing if there is that key already
        #[arg(long, value_name = "FILE")]
        secret_file: Option<PathBuf>,
    },
    /// Show all keys: name, id, the last digits, limits
    List {
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Take a key out of force; a running service refuses it within a second
    Revoke {
        /// Name or id of the key
        #[arg(value_name = "NAME|ID")]
        key: String,
    },
}

/// Runs a command on keys.
pub(super) fn keys(command: KeysCommand, config: &Config) -> anyhow::Result<ExitCode> {
    let directory =
        config.data_dir.as_deref().context("no data directory is known (HOME is not set): set PROOFBOX_DATA_DIR")?;
    let file = KeyFile::open(&directory.join(KEYS_FILE)).context("opening the file of keys")?;
    match command {
        KeysCommand::Create {
            name,
            policies,
            requests_per_minute,
            concurrency,
            sessions_at_once,
            fuel_per_day,
            disk_bytes,
            secret_file,
        } => {
            check_name(&name)?;
            check_policies(&policies, config)?;
            let secret = match &secret_file {
                None => Secret::generate().context("the system has no randomness")?,
                Some(path) => {
                    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
                    let text = Zeroizing::new(text);
                    Secret::parse(text.trim())
                        .with_context(|| format!("{}: a key is proofbox_ and 40 hexadecimal digits", path.display()))?
                }
            };
            let digest = secret.sha256();
            if let Some(known) = file.list()?.into_iter().find(|row| row.sha256 == digest) {
                if known.revoked_at.is_some() {
                    bail!("this key was revoked, and is not put in force again");
                }
                eprintln!("there is this key already: {} ({})", known.name, KeyId::from(known.id));
                return Ok(ExitCode::SUCCESS);
            }
            let row = KeyRow {
                id: KeyId::generate().uuid(),
                name,
                sha256: digest,
                hint: secret.hint(),
                created_at: Timestamp::now().as_millisecond(),
                revoked_at: None,
                policies: (!policies.is_empty()).then_some(policies),
                requests_per_minute,
                concurrency,
                sessions: sessions_at_once,
                fuel_per_day,
                disk_bytes,
            };
            file.create(&row)?;
            if secret_file.is_none() {
                out(&format!("{}\n", *secret.text()));
                eprintln!("key {} ({}) is in force; it is not shown again", row.name, KeyId::from(row.id));
            } else {
                eprintln!("key {} ({}) is in force", row.name, KeyId::from(row.id));
            }
        }
        KeysCommand::List { json } => {
            for row in file.list()? {
                out(&if json { format!("{}\n", json_of(&row)) } else { line_of(&row) });
            }
        }
        KeysCommand::Revoke { key } => match file.revoke(&key, Timestamp::now().as_millisecond())? {
            Some(row) => eprintln!("key {} ({}) is revoked", row.name, KeyId::from(row.id)),
            None => bail!("there is no key of the name or id `{key}` in force"),
        },
    }
    Ok(ExitCode::SUCCESS)
}

fn check_name(name: &str) -> anyhow::Result<()> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(allowed) || name == "keyless" {
        bail!("a key's name has 1 to {MAX_NAME} letters, digits, `.`, `_` and `-`, and is not `keyless`");
    }
    Ok(())
}

fn check_policies(policies: &[String], config: &Config) -> anyhow::Result<()> {
    let known = Policies::load(config.policies_dir.as_deref())?;
    let known: Vec<&str> = known.iter().map(|(name, _)| name).collect();
    match policies.iter().find(|policy| !known.contains(&policy.as_str())) {
        None => Ok(()),
        Some(policy) => bail!("there is no policy `{policy}`; there are: {}", known.join(", ")),
    }
}

fn time(milliseconds: i64) -> String {
    Timestamp::from_millisecond(milliseconds).unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn json_of(row: &KeyRow) -> serde_json::Value {
    json!({
        "id": KeyId::from(row.id).to_string(),
        "name": row.name,
        "hint": row.hint,
        "created_at": time(row.created_at),
        "revoked_at": row.revoked_at.map(time),
        "policies": row.policies,
        "requests_per_minute": row.requests_per_minute,
        "concurrency": row.concurrency,
        "sessions": row.sessions,
        "fuel_per_day": row.fuel_per_day,
        "disk_bytes": row.disk_bytes,
    })
}

fn line_of(row: &KeyRow) -> String {
    let mut parts = vec![format!("{}  {}  …{}  {}", row.name, KeyId::from(row.id), row.hint, time(row.created_at))];
    if let Some(at) = row.revoked_at {
        parts.push(format!("revoked {}", time(at)));
    }
    if let Some(policies) = &row.policies {
        parts.push(format!("policies {}", policies.join(",")));
    }
    let limits = [
        ("requests/min", row.requests_per_minute.map(u64::from)),
        ("at once", row.concurrency.map(u64::from)),
        ("sessions", row.sessions.map(u64::from)),
        ("fuel/day", row.fuel_per_day),
        ("bytes on disk", row.disk_bytes),
    ];
    parts.extend(limits.into_iter().filter_map(|(name, value)| Some(format!("{} {name}", value?))));
    format!("{}\n", parts.join("  "))
}
