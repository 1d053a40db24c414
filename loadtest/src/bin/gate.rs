//! The policy gate alone: how long it takes, and whether anything makes it slow or end:
//! `cargo run --release -p loadtest --bin gate -- --help`.

#![expect(clippy::print_stdout, reason = "standard output is where the report goes")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use clap::{Parser, Subcommand};
use proofbox_policy::{Gate, Policies, Source};
use proofbox_syntax::LARGE_STACK_BYTES;
use proofbox_types::caller::Caller;
use serde_json::Value;

/// The policy gate alone
#[derive(Parser)]
struct Cli {
    /// Policy pack
    #[arg(long, default_value = "strict")]
    policy: String,
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Time of a scan: of the programs of tests/policy and of JSON lines with `code`, and of texts from 1 KiB to 1 MiB
    Time {
        /// Files of JSON lines
        cases: Vec<PathBuf>,
        #[arg(long, default_value_t = 5)]
        rounds: usize,
    },
    /// Scans what mutation makes of the programs of tests/policy; ends at the first that panics or takes too long
    Fuzz {
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Where to begin; the same seed makes the same programs
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// The program that is being scanned stands here, for the case that the process dies of it
        #[arg(long, default_value = "fuzz-last.py")]
        last: PathBuf,
    },
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let policies = Policies::load(None)?;
    let gate = policies.pack(&Caller::keyless(), &cli.policy)?.gate.clone();
    // As the service has it for what nests deep.
    let work = std::thread::Builder::new().stack_size(LARGE_STACK_BYTES).spawn(move || match cli.command {
        What::Time { cases, rounds } => time(&gate, &cases, rounds),
        What::Fuzz { seconds, seed, last } => fuzz(&gate, Duration::from_secs(seconds), seed, &last),
    })?;
    work.join().unwrap_or_else(|_| bail!("a scan panicked"))
}

/// The programs of tests/policy.
fn corpus() -> anyhow::Result<Vec<String>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/policy/corpus.py");
    let output = Command::new("python3").args(["-B", script, "--json"]).output().context("running python3")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    codes(&String::from_utf8(output.stdout)?)
}

fn codes(lines: &str) -> anyhow::Result<Vec<String>> {
    let mut codes = Vec::new();
    for line in lines.lines() {
        let row: Value = serde_json::from_str(line)?;
        codes.extend(row["code"].as_str().map(str::to_owned));
    }
    Ok(codes)
}

fn scan(gate: &Gate, code: &str) -> Duration {
    let begun = Instant::now();
    gate.scan_here(&[Source { text: code, file: None }]);
    begun.elapsed()
}

fn time(gate: &Gate, cases: &[PathBuf], rounds: usize) -> anyhow::Result<()> {
    let mut programs = corpus()?;
    for path in cases {
        let lines = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        programs.extend(codes(&lines)?);
    }
    // What is made once in a process.
    programs.iter().take(200).for_each(|code| _ = scan(gate, code));
    println!("| programs | scans | p50 ms | p99 ms | max ms |\n| --- | --- | --- | --- | --- |");
    for (what, least, most) in [("up to 10 KiB", 0, 10 << 10), ("larger", (10 << 10) + 1, usize::MAX)] {
        let mut times: Vec<Duration> = Vec::new();
        for _ in 0..rounds {
            times.extend(
                programs.iter().filter(|code| (least..=most).contains(&code.len())).map(|code| scan(gate, code)),
            );
        }
        times.sort_unstable();
        let at = |share: f64| times.get((times.len() as f64 * share) as usize).or(times.last()).copied();
        if let (Some(p50), Some(p99), Some(max)) = (at(0.5), at(0.99), times.last()) {
            let ms = |time: Duration| time.as_secs_f64() * 1e3;
            println!("| {what} | {} | {:.3} | {:.3} | {:.3} |", times.len(), ms(p50), ms(p99), ms(*max));
        }
    }
    println!("\n| text | bytes | ms | ns a byte |\n| --- | --- | --- | --- |");
    let together = programs.iter().filter(|code| code.is_ascii()).map(String::as_str).collect::<Vec<_>>().join("\n");
    let texts: [(&str, &str); 8] = [
        ("the programs, one after the other", &together),
        ("addresses", "x = 'http://8.8.8.8/a.exe'\n"),
        ("names", "a = b.c.d(e, f=g)[h] + i\n"),
        ("loops over constants", "for i in 'abcdefgh':\n    s = s + chr(ord(i) ^ 1)\n"),
        ("folding", "x = x + 'abcdefghijklmnopqrstuvwxyz' * 9\n"),
        ("calls of its own functions", "def f(a, b=1):\n    return a + str(b)\nf('x', 2)\n"),
        ("invisible characters", "# a\u{200b}b\u{202e}c\n"),
        ("one string", "x"),
    ];
    for (what, piece) in texts {
        for size in [1 << 10, 16 << 10, 256 << 10, 1 << 20] {
            let mut text = piece.repeat(size / piece.len() + 1);
            text.truncate(text.floor_char_boundary(size));
            if what == "one string" {
                text = format!("x = '{text}'\n");
            }
            let mut times: Vec<Duration> = (0..rounds).map(|_| scan(gate, &text)).collect();
            times.sort_unstable();
            let median = times[times.len() / 2];
            let per_byte = median.as_nanos() as f64 / text.len() as f64;
            println!("| {what} | {} | {:.3} | {per_byte:.0} |", text.len(), median.as_secs_f64() * 1e3);
        }
    }
    Ok(())
}

