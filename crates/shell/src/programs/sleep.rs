//! Program `sleep`.

use super::input::usage;
use crate::state::{Done, Shell};
use std::time::Duration;

pub(super) async fn sleep(shell: &mut Shell, arguments: &[String]) -> Done {
    if arguments.is_empty() {
        return Err(usage(shell, "sleep", "missing operand", 1).await);
    }
    let mut total = 0.0;
    for text in arguments {
        let (digits, unit) = match text.char_indices().last() {
            Some((at, 's')) => (&text[..at], 1.0),
            Some((at, 'm')) => (&text[..at], 60.0),
            Some((at, 'h')) => (&text[..at], 3600.0),
            Some((at, 'd')) => (&text[..at], 86_400.0),
            _ => (text.as_str(), 1.0),
        };
        match digits.parse::<f64>() {
            Ok(count) if count >= 0.0 => total += count * unit,
            _ if text == "infinity" => total = f64::INFINITY,
            _ => return Err(usage(shell, "sleep", &format!("invalid time interval '{text}'"), 1).await),
        }
    }
    tokio::time::sleep(Duration::from_secs_f64(total.min(1e8))).await;
    Ok(0)
}
