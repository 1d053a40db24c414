//! Programs that run another: `timeout`, `nohup`, `nice`.

use super::input::usage;
use crate::state::{Done, Shell};
use std::time::Duration;

/// `timeout`, `nohup`, `nice`, `time`: another command, run as it is, or for so long.
pub(super) async fn timeout(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let rest: Vec<String> = match who {
        "nice" if arguments.first().is_some_and(|flag| flag == "-n") => arguments.get(2..).unwrap_or_default().to_vec(),
        _ => arguments.iter().skip_while(|argument| argument.starts_with('-')).cloned().collect(),
    };
    let (limit, words) = match (who, rest.split_first()) {
        ("timeout", Some((limit, words))) => {
            let (digits, unit) = match limit.char_indices().last() {
                Some((at, 's')) => (&limit[..at], 1.0),
                Some((at, 'm')) => (&limit[..at], 60.0),
                Some((at, 'h')) => (&limit[..at], 3600.0),
                _ => (limit.as_str(), 1.0),
            };
            match digits.parse::<f64>() {
                Ok(count) if count >= 0.0 => (Some(count * unit), words),
                _ => return Err(usage(shell, who, &format!("invalid time interval '{limit}'"), 125).await),
            }
        }
        (_, _) => (None, rest.as_slice()),
    };
    let Some((name, arguments)) = words.split_first() else {
        return Err(usage(shell, who, "missing operand", 125).await);
    };
    match who {
        "timeout" => shell.becomes_next = false,
        "setsid" if shell.becomes_next => shell.process.lead_group(),
        "setsid" => shell.leads_group = true,
        _ => {}
    }
    let (depth, level) = (shell.saved.len(), shell.level);
    shell.deeper().await?;
    let work = super::run(shell, name, arguments);
    let done = match limit {
        Some(seconds) if seconds > 0.0 => {
            match tokio::time::timeout(Duration::from_secs_f64(seconds.min(1e8)), work).await {
                Ok(done) => done,
                Err(_) => {
                    shell.unwind_streams(depth);
                    Ok(124)
                }
            }
        }
        Some(_) | None => work.await,
    };
    shell.leads_group = false;
    shell.level = level;
    done
}
