//! Scripts for the shell, from within a call or a run.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use proofbox_types::session::CellLimits;
use proofbox_types::value::Value;
use proofbox_vfs::{Credentials, Output};

/// Takes what a command writes.
pub type ScriptOutput = Arc<dyn Fn(Output, &[u8]) + Send + Sync>;

/// A script for the shell, from within a call or a run.
pub struct ShellScript {
    /// Text of the script, in the shell's language.
    pub text: String,
    /// Working directory, an absolute path.
    pub cwd: String,
    /// Environment variables of the script, complete.
    pub env: Vec<(String, String)>,
    /// Standard input of the script.
    pub stdin: Vec<u8>,
    /// User and creation mask of the script.
    pub credentials: Credentials,
}

/// A guest's request to run a command.
pub(crate) struct CommandRequest {
    pub script: ShellScript,
    /// Flag by which the guest asks for the output itself.
    pub capture: bool,
    /// Time that the guest waits for its end; none: as long as it may.
    pub timeout: Option<Duration>,
}

impl CommandRequest {
    /// Parses `(text, cwd, env, stdin, capture, timeout in seconds or None)`.
    pub(crate) fn parse(message: &[u8], credentials: Credentials) -> Option<Self> {
        let Ok(Value::Tuple(fields)) = Value::decode(message) else { return None };
        let [Value::Str(text), Value::Str(cwd), Value::Dict(env), Value::Bytes(stdin), Value::Bool(capture), timeout] =
            <[Value; 6]>::try_from(fields).ok()?
        else {
            return None;
        };
        let variable = |(name, value)| match (name, value) {
            (Value::Str(name), Value::Str(value)) => Some((name, value)),
            _ => None,
        };
        let env = env.into_iter().map(variable).collect::<Option<_>>()?;
        let timeout = match timeout {
            Value::None => None,
            Value::Float(seconds) => Some(Duration::try_from_secs_f64(seconds).ok()?),
            _ => return None,
        };
        Some(Self { script: ShellScript { text, cwd, env, stdin, credentials }, capture, timeout })
    }
}

/// Runs a script in the session or run; returns its exit code. Dropping the future ends it.
pub(crate) type RunScript = Arc<dyn Fn(ShellScript, CellLimits, ScriptOutput) -> BoxFuture<'static, i32> + Send + Sync>;

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(fields: Vec<Value>) -> Option<(bool, Option<Duration>)> {
        let mut bytes = Vec::new();
        Value::Tuple(fields).encode(&mut bytes);
        CommandRequest::parse(&bytes, Credentials::SERVICE).map(|request| (request.capture, request.timeout))
    }

    #[test]
    fn a_request_that_makes_no_sense_is_none() {
        let env = || Value::Dict(vec![(Value::str("A"), Value::str("b"))]);
        let stdin = || Value::Bytes(b"in".to_vec());
        let whole = vec![Value::str("ls"), Value::str("/"), env(), stdin(), Value::Bool(true), Value::Float(1.5)];
        assert_eq!(parsed(whole.clone()), Some((true, Some(Duration::from_millis(1500)))));
        let odd = [
            (0, Value::Int(1)),
            (1, Value::None),
            (2, Value::List(vec![])),
            (3, Value::str("in")),
            (4, Value::None),
            (5, Value::Int(1)),
            (5, Value::Float(-1.0)),
            (5, Value::Float(f64::NAN)),
            (5, Value::Float(f64::INFINITY)),
        ];
        for (at, odd) in odd {
            let mut fields = whole.clone();
            fields[at] = odd;
            assert_eq!(parsed(fields), None, "{at}");
        }
        assert_eq!(parsed(whole[..5].to_vec()), None);
        assert!(CommandRequest::parse(b"\xff", Credentials::SERVICE).is_none());
    }
}
