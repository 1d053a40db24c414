//! `proofbox runtime build|info`

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
                eprintln!("There is no image for this machine in {}; `proofbox runtime build` makes it.", config.image.cache.display());
                return Ok(ExitCode::FAILURE);
            };
            if *json {
                println!("{}", serde_json::to_string_pretty(&image)?);
            } else {
                print_image(&image);
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn print_image(image: &Image) {
    println!("image     {} ({:.1} MB)", image.image_hash, image.image_bytes as f64 / 1e6);
    println!("python    {}", image.python);
    println!("memory    {} MiB at the start of every run", image.initial_memory_bytes >> 20);
    println!("compiled  {}", image.compiled.display());
    println!("packages  {}", if image.packages.is_empty() { "standard library only".to_owned() } else { format!("{:?}", image.packages) });
    println!("modules   {}", image.modules.len());
    println!("{}", image.modules.join(" "));
}
