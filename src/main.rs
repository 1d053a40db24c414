//! The `proofbox` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    proofbox::cli::main()
}
