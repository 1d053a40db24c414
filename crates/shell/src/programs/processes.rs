//! Programs that show processes and memory: `ps`, `pgrep`, `pkill`, `top` and `free`. There is one process, the shell,
//! and its background jobs.

use super::input::{options, usage};
use crate::bounds::MAX_MEMORY;
use crate::state::{Done, Shell};
use proofbox_vfs::lock;

/// Names of the processes with their numbers.
fn processes(shell: &Shell) -> Vec<(u32, &'static str)> {
    std::iter::once((shell.shared.pid, "bash")).chain(shell.running_jobs().into_iter().map(|id| (id, "bash"))).collect()
}

pub(super) async fn ps(shell: &mut Shell, arguments: &[String]) -> Done {
    let letters: String = arguments.iter().map(|word| word.trim_start_matches('-')).collect();
    let long = letters.starts_with("au") || letters.contains('u');
    let mut out = match (long, letters.contains('f')) {
        (true, _) => "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n".to_owned(),
        (false, true) => "UID          PID    PPID  C STIME TTY          TIME CMD\n".to_owned(),
        (false, false) => "    PID TTY          TIME CMD\n".to_owned(),
    };
    for (id, name) in processes(shell) {
        let parent = if id == shell.shared.pid { 0 } else { shell.shared.pid };
        out.push_str(&match (long, letters.contains('f')) {
            (true, _) => {
                format!("user     {id:>7}  0.0  0.0      0     0 ?        S    00:00   0:00 {name}\n")
            }
            (false, true) => format!("user     {id:>7} {parent:>7}  0 00:00 ?        00:00:00 {name}\n"),
            (false, false) => format!("{id:>7} ?        00:00:00 {name}\n"),
        });
    }
    shell.out("ps", out.as_bytes()).await?;
    Ok(0)
}

/// Runs `pgrep` or `pkill`.
pub(super) async fn pgrep(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let given = options(shell, who, arguments, "flaxuncvio9s:", &[("full", 'f'), ("list-name", 'l')], 2).await?;
    let Some(pattern) = given.operands.first() else {
        return Err(usage(shell, who, "no matching criteria specified", 2).await);
    };
    let expression = crate::regular::posix(pattern, crate::regular::Syntax::Extended);
    let expression = if given.has('x') { format!("^(?:{expression})$") } else { expression };
    let regular = match crate::regular::Regular::new(&expression, crate::regular::Case::Sensitive) {
        Ok(regular) => regular,
        Err(why) => {
            shell.error(who, &why).await;
            return Ok(2);
        }
    };
    let mut found = 0;
    for (id, name) in processes(shell) {
        // A script does not find itself.
        if id == shell.shared.pid || !regular.is_match(name.as_bytes()) {
            continue;
        }
        found += 1;
        if who == "pkill" {
            shell.end_job(id);
        } else if !given.has('c') {
            let name = if given.has('l') || given.has('a') { format!(" {name}") } else { String::new() };
            shell.out(who, format!("{id}{name}\n").as_bytes()).await?;
        }
    }
    if given.has('c') {
        shell.out(who, format!("{found}\n").as_bytes()).await?;
    }
    Ok(i32::from(found == 0))
}

/// Runs `top`, as `-b` has it.
pub(super) async fn top(shell: &mut Shell, arguments: &[String]) -> Done {
    options(shell, "top", arguments, "bn:d:p:u:o:w:HiscS", &[], 1).await?;
    let rows = processes(shell);
    let time = jiff::fmt::strtime::format("%H:%M:%S", &super::date::zoned(shell.now())).unwrap_or_default();
    let seconds = shell.now().saturating_sub(shell.shared.started) / 1_000_000_000;
    let (used, free) = memory(shell);
    let mib = |bytes: u64| format!("{:.1}", bytes as f64 / f64::from(1 << 20));
    let mut out = format!(
        "top - {time} up {} min,  0 users,  load average: 0.00, 0.00, 0.00\n\
         Tasks: {:>3} total,   1 running, {:>3} sleeping,   0 stopped,   0 zombie\n\
         %Cpu(s):  0.0 us,  0.0 sy,  0.0 ni,100.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n\
         MiB Mem : {:>8} total, {:>8} free, {:>8} used,      0.0 buff/cache\n\
         MiB Swap:      0.0 total,      0.0 free,      0.0 used. {:>8} avail Mem\n\n\
         \u{20}   PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n",
        seconds / 60,
        rows.len(),
        rows.len() - 1,
        mib(MAX_MEMORY),
        mib(free),
        mib(used),
        mib(free),
    );
    for (id, name) in rows {
        let state = if id == shell.shared.pid { 'R' } else { 'S' };
        out.push_str(&format!("{id:>7} user      20   0       0      0      0 {state}   0.0   0.0   0:00.00 {name}\n"));
    }
    shell.out("top", out.as_bytes()).await?;
    Ok(0)
}

