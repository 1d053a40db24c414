//! `proofbox runtime build|info`

use std::io::Write;
use std::process::ExitCode;

use clap::Subcommand;

use crate::config::Config;
use crate::runtime::image::Image;

#[derive(Subcommand)]
pub enum RuntimeCommand {
    /// Build the image, unless it is there already
    Build,
    /// Tell which image is there
    Info {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

pub fn runtime(command: &RuntimeCommand, config: &Config) -> anyhow::Result<ExitCode> {
    match command {
        RuntimeCommand::Build => {
            let image = Image::ready(&config.image)?;
            println!("{}", image.image_hash);
            Ok(ExitCode::SUCCESS)
        }
        RuntimeCommand::Info { json } => {
            let Some(image) = Image::cached(&config.image) else {
                eprintln!(
                    "There is no image for this machine in {}; `proofbox runtime build` makes it.",
                    config.image.cache.display()
                );
                return Ok(ExitCode::FAILURE);
            };
            let text = if *json { serde_json::to_string_pretty(&image)? + "\n" } else { description(&image) };
            // Whoever reads may have seen enough (`| head`).
            let _ = std::io::stdout().write_all(text.as_bytes());
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn description(image: &Image) -> String {
    let packages: Vec<String> = image.packages.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let packages = if packages.is_empty() { "the standard library only".to_owned() } else { packages.join(", ") };
    format!(
        "image     {} ({:.1} MB)\npython    {}\nmemory    {} MiB at the start of every run\ncompiled  {}\npackages  {packages}\nmodules   {}\n",
        image.image_hash,
        image.image_bytes as f64 / 1e6,
        image.python,
        image.initial_memory_bytes >> 20,
        image.compiled.display(),
        image.modules.join(" "),
    )
}
