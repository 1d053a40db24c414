//! Run of a program: in one guest, or in two where its tests have an interpreter of their own.

use std::sync::{Arc, OnceLock};

use super::error::RunError;
use super::fuel_spent::FuelSpent;
use super::grading::isolated;
use super::guest::{Role, SNIPPET_NAME, brings_snippet_file, run_guest, tree};
use super::pool::InterpreterPool;
use super::session::{CommandRunner, SessionContext};
use super::shell::Shell;
use proofbox_types::grant::Limits;
use proofbox_types::outcome::Outcome;
use proofbox_types::program::{CommandAccess, File, Program};
use proofbox_vfs::{SharedTree, View, lock};

/// Runs a program to its end or to a limit. Dropping the future stops the guest.
///
/// # Errors
/// Returns an error when there is no interpreter to be had, or a file of the program does not fit the sandbox.
pub async fn run(pool: &InterpreterPool, program: Program, limits: &Limits) -> Result<Outcome, RunError> {
    run_over(pool, program, limits, &FuelSpent::default(), |_| None).await
}

/// Runs a program, which may start commands of the shell where it is granted them. `spent` tells what it cost when it is
/// dropped before its end.
///
/// # Errors
/// Returns the errors of [`run()`].
pub async fn run_with_commands(
    pool: &Arc<InterpreterPool>,
    runner: &Arc<dyn CommandRunner>,
    program: Program,
    limits: &Limits,
    spent: &FuelSpent,
) -> Result<Outcome, RunError> {
    // What a command does is not repeatable: it has clocks and entropy of its own.
    let granted = program.commands == CommandAccess::Granted && program.deterministic.is_none();
    let image = Arc::clone(pool.image(program.image.as_deref())?);
    let context = OnceLock::new();
    let shell = |tree: &SharedTree| {
        let made = || {
            let (pool, image, runner) = (Arc::clone(pool), Arc::clone(&image), Arc::clone(runner));
            SessionContext::new(pool, image, runner, tree.clone(), *limits, Arc::default())
                .with_command_fuel(&spent.commands)
        };
        granted.then(|| context.get_or_init(made).shell(&limits.into()))
    };
    let mut outcome = run_over(pool, program, limits, spent, shell).await?;
    if context.get().is_some() {
        // Jobs in the background end with the run, and their fuel is the run's as well.
        runner.end_jobs().await;
        let fuel = &mut outcome.usage.fuel;
        *fuel = fuel.saturating_add(spent.take_commands()).min(limits.fuel);
    }
    Ok(outcome)
}

async fn run_over(
    pool: &InterpreterPool,
    program: Program,
    limits: &Limits,
    spent: &FuelSpent,
    shell: impl Fn(&SharedTree) -> Option<Shell>,
) -> Result<Outcome, RunError> {
    let tree = tree(pool.image(program.image.as_deref())?.base()?, &program, limits)?;
    let keeps_name = brings_snippet_file(&program);
    let mut outcome = if program.isolated && program.tests.is_some() {
        isolated::run(pool, &program, limits, spent, &tree, || shell(&tree.with_view(View::WithoutTests))).await?
    } else {
        run_guest(pool, &program, limits, spent, &tree, Role::Alone(shell(&tree))).await?
    };
    match lock(&tree).glob(&program.fetch_files, limits.files_bytes) {
        // The snippet itself is no output, however the patterns are written.
        Ok(files) => {
            let files = files.into_iter().filter(|(path, _)| keeps_name || path != SNIPPET_NAME);
            outcome.files = files.map(|(path, content)| File { path, content: content.to_vec() }).collect();
        }
        Err(error) => outcome.files_error = Some(error.to_string()),
    }
    Ok(outcome)
}