/// Memory of a script that is used, and that is left, in bytes.
fn memory(shell: &Shell) -> (u64, u64) {
    let used = shell.shared.used.memory().min(MAX_MEMORY);
    (used, MAX_MEMORY - used)
}

/// Runs `free`, which shows the memory that a script may use.
pub(super) async fn free(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("bytes", 'b'), ("kibi", 'k'), ("mebi", 'm'), ("gibi", 'g'), ("human", 'h'), ("total", 't')];
    let given = options(shell, "free", arguments, "bkmghtwls:c:", &long, 1).await?;
    let (used, free) = memory(shell);
    let shown = |bytes: u64| match given.last_of("bkmgh") {
        Some('b') => bytes.to_string(),
        Some('m') => (bytes >> 20).to_string(),
        Some('g') => (bytes >> 30).to_string(),
        Some('h') => match bytes {
            0 => "0B".to_owned(),
            bytes if bytes < 1 << 20 => format!("{}Ki", bytes >> 10),
            bytes => format!("{}Mi", bytes >> 20),
        },
        _ => (bytes >> 10).to_string(),
    };
    let mut out = "               total        used        free      shared  buff/cache   available\n".to_owned();
    let row = |name: &str, values: &[u64]| {
        let cells: String = values.iter().map(|value| format!("{:>12}", shown(*value))).collect();
        format!("{name:<8}{cells}\n")
    };
    out.push_str(&row("Mem:", &[MAX_MEMORY, used, free, 0, 0, free]));
    out.push_str(&row("Swap:", &[0, 0, 0]));
    if given.has('t') {
        out.push_str(&row("Total:", &[MAX_MEMORY, used, free]));
    }
    shell.out("free", out.as_bytes()).await?;
    Ok(0)
}

/// Runs `df`, which shows what the sandbox's files take of their quota.
pub(super) async fn df(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("human-readable", 'h'), ("inodes", 'i'), ("portability", 'P'), ("print-type", 'T'), ("all", 'a')];
    let given = options(shell, "df", arguments, "hikmPTaHt:x:B:l", &long, 1).await?;
    for name in &given.operands {
        if let Err(error) = shell.stat(name) {
            return Err(shell.fails("df", &format!("{name}: {}", crate::state::reason(&error))).await);
        }
    }
    let (quota, usage) = {
        let tree = lock(&shell.tree);
        (tree.quota(), tree.usage())
    };
    let inodes = given.has('i');
    let (total, used) = if inodes { (quota.count, usage.count) } else { (quota.bytes, usage.bytes) };
    let free = total.saturating_sub(used);
    let share = (used * 100).div_ceil(total.max(1));
    let shown = |value: u64| match given.last_of("hHkm") {
        _ if inodes => value.to_string(),
        Some('h' | 'H') => super::metadata::human(value),
        Some('m') => value.div_ceil(1 << 20).to_string(),
        _ => value.div_ceil(1 << 10).to_string(),
    };
    let titles = match (inodes, given.last_of("hHkm")) {
        (true, _) => ["Inodes", "IUsed", "IFree", "IUse%"],
        (false, Some('h' | 'H')) => ["Size", "Used", "Avail", "Use%"],
        (false, Some('m')) => ["1M-blocks", "Used", "Available", "Use%"],
        (false, _) => ["1K-blocks", "Used", "Available", "Use%"],
    };
    let kind = |text: &str| if given.has('T') { format!(" {text:<5}") } else { String::new() };
    let [size, taken, left, percent] = titles;
    let text = format!(
        "Filesystem    {} {size:>9} {taken:>8} {left:>9} {percent:>4} Mounted on\n\
         sandbox       {} {:>9} {:>8} {:>9} {share:>3}% /\n",
        kind("Type"),
        kind("tmpfs"),
        shown(total),
        shown(used),
        shown(free),
    );
    shell.out("df", text.as_bytes()).await?;
    Ok(0)
}
