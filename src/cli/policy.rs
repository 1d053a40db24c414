//! `proofbox policy check DIRECTORY`

#![expect(clippy::print_stdout, reason = "standard output is where a command answers")]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;

use proofbox_policy::{Action, Policies};

/// Actions on policy packs.
#[derive(Subcommand)]
pub(super) enum PolicyCommand {
    /// Read every pack of a directory, as `serve --policies-dir` would: exit code 0 when all can be used, 1 when one can't
    Check {
        /// The directory
        #[arg(value_name = "DIRECTORY")]
        directory: PathBuf,
    },
}

/// Runs a command on policy packs.
pub(super) fn policy(command: &PolicyCommand) -> anyhow::Result<ExitCode> {
    let PolicyCommand::Check { directory } = command;
    let checked = Policies::check(directory)?;
    if checked.is_empty() {
        println!("{}: there is no pack (*.toml) in it", directory.display());
        return Ok(ExitCode::FAILURE);
    }
    let mut sound = true;
    for (path, pack) in checked {
        match pack {
            Ok(pack) => {
                let blocks: Vec<&str> = pack
                    .gate
                    .capabilities
                    .iter()
                    .filter(|(_, (action, _))| *action == Action::Block)
                    .map(|(capability, _)| capability.as_str())
                    .collect();
                let blocks = if blocks.is_empty() { "no capability".to_owned() } else { blocks.join(", ") };
                println!("{}: sound; blocks {blocks}", path.display());
            }
            Err(error) => {
                sound = false;
                println!("{error}");
            }
        }
    }
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
