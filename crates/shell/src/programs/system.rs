//! Programs that show what the sandbox has and uses: `top`, `free` and `df`.

use super::input::options;
use crate::bounds::MAX_MEMORY;
use crate::state::{Done, Shell};
use proofbox_vfs::lock;

/// Runs `top`, as `-b` has it.
pub(super) async fn top(shell: &mut Shell, arguments: &[String]) -> Done {
    options(shell, "top", arguments, "bn:d:p:u:o:w:HiscS", &[], 1).await?;
    let rows = shell.shared.processes.list();
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
    for process in rows {
        shell.step(1).await?;
        let (number, command) = (process.number, process.command());
        let state = if number == shell.process.number { 'R' } else { 'S' };
        let name = command.split_whitespace().next().unwrap_or_default();
        out.push_str(&format!(
            "{number:>7} user      20   0       0      0      0 {state}   0.0   0.0   0:00.00 {name}\n"
        ));
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
