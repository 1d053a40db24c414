//! Builtin `ulimit`: shows the limits of a sandbox, which scripts do not change.

use crate::bounds::{MAX_MEMORY, MAX_PROCESSES};
use crate::state::{Done, Shell};

/// Limits by letter, with the name and the unit that bash gives them.
const LIMITS: [(char, &str); 10] = [
    ('c', "core file size              (blocks, -c)"),
    ('d', "data seg size               (kbytes, -d)"),
    ('f', "file size                   (blocks, -f)"),
    ('l', "max locked memory           (kbytes, -l)"),
    ('m', "max memory size             (kbytes, -m)"),
    ('n', "open files                          (-n)"),
    ('s', "stack size                  (kbytes, -s)"),
    ('t', "cpu time                   (seconds, -t)"),
    ('u', "max user processes                  (-u)"),
    ('v', "virtual memory              (kbytes, -v)"),
];

fn value(letter: char) -> String {
    match letter {
        'c' => "0".to_owned(),
        'm' | 'v' => (MAX_MEMORY >> 10).to_string(),
        'u' => MAX_PROCESSES.to_string(),
        _ => "unlimited".to_owned(),
    }
}

/// `ulimit`: a limit that is as wanted already is accepted, and any other is refused.
pub(crate) async fn ulimit(shell: &mut Shell, arguments: &[String]) -> Done {
    let (mut letter, mut all, mut wanted) = ('f', false, None);
    for argument in arguments {
        match argument.strip_prefix('-') {
            Some(letters) => {
                for option in letters.chars() {
                    match option {
                        'H' | 'S' => {}
                        'a' => all = true,
                        option if LIMITS.iter().any(|(known, _)| *known == option) => letter = option,
                        option => {
                            shell.error("ulimit", &format!("-{option}: invalid option")).await;
                            return Ok(2);
                        }
                    }
                }
            }
            None => wanted = Some(argument.as_str()),
        }
    }
    if all {
        let lines = LIMITS.iter().map(|(letter, name)| format!("{name} {}\n", value(*letter)));
        shell.out("ulimit", lines.collect::<String>().as_bytes()).await?;
        return Ok(0);
    }
    let present = value(letter);
    let Some(wanted) = wanted else {
        shell.out("ulimit", format!("{present}\n").as_bytes()).await?;
        return Ok(0);
    };
    if wanted == present || matches!(wanted, "hard" | "soft") {
        return Ok(0);
    }
    let what = match wanted.bytes().all(|byte| byte.is_ascii_digit()) || wanted == "unlimited" {
        true => {
            let name = LIMITS.iter().find(|(known, _)| *known == letter).map_or("", |(_, name)| name);
            let name = name.split("  ").next().unwrap_or_default();
            format!("{name}: cannot modify limit: Operation not permitted")
        }
        false => format!("{wanted}: invalid number"),
    };
    shell.error("ulimit", &what).await;
    Ok(1)
}
