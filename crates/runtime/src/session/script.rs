//! Scripts for the shell, from within a call.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use proofbox_types::session::CellLimits;
use proofbox_types::value::Value;
use proofbox_vfs::Output;

/// Takes what a command writes.
pub type ScriptOutput = Arc<dyn Fn(Output, &[u8]) + Send + Sync>;

/// A script for the shell, from within a call.
pub struct ShellScript {
    /// Text of the script, in the shell's language.
    pub text: String,
    /// Working directory, an absolute path.
    pub cwd: String,
    /// Environment variables of the script, complete.
    pub env: Vec<(String, String)>,
}

impl ShellScript {
    /// Parses the guest's request; returns the script, and whether the guest wants the output itself.
    pub(crate) fn parse(message: &[u8]) -> Option<(Self, bool)> {
        let Ok(Value::Tuple(fields)) = Value::decode(message) else { return None };
        let [Value::Str(text), Value::Str(cwd), Value::Dict(env), Value::Bool(capture)] =
            <[Value; 4]>::try_from(fields).ok()?
        else {
            return None;
        };
        let variable = |(name, value)| match (name, value) {
            (Value::Str(name), Value::Str(value)) => Some((name, value)),
            _ => None,
        };
        let env = env.into_iter().map(variable).collect::<Option<_>>()?;
        Some((Self { text, cwd, env }, capture))
    }
}

/// Runs a script in the session of the call; returns its exit code. Dropping the future ends it.
pub type RunScript = Arc<dyn Fn(ShellScript, CellLimits, ScriptOutput) -> BoxFuture<'static, i32> + Send + Sync>;

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(fields: Vec<Value>) -> Option<bool> {
        let mut bytes = Vec::new();
        Value::Tuple(fields).encode(&mut bytes);
        ShellScript::parse(&bytes).map(|(_, capture)| capture)
    }

    #[test]
    fn a_script_that_makes_no_sense_is_none() {
        let env = || Value::Dict(vec![(Value::str("A"), Value::str("b"))]);
        let whole = vec![Value::str("ls"), Value::str("/"), env(), Value::Bool(true)];
        assert_eq!(parsed(whole.clone()), Some(true));
        for (at, odd) in [(0, Value::Int(1)), (1, Value::None), (2, Value::List(vec![])), (3, Value::None)] {
            let mut fields = whole.clone();
            fields[at] = odd;
            assert_eq!(parsed(fields), None);
        }
        assert_eq!(parsed(whole[..3].to_vec()), None);
        assert!(ShellScript::parse(b"\xff").is_none());
    }
}
