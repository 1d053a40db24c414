//! What a client wants built: a base, steps, and the script that sandboxes begin with.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::super::super::error::{E2bError, Kind};
use super::super::check_env;
use super::uploads::Archive;

/// Steps of one build.
const MAX_STEPS: usize = 256;
/// Texts of one plan, in bytes: it is held while the build is carried out.
const MAX_BYTES: usize = 1 << 20;

/// `TemplateBuildStartV2` of the API.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BuildRequest {
    #[serde(default)]
    from_image: Option<String>,
    #[serde(default)]
    from_template: Option<String>,
    #[serde(default)]
    from_image_registry: Option<Value>,
    #[serde(default)]
    steps: Option<Vec<StepRequest>>,
    #[serde(default)]
    start_cmd: Option<String>,
    #[serde(default)]
    ready_cmd: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StepRequest {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    args: Option<Vec<String>>,
    #[serde(default)]
    files_hash: Option<String>,
}

/// What a build begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// Image of a registry, by its name, and whether a login goes with it.
    Image(String, bool),
    /// Template, by its name.
    Template(String),
}

/// Step of a build.
#[derive(Debug)]
pub(super) enum Step {
    /// Script for the shell.
    Run {
        /// The script.
        script: String,
        /// Name of its user; none for the user of the steps.
        user: Option<String>,
    },
    /// Files from the client.
    Copy {
        /// Pattern of their paths in the archive.
        source: String,
        /// Path in the sandbox.
        target: String,
        /// `user` or `user:group`; none for the user of the steps.
        owner: Option<String>,
        /// Mode, as `chmod` takes it.
        mode: Option<String>,
        /// Archive of the files, if it is there.
        archive: Option<Arc<Archive>>,
    },
    /// Variables of the environment.
    Env(BTreeMap<String, String>),
    /// Working directory of the steps that follow.
    Workdir(String),
    /// User of the steps that follow.
    User(String),
}

impl Step {
    /// Returns the step as a line of a Dockerfile has it.
    pub(super) fn line(&self) -> String {
        match self {
            Self::Run { script, .. } => format!("RUN {script}"),
            Self::Copy { source, target, .. } => format!("COPY {source} {target}"),
            // The values may be secrets.
            Self::Env(variables) => format!("ENV {}", variables.keys().cloned().collect::<Vec<_>>().join(" ")),
            Self::Workdir(path) => format!("WORKDIR {path}"),
            Self::User(name) => format!("USER {name}"),
        }
    }

    fn of(request: StepRequest, archive: &impl Fn(&str) -> Option<Arc<Archive>>) -> Result<Self, E2bError> {
        let StepRequest { kind, args, files_hash } = request;
        let args = args.unwrap_or_default();
        let optional = |at: usize| args.get(at).filter(|text| !text.is_empty()).cloned();
        let missing = || E2bError::new(Kind::Bad, format!("a step {kind} has too few arguments"));
        let needed = |at: usize| optional(at).ok_or_else(missing);
        Ok(match kind.as_str() {
            "RUN" => Self::Run { script: needed(0)?, user: optional(1) },
            "COPY" => Self::Copy {
                source: needed(0)?,
                target: needed(1)?,
                owner: optional(2),
                mode: optional(3),
                archive: archive(&files_hash.ok_or_else(|| E2bError::new(Kind::Bad, "a step COPY has no filesHash"))?),
            },
            "ENV" if args.is_empty() || args.len() % 2 != 0 => return Err(missing()),
            "ENV" => {
                let variables = args.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
                check_env(&variables)?;
                Self::Env(variables)
            }
            "WORKDIR" => Self::Workdir(needed(0)?),
            "USER" => Self::User(needed(0)?),
            _ => {
                let message = format!("there is no step {kind}: steps are RUN, COPY, ENV, WORKDIR and USER");
                return Err(E2bError::new(Kind::Bad, message));
            }
        })
    }
}

/// What is to be built.
#[derive(Debug)]
pub(super) struct Plan {
    /// What the build begins with.
    pub base: Base,
    /// Steps, in order.
    pub steps: Vec<Step>,
    /// Script that sandboxes begin with; none for that of the base.
    pub start: Option<String>,
    /// Script that succeeds when what was started is ready.
    pub ready: Option<String>,
}

