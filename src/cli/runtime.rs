//! `proofbox runtime build|list|remove|info`

#![expect(clippy::print_stdout, reason = "standard output is where a command answers")]

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use clap::builder::PossibleValuesParser;

use crate::config::Config;
use proofbox_runtime::image::Image;
use proofbox_runtime::images::{self, Images, Unusable};

#[derive(Subcommand)]
pub(super) enum RuntimeCommand {
    /// Build an image, unless it is there already; with --packages, one with packages of your own
    Build {
        /// Interpreter of the image: default, or data, which has pandas, matplotlib, Pillow and what goes with them
        #[arg(long, value_name = "NAME", default_value = images::DEFAULT, value_parser = interpreter())]
        interpreter: String,
        /// A requirements file, a wheel, or a directory of wheels: packages without native code, which are added with what
        /// they need
        #[arg(long, value_name = "FILE", requires = "name")]
        packages: Vec<PathBuf>,
        /// Name by which requests ask for the image that has them
        #[arg(long, requires = "packages")]
        name: Option<String>,
    },
    /// List the images
    List,
    /// Remove an image of your own
    Remove {
        /// Name or hash of the image
        #[arg(value_name = "IMAGE")]
        asked: String,
    },
    /// Tell which image is there
    Info {
        /// Print JSON instead of text
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn runtime(command: &RuntimeCommand, config: &Config) -> anyhow::Result<ExitCode> {
    match command {
        RuntimeCommand::Build { interpreter, packages, name } => {
            let source = config.image.of(interpreter);
            let image = match name {
                Some(name) => Image::build_with_packages(&source, name, packages)?,
                None => Image::ready(&source)?,
            };
            println!("{}", image.image_hash);
            Ok(ExitCode::SUCCESS)
        }
        RuntimeCommand::List => {
            let Some(image) = Image::cached(&config.image) else { return Ok(none(config)) };
            let (images, unusable) = Images::over(image, &config.image);
            let mut text = String::new();
            for image in images.all() {
                let names: Vec<&str> = images.names_of(image).collect();
                let names = if names.is_empty() { "-".to_owned() } else { names.join(",") };
                text += &format!("{names:20} {} {} packages\n", image.image_hash, image.packages.len());
            }
            for Unusable { name, reason } in unusable {
                text += &format!("{name:20} can't be used: {reason}\n");
            }
            let _ = std::io::stdout().write_all(text.as_bytes());
            Ok(ExitCode::SUCCESS)
        }
        RuntimeCommand::Remove { asked } => {
            Image::remove(&config.image, asked)?;
            Ok(ExitCode::SUCCESS)
        }
        RuntimeCommand::Info { json } => {
            let Some(image) = Image::cached(&config.image) else { return Ok(none(config)) };
            let text = if *json { serde_json::to_string_pretty(&image)? + "\n" } else { description(&image) };
            // Whoever reads may have seen enough (`| head`).
            let _ = std::io::stdout().write_all(text.as_bytes());
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Parses the name of an interpreter, and knows which there are.
fn interpreter() -> PossibleValuesParser {
    PossibleValuesParser::new(images::interpreters().iter().map(String::as_str))
}

fn none(config: &Config) -> ExitCode {
    let cache = config.image.cache.display();
    eprintln!("There is no image for this machine in {cache}; `proofbox runtime build` makes it.");
    ExitCode::FAILURE
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
