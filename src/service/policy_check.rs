//! The policy gate: before anything runs, and alone.

use std::sync::Arc;
use std::time::Duration;

use super::execution::Cost;
use super::{Admission, Asking, ExecuteError, Execution, PolicyStore};
use crate::metrics::Metrics;
use crate::sandbox::Sandbox;
use crate::telemetry;
use proofbox_policy::{Action, BoundaryRule, Decision, GateFailed, Pack, Refusal, Scanned, Source};
use proofbox_runtime::image::Image;
use proofbox_types::caller::Caller;
use proofbox_types::failure;
use proofbox_types::grant::Grant;
use proofbox_types::ids::ExecutionId;
use proofbox_types::outcome::{Attempt, AttemptKind, End, ErrorReport};
use proofbox_types::program::{CommandAccess, File, Program};
use proofbox_types::status::{FailureClass, IntegrityLevel, Status};
use proofbox_types::submission::Submission;
use proofbox_types::verdict::{Basis, Integrity, Verdict};

/// Compiles what comes on standard input, and runs nothing of it.
const COMPILE: &str = "import sys\ncompile(sys.stdin.buffer.read(), 'solution.py', 'exec', dont_inherit=True)\n";

/// Languages that an error names.
const MAX_LANGUAGES: usize = 5;
/// Characters of a path that an error names.
const MAX_SHOWN_PATH: usize = 100;

/// Check of submissions and cells by the gate of their pack, with what the gate needs of the service.
pub struct PolicyCheck {
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) policies: Arc<PolicyStore>,
    pub(super) admission: Arc<Admission>,
    pub(super) metrics: Arc<Metrics>,
}

/// Code that is not run, as far as its result tells of it.
#[derive(Clone, Copy)]
pub(super) struct Unrun<'a> {
    pub(super) policy: &'a str,
    /// Cases that were to be run.
    pub(super) planned: usize,
    pub(super) image: &'a Arc<Image>,
    pub(super) grant: &'a Grant,
}

impl PolicyCheck {
    /// Scans a snippet under the pack of that name; nothing is run.
    ///
    /// # Errors
    /// Returns an error when there is no such pack, the snippet is too large for it, or the gate fails.
    pub async fn scan(
        &self,
        caller: &Caller,
        policy: &str,
        code: &str,
        code_field: &'static str,
    ) -> Result<Scanned, ExecuteError> {
        let policies = self.policies.current();
        let pack = policies.pack(caller, policy)?;
        if code.len() > pack.request.code_bytes {
            let allowed = pack.request.code_bytes;
            return Err(ExecuteError::TooLarge { field: code_field, asked: code.len(), allowed, unit: "bytes" });
        }
        let scanned = pack.gate.scan(&[Source { text: code, file: None }]).await?;
        self.count_scan(&scanned);
        Ok(scanned)
    }

    /// Scans code and the files that come with it, and blanks out of the code what the pack redacts.
    ///
    /// # Errors
    /// Returns an error when the gate fails.
    pub(super) async fn scan_code(
        &self,
        asking: Asking<'_>,
        pack: &Pack,
        grant: &Grant,
        code: &mut String,
        files: &[File],
    ) -> Result<Scanned, ExecuteError> {
        let python = |path: &str| path.ends_with(".py") || path.ends_with(".pyi") || path.ends_with(".pth");
        let mut sources = vec![Source { text: code, file: None }];
        for file in files.iter().filter(|file| python(&file.path)) {
            // What is not UTF-8 is Python in an encoding of its own: the gate says so where it can't read it.
            if let Ok(text) = std::str::from_utf8(&file.content) {
                sources.push(Source { text, file: Some(&file.path) });
            }
        }
        let mut scanned = pack.gate.scan(&sources).await?;
        let unreadable = files.iter().find(|file| {
            (python(&file.path) && std::str::from_utf8(&file.content).is_err())
                || [".pyc", ".so", ".pyd", ".egg", ".zip", ".whl"].iter().any(|end| file.path.ends_with(end))
        });
        if let Some(file) = unreadable {
            pack.gate.unreadable(&mut scanned, Some(&file.path));
        }
        if scanned.report.decision == Decision::Allow && !scanned.report.syntax_ok && pack.gate.guards_tree() {
            // Two readers of one language may differ: what only CPython can read was not looked at.
            if self.compiles(asking, code, grant).await? {
                pack.gate.unreadable(&mut scanned, None);
            }
        }
        self.count_scan(&scanned);
        if let Some(redacted) = scanned.redacted.take() {
            *code = redacted;
        }
        Ok(scanned)
    }