impl Plan {
    /// Reads a request. `archive` finds an archive of files by its hash.
    ///
    /// # Errors
    /// Returns an error for steps that do not exist, or too many.
    pub(super) fn of(request: BuildRequest, archive: impl Fn(&str) -> Option<Arc<Archive>>) -> Result<Self, E2bError> {
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let base = match (given(request.from_image), given(request.from_template)) {
            (Some(_), Some(_)) => {
                return Err(E2bError::new(Kind::Bad, "fromImage and fromTemplate exclude each other"));
            }
            (Some(image), None) => Base::Image(image, request.from_image_registry.is_some()),
            (None, template) => Base::Template(template.unwrap_or_else(|| "base".to_owned())),
        };
        let steps = request.steps.unwrap_or_default();
        if steps.len() > MAX_STEPS {
            let message = format!("there are {} steps; at most {MAX_STEPS} are possible", steps.len());
            return Err(E2bError::new(Kind::Bad, message));
        }
        let texts = steps.iter().flat_map(|step| step.args.iter().flatten());
        let scripts = [&request.start_cmd, &request.ready_cmd].into_iter().flatten();
        let bytes: usize = texts.chain(scripts).map(String::len).sum();
        if bytes > MAX_BYTES {
            let message = format!("the steps have {bytes} bytes; at most {MAX_BYTES} are possible: copy files instead");
            return Err(E2bError::new(Kind::TooLarge, message));
        }
        Ok(Self {
            base,
            steps: steps.into_iter().map(|step| Step::of(step, &archive)).collect::<Result<_, _>>()?,
            start: given(request.start_cmd),
            ready: given(request.ready_cmd),
        })
    }
}

/// Files of an archive that a pattern means.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// Path in the archive, without what is above the client's directory.
    pub path: String,
    /// True when all below the path is meant, which a pattern names.
    pub is_pattern: bool,
}

impl Source {
    /// Takes a pattern apart: the directory above its first wildcard is what is copied.
    pub(super) fn of(pattern: &str) -> Self {
        let mut parts: Vec<&str> = Vec::new();
        for part in pattern.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                _ => parts.push(part),
            }
        }
        let wildcard = parts.iter().position(|part| part.contains(['*', '?', '[']));
        parts.truncate(wildcard.unwrap_or(parts.len()));
        let path = if parts.is_empty() { ".".to_owned() } else { parts.join("/") };
        Self { path, is_pattern: wildcard.is_some() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(request: Value) -> Result<Plan, E2bError> {
        Plan::of(serde_json::from_value(request).expect("a request"), |_| None)
    }

    #[test]
    fn a_request_is_a_base_and_steps() {
        let made = plan(json!({"fromImage": "ubuntu:22.04", "force": true, "startCmd": "serve", "readyCmd": "",
            "steps": [{"type": "RUN", "args": ["ls", "root"]}, {"type": "ENV", "args": ["A", "1", "B", ""]},
                {"type": "COPY", "args": ["a", "b", "", "0755"], "filesHash": "f"}, {"type": "USER", "args": ["root"]}]}))
        .expect("right");
        assert_eq!(
            (made.base, made.start.as_deref(), made.ready),
            (Base::Image("ubuntu:22.04".to_owned(), false), Some("serve"), None)
        );
        let lines: Vec<String> = made.steps.iter().map(Step::line).collect();
        assert_eq!(lines, ["RUN ls", "ENV A B", "COPY a b", "USER root"]);
        assert!(matches!(&made.steps[2], Step::Copy { owner: None, mode: Some(mode), .. } if mode == "0755"));
        assert_eq!(plan(json!({})).expect("right").base, Base::Template("base".to_owned()));
    }

    #[test]
    fn steps_that_do_not_exist_are_refused() {
        let step = |step: Value| plan(json!({"steps": [step]})).expect_err("wrong").kind();
        assert_eq!(step(json!({"type": "ADD", "args": ["a", "b"]})), Kind::Bad);
        assert_eq!(step(json!({"type": "RUN"})), Kind::Bad);
        assert_eq!(step(json!({"type": "ENV", "args": ["A"]})), Kind::Bad);
        assert_eq!(step(json!({"type": "ENV", "args": ["A=B", "1"]})), Kind::Bad);
        assert_eq!(step(json!({"type": "COPY", "args": ["a", "b"]})), Kind::Bad);
        let many = vec![json!({"type": "RUN", "args": ["ls"]}); MAX_STEPS + 1];
        assert_eq!(plan(json!({"steps": many})).expect_err("too many").kind(), Kind::Bad);
        assert_eq!(plan(json!({"fromImage": "a", "fromTemplate": "b"})).expect_err("both").kind(), Kind::Bad);
        let long = json!({"type": "RUN", "args": ["x".repeat(MAX_BYTES)]});
        assert!(plan(json!({"steps": [long]})).is_ok());
        assert_eq!(plan(json!({"steps": [long], "startCmd": "x"})).expect_err("large").kind(), Kind::TooLarge);
    }

    #[test]
    fn a_pattern_means_what_is_below_its_directory() {
        let of = |pattern: &str| {
            let Source { path, is_pattern } = Source::of(pattern);
            (path, is_pattern)
        };
        assert_eq!(of("folder/*"), ("folder".to_owned(), true));
        assert_eq!(of("a/**/b.py"), ("a".to_owned(), true));
        assert_eq!(of("*.txt"), (".".to_owned(), true));
        assert_eq!(of("./a/../b/c.txt/"), ("b/c.txt".to_owned(), false));
        assert_eq!(of("."), (".".to_owned(), false));
        assert_eq!(of("../../x"), ("x".to_owned(), false));
    }
}
