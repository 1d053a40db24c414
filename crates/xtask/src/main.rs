//! `cargo xtask`: tasks of the checkout that cargo has no command for.

mod archive;
mod digest;
mod dist;
mod elf;
mod image;
mod licences;
mod sbom;
mod wheel;

use clap::Parser;

/// Tasks of the checkout.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    /// Make a wheel, a tarball, an SBOM and SHA256SUMS in target/dist
    ///
    /// Builds the service and the Python runtime where they are not built yet. The same checkout, binary and image give the
    /// same bytes. SOURCE_DATE_EPOCH sets the time that the files in the archives have; without it, that is 1980-01-01.
    Dist(dist::DistArguments),
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Dist(arguments) => dist::dist(&arguments),
    }
}