    /// Returns whether CPython compiles `code`.
    async fn compiles(&self, asking: Asking<'_>, code: &str, grant: &Grant) -> Result<bool, ExecuteError> {
        let program = Program { code: COMPILE.to_owned(), stdin: code.as_bytes().to_vec(), ..Program::default() };
        let permit = self.admission.acquire(asking.caller, asking.urgency).await?;
        let outcome = self.sandbox.run(program.into(), grant, asking.payer()).await;
        drop(permit);
        // What can't be told is told by the run itself.
        Ok(outcome.is_ok_and(|outcome| matches!(outcome.end, End::Exited(0)) && outcome.report.error.is_none()))
    }

    fn count_scan(&self, scanned: &Scanned) {
        let report = &scanned.report;
        let metrics = &self.metrics;
        metrics.scans.with_label_values(&[report.name.as_str(), report.decision.as_str()]).inc();
        metrics.scan_seconds.observe(report.scan_seconds);
        let blocks = report.decision == Decision::Block;
        let blocking = || report.findings.iter().filter(|finding| blocks && finding.action == Action::Block);
        telemetry::scanned(
            Duration::from_secs_f64(report.scan_seconds.max(0.0)),
            &report.name,
            report.decision.as_str(),
            blocking().map(|finding| (finding.scanner.as_str(), finding.rule.as_str(), finding.action.as_str())),
        );
        if blocks {
            for finding in blocking() {
                let rule = finding.rule.as_str();
                metrics.policy_blocks.with_label_values(&[finding.scanner.as_str(), rule]).inc();
            }
            let rules: Vec<&str> = blocking().map(|finding| finding.rule.as_str()).collect();
            let scanners: Vec<&str> = report.blocked_by.iter().map(|scanner| scanner.as_str()).collect();
            tracing::info!(target: "proofbox::service::gate", policy = %report.name, blocked_by = ?scanners, ?rules, "the policy blocked a snippet");
        }
    }

    /// Makes the result of what the gate blocks.
    pub(super) fn blocked(&self, unrun: Unrun<'_>, scanned: Scanned) -> Execution {
        let reasons: Vec<&str> = scanned
            .report
            .findings
            .iter()
            .filter(|finding| finding.action == Action::Block)
            .map(|finding| finding.reason.as_str())
            .take(5)
            .collect();
        let line = scanned.report.findings.iter().find(|finding| finding.action == Action::Block);
        let line = line.filter(|finding| finding.file.is_none()).and_then(|finding| u32::try_from(finding.line).ok());
        let message = format!("the policy `{}` does not let it run: {}", unrun.policy, reasons.join("; "));
        let error = ErrorReport {
            class: FailureClass::PolicyBlocked,
            type_name: String::new(),
            message,
            line,
            traceback: Vec::new(),
        };
        let mut execution = self.not_run(unrun, Status::Blocked, error);
        execution.scan = Some(scanned.report);
        execution
    }

