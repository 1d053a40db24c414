//! Program `strings`.

use super::input::{options, or_input};
use crate::PIPE_BYTES;
use crate::bounds::MAX_TEXT;
use crate::state::{Done, Shell, Stop};

pub(super) async fn strings(shell: &mut Shell, arguments: &[String]) -> Done {
    let words: Vec<String> = arguments
        .iter()
        .map(|word| match word.strip_prefix('-').is_some_and(|rest| rest.parse::<usize>().is_ok()) {
            true => format!("-n{}", &word[1..]),
            false => word.clone(),
        })
        .collect();
    let long = [("bytes", 'n'), ("all", 'a'), ("print-file-name", 'f'), ("radix", 't'), ("encoding", 'e')];
    let given = options(shell, "strings", &words, "n:aft:e:ow", &long, 1).await?;
    let text = given.value('n').unwrap_or("4");
    let Some(least @ 1..) = text.parse::<usize>().ok() else {
        return Err(shell.fails("strings", &format!("invalid minimum string length {text}")).await);
    };
    let radix = given.value('t').or(given.has('o').then_some("o"));
    let mut status = 0;
    for path in or_input(given.operands.clone()) {
        let opened = match path.as_str() {
            "-" => Ok(shell.streams.stdin.clone()),
            path => shell.reader_of(path),
        };
        let mut reader = match opened {
            Ok(reader) => reader,
            Err(why) => {
                let what = match why {
                    "No such file or directory" => format!("'{path}': No such file"),
                    "Is a directory" => format!("Warning: '{path}' is a directory"),
                    why => format!("{path}: {why}"),
                };
                shell.error("strings", &what).await;
                status = 1;
                continue;
            }
        };
        let mut held = shell.shared.used.hold(0).ok_or(Stop::Failed(1))?;
        let (mut bytes, mut run, mut counted, mut offset) = (Vec::new(), Vec::new(), 0, 0_u64);
        loop {
            bytes.clear();
            let read = reader.read_into(&mut bytes, PIPE_BYTES, None).await;
            shell.step(1 + read as u64 / 512).await?;
            // The end ends a run, as any byte does that is not shown.
            if read == 0 {
                bytes.push(0);
            }
            let mut out = Vec::new();
            for byte in &bytes {
                if matches!(byte, b' '..=b'~' | b'\t') {
                    run.push(*byte);
                } else {
                    if run.len() >= least {
                        if given.has('f') {
                            out.extend(format!("{path}: ").bytes());
                        }
                        let start = offset - run.len() as u64;
                        match radix {
                            Some("x") => out.extend(format!("{start:7x} ").bytes()),
                            Some("o") => out.extend(format!("{start:7o} ").bytes()),
                            Some(_) => out.extend(format!("{start:7} ").bytes()),
                            None => {}
                        }
                        out.append(&mut run);
                        out.push(b'\n');
                    }
                    run.clear();
                }
                offset += 1;
            }
            shell.out("strings", &out).await?;
            let more = run.capacity().saturating_sub(counted);
            counted += more;
            if run.len() > MAX_TEXT || !held.grow(more) {
                return Err(shell.fails("strings", "memory exhausted").await);
            }
            if read == 0 {
                break;
            }
        }
    }
    Ok(status)
}