/// Numbers that look random enough (Knuth's MMIX).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }
}

/// Tokens that mutation inserts.
const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "'''",
    "f'{",
    "}'",
    "\\",
    "\n",
    "\n    ",
    " ",
    "\t",
    ":",
    "=",
    ":=",
    "*",
    "**",
    "@",
    "lambda x: ",
    "lambda: ",
    "for x in y",
    "if 1 else ",
    "not ",
    "-",
    "await ",
    "yield ",
    "def f(a=1, *b, **c):\n    ",
    "class A(B):\n    ",
    "x.__class__",
    "__import__(",
    "getattr(",
    "exec(",
    "eval('",
    "''.join(",
    "chr(",
    "range(10**9)",
    "'a' * 10**9",
    "[1] * 10**6",
    "% ",
    ".format(",
    "'{0.__class__}'",
    "\u{202e}",
    "\u{200b}",
    "é",
    "\u{1f468}\u{200d}\u{1f469}",
    "ｅｖａｌ",
    "\0",
    "\r",
    "\x0c",
    "\u{feff}",
    "# coding: utf-7\n",
    "match x:\n    case [a, *b]:\n        ",
    "try:\n    ",
    "except* E:\n    ",
    "global x\n",
    "x = x + x\n",
    "x += x\n",
    "while x < 9: x += 1\n",
    "from . import *\n",
    "import a.b as c\n",
    "http://1.2.3.4/",
    "AKIAIOSFODNN7EXAMPLE",
    "0x7fffffffffffffffffffffffffffffffff",
    "1e999",
    "1_0",
    "b'\\xff'",
    "0o777",
    "del x\n",
    "type X[T] = int\n",
    "int('9' * 4000)",
    "(9**99999).to_bytes(9)",
    "x[::-1]",
    "x[-5:10**30]",
    ",",
    ";",
];

/// Makes a program out of one or two others.
fn mutated(numbers: &mut Numbers, programs: &[String]) -> String {
    let pick = |numbers: &mut Numbers| programs[numbers.below(programs.len())].clone();
    let mut code = pick(numbers);
    for _ in 0..=numbers.below(8) {
        let at = code.floor_char_boundary(numbers.below(code.len() + 1));
        let to = code.floor_char_boundary((at + numbers.below(40)).min(code.len()));
        match numbers.below(7) {
            0 => code.insert_str(at, PIECES[numbers.below(PIECES.len())]),
            1 => code.replace_range(at..to, ""),
            2 => {
                let piece = code[at..to].to_owned();
                code.insert_str(at, &piece.repeat(numbers.below(300)));
            }
            3 => {
                let piece = PIECES[numbers.below(PIECES.len())].repeat(1 + numbers.below(400));
                code.insert_str(at, &piece);
            }
            4 => {
                let other = pick(numbers);
                let from = other.floor_char_boundary(numbers.below(other.len() + 1));
                code.insert_str(at, &other[from..]);
            }
            5 => code.insert_str(0, &(pick(numbers) + "\n")),
            _ => code.replace_range(at..to, PIECES[numbers.below(PIECES.len())]),
        }
        if code.len() > 64 << 10 {
            code.truncate(code.floor_char_boundary(64 << 10));
        }
    }
    code
}

/// Far beyond what any program of its length needs (some 15 ms for 64 KiB); other work on the machine is allowed for.
fn patience(code: &str) -> Duration {
    Duration::from_secs(2) + Duration::from_micros(50) * u32::try_from(code.len()).unwrap_or(u32::MAX)
}

fn fuzz(gate: &Gate, time: Duration, seed: u64, last: &Path) -> anyhow::Result<()> {
    let programs = corpus()?;
    let mut numbers = Numbers(seed);
    let (begun, mut scans, mut bytes) = (Instant::now(), 0_u64, 0_usize);
    let mut slowest = (Duration::ZERO, String::new());
    let mut file = std::fs::File::create(last)?;
    while begun.elapsed() < time {
        let code = mutated(&mut numbers, &programs);
        use std::io::Seek;
        file.rewind()?;
        file.set_len(0)?;
        file.write_all(code.as_bytes())?;
        let taken = scan(gate, &code);
        if taken > patience(&code) && scan(gate, &code) > patience(&code) {
            bail!("a scan of {} bytes took {taken:?}; it stands in {}", code.len(), last.display());
        }
        scans += 1;
        bytes += code.len();
        if taken > slowest.0 {
            slowest = (taken, code);
        }
    }
    // Other work on the machine may have made it slow.
    let least = (0..5).map(|_| scan(gate, &slowest.1)).min().unwrap_or_default();
    println!(
        "{scans} programs, {} MB, {} s, seed {seed}: no panic; what took longest needs {:.1} ms for {} bytes",
        bytes / 1_000_000,
        begun.elapsed().as_secs(),
        least.as_secs_f64() * 1e3,
        slowest.1.len()
    );
    std::fs::remove_file(last)?;
    Ok(())
}