    /// Makes the result of a submission whose answer has no program; none where it has one.
    pub(super) fn without_program(&self, submission: &Submission, unrun: Unrun<'_>) -> Option<Execution> {
        let report = submission.completion.as_ref().filter(|report| report.chosen.is_none())?;
        let (class, message) = if report.contains_code {
            let mut languages: Vec<&str> = report.blocks.iter().filter_map(|block| block.language.as_deref()).collect();
            languages.sort_unstable();
            languages.dedup();
            languages.truncate(MAX_LANGUAGES);
            (FailureClass::OtherLanguage, format!("the answer has no code in Python, but in: {}", languages.join(", ")))
        } else {
            (FailureClass::NoCode, "the answer has no code".to_owned())
        };
        let status = if submission.tests.is_some() { Status::Failed } else { Status::Error };
        let error = ErrorReport { class, type_name: String::new(), message, line: None, traceback: Vec::new() };
        Some(self.not_run(unrun, status, error))
    }

    /// Makes the result of what is not run, for the reason that `error` gives.
    fn not_run(&self, unrun: Unrun<'_>, status: Status, error: ErrorReport) -> Execution {
        let Unrun { policy, planned, image, grant } = unrun;
        let class = error.class;
        self.metrics.runs.with_label_values(&[class.as_str()]).inc();
        let verdict = Verdict {
            status,
            exit_code: failure::exit_code(&End::Exited(0), class),
            class,
            error: Some(error),
            compiled: false,
            cases: Vec::new(),
            integrity: Integrity {
                level: IntegrityLevel::None,
                planned,
                reported: 0,
                signals: Vec::new(),
                basis: Basis::default(),
            },
        };
        let (id, policy, image) = (ExecutionId::generate(), policy.to_owned(), Arc::clone(image));
        let mut execution = Execution::from_outcomes(id, verdict, Vec::new(), Duration::ZERO, grant, policy, image);
        execution.cost = Cost::default();
        execution
    }
}

/// Checks that a pack lets a file in.
///
/// # Errors
/// Returns an error when it does not; `field` is the field of the request.
pub(super) fn admit_upload(pack: &Pack, field: &'static str, path: &str) -> Result<(), Refusal> {
    if pack.files.upload.is_match(path) {
        return Ok(());
    }
    let message = format!("the policy lets no file `{}` in", path.chars().take(MAX_SHOWN_PATH).collect::<String>());
    Err(Refusal::File { field, message })
}

/// Checks that a pack lets files out.
///
/// # Errors
/// Returns an error when it does not; `field` is the field of the request.
pub(super) fn admit_fetch(pack: &Pack, field: &'static str) -> Result<(), Refusal> {
    if pack.files.fetch {
        return Ok(());
    }
    Err(Refusal::File { field, message: "the policy lets no files out".to_owned() })
}

/// Returns whether programs may start commands: not where an attempt to start a process fails the run.
pub(super) fn command_access(pack: &Pack) -> CommandAccess {
    match pack.boundary.get(&AttemptKind::Process) {
        Some(BoundaryRule::Fail) => CommandAccess::Refused,
        _ => CommandAccess::Granted,
    }
}

/// Fails a run that tried to reach what its pack does not let it try to reach.
pub(super) fn judge_attempts(pack: &Pack, execution: &mut Execution) {
    let fails = |attempt: &&Attempt| {
        !attempt.allowed && pack.boundary.get(&attempt.kind).is_some_and(|rule| *rule == BoundaryRule::Fail)
    };
    let Some(attempt) = execution.attempts.iter().find(fails) else { return };
    let verdict = &mut execution.verdict;
    if !matches!(verdict.status, Status::Passed | Status::Ok) {
        return;
    }
    let class = match attempt.kind {
        AttemptKind::File => FailureClass::PermissionDenied,
        _ => FailureClass::UnsafeOperation,
    };
    verdict.status = if verdict.status == Status::Ok { Status::Error } else { Status::Failed };
    verdict.class = class;
    verdict.exit_code = 1;
    verdict.error = Some(ErrorReport {
        class,
        type_name: String::new(),
        message: format!(
            "the policy `{}` fails what tries to reach outside: {} ({})",
            execution.policy, attempt.operation, attempt.target
        ),
        line: None,
        traceback: Vec::new(),
    });
}

impl From<GateFailed> for ExecuteError {
    fn from(_: GateFailed) -> Self {
        tracing::error!("the policy gate failed");
        Self::Gate
    }
}
