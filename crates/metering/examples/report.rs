//! Prints the charges of an image: `cargo run --release -p proofbox-metering --example report -- image.wasm`.

#![expect(clippy::print_stdout, reason = "standard output is where the report goes")]

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("give the path of an image.wasm")?;
    let module = std::fs::read(path)?;
    println!("{:#?}", proofbox_metering::meter(&module)?.report);
    Ok(())
}
