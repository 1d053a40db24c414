//! Commands of a shell, told by the shape of their words: options, paths, pipes and redirections, and no words that
//! only sentences have.

/// Weight of what is a command for sure.
const SURE: usize = 3;
/// Longest command that is looked at, in words.
const MAX_WORDS: usize = 100;

/// Programs that are run from a shell, and whose names are no English words.
const PROGRAMS: &[&str] = &[
    "7z",
    "a2ensite",
    "adb",
    "alembic",
    "amixer",
    "ansible",
    "ansible-galaxy",
    "ansible-playbook",
    "apachectl",
    "apk",
    "apt",
    "apt-cache",
    "apt-get",
    "aptitude",
    "argocd",
    "arp",
    "awk",
    "aws",
    "az",
    "base64",
    "bash",
    "bazel",
    "bibtex",
    "black",
    "bluetoothctl",
    "brew",
    "buildah",
    "bun",
    "bundle",
    "bunzip2",
    "bzip2",
    "cabal",
    "cargo",
    "certbot",
    "certutil",
    "chgrp",
    "chmod",
    "chown",
    "chroot",
    "chsh",
    "clang",
    "cmake",
    "composer",
    "conda",
    "createdb",
    "crontab",
    "csh",
    "csplit",
    "ctags",
    "ctest",
    "curl",
    "deno",
    "df",
    "dig",
    "dmesg",
    "dnf",
    "docker",
    "docker-compose",
    "doctl",
    "dotnet",
    "dpkg",
    "dpkg-reconfigure",
    "dropdb",
    "du",
    "egrep",
    "eksctl",
    "emacs",
    "esbuild",
    "eslint",
    "exiftool",
    "eza",
    "fdisk",
    "ffmpeg",
    "ffplay",
    "ffprobe",
    "fgrep",
    "flake8",
    "flatpak",
    "flutter",
    "flyctl",
    "fsck",
    "fuser",
    "fzf",
    "g++",
    "gawk",
    "gcc",
    "gcloud",
    "gdb",
    "gem",
    "getent",
    "getfacl",
    "gh",
    "ghc",
    "ghci",
    "git",
    "glab",
    "gofmt",
    "gpg",
    "gradle",
    "grep",
    "gs",
    "gsettings",
    "gsutil",
    "gunicorn",
    "gunzip",
    "gzip",
    "helm",
    "heroku",
    "hostnamectl",
    "htop",
    "hugo",
    "iex",
    "ifconfig",
    "iostat",
    "ip",
    "iptables",
    "isort",
    "istioctl",
    "iwconfig",
    "java",
    "javac",
    "jekyll",
    "journalctl",
    "jq",
    "jupyter",
    "k9s",
    "kinit",
    "kotlinc",
    "kubectl",
    "kustomize",
    "latexmk",
    "ldd",
    "lein",
    "lerna",
    "ln",
    "locate",
    "loginctl",
    "logrotate",
    "losetup",
    "lpr",
    "ls",
    "lsb_release",
    "lsblk",
    "lscpu",
    "lsmod",
    "lsof",
    "lspci",
    "lsusb",
    "lua",
    "lvcreate",
    "lvextend",
    "md5sum",
    "mdadm",
    "meson",
    "minikube",
    "mkdir",
    "mkdocs",
    "mkfifo",
    "mkfs",
    "mkswap",
    "mktemp",
    "modprobe",
    "mongodump",
    "mongorestore",
    "mongosh",
    "mpv",
    "mtr",
    "mvn",
    "mypy",
    "mysql",
    "mysqladmin",
    "mysqldump",
    "nano",
    "nbtstat",
    "nc",
    "nerdctl",
    "netlify",
    "netstat",
    "nft",
    "ng",
    "nginx",
    "nim",
    "nimble",
    "nmap",
    "nmcli",
    "node",
    "nohup",
    "npm",
    "nproc",
    "npx",
    "nslookup",
    "numfmt",
    "nvidia-smi",
    "nvm",
    "nx",
    "objdump",
    "od",
    "ollama",
    "opam",
    "openssl",
    "pacman",
    "pactl",
    "pandoc",
    "parted",
    "passwd",
    "pdflatex",
    "pdftotext",
    "perl",
    "pg_dump",
    "pg_restore",
    "pgrep",
    "php",
    "ping",
    "pip",
    "pip3",
    "pipenv",
    "pipx",
    "pkg-config",
    "pkill",
    "pm2",
    "pnpm",
    "podman",
    "poetry",
    "pr",
    "pre-commit",
    "protoc",
    "ps",
    "psql",
    "pstree",
    "pulumi",
    "pwd",
    "pyenv",
    "pylint",
    "pyright",
    "pytest",
    "python",
    "python3",
    "qemu-img",
    "qpdf",
    "rabbitmqctl",
    "rails",
    "rake",
    "rbenv",
    "rclone",
    "readelf",
    "readlink",
    "realpath",
    "redis-cli",
    "renice",
    "resolvectl",
    "rev",
    "rfkill",
    "rg",
    "rm",
    "rmdir",
    "rpm",
    "rspec",
    "rsync",
    "rubocop",
    "ruff",
    "rustc",
    "rustup",
    "rvm",
    "samtools",
    "sbt",
    "scalac",
    "scp",
    "sed",
    "setfacl",
    "sftp",
    "sh",
    "sha1sum",
    "sha256sum",
    "shellcheck",
    "shuf",
    "shutdown",
    "skopeo",
    "smartctl",
    "sphinx-build",
    "sqlite3",
    "ss",
    "ssh",
    "ssh-copy-id",
    "ssh-keygen",
    "ssh-keyscan",
    "sshfs",
    "strace",
    "sudo",
    "swapoff",
    "swapon",
    "swiftc",
    "sysctl",
    "systemctl",
    "systemd-analyze",
    "tac",
    "tar",
    "tcpdump",
    "telnet",
    "terraform",
    "timedatectl",
    "tmux",
    "tox",
    "traceroute",
    "ts-node",
    "tsc",
    "udevadm",
    "ufw",
    "umount",
    "uname",
    "unxz",
    "unzip",
    "updatedb",
    "useradd",
    "usermod",
    "uv",
    "uvicorn",
    "uvx",
    "vagrant",
    "valgrind",
    "vercel",
    "vim",
    "virtualenv",
    "visudo",
    "vite",
    "vitest",
    "vmstat",
    "wc",
    "webpack",
    "wget",
    "whoami",
    "whois",
    "wrangler",
    "xargs",
    "xclip",
    "xcodebuild",
    "xcrun",
    "xelatex",
    "xrandr",
    "xxd",
    "xz",
    "yarn",
    "yq",
    "yt-dlp",
    "yum",
    "zcat",
    "zgrep",
    "zig",
    "zip",
    "zsh",
    "zstd",
    "zypper",
];

/// Programs whose names are English words as well.
const WORDLIKE: &[&str] = &[
    "alias", "at", "basename", "bat", "bc", "cal", "cat", "cd", "column", "comm", "convert", "cp", "cut", "date", "dd",
    "diff", "dirname", "echo", "env", "exec", "expand", "export", "fd", "file", "find", "firebase", "flask", "fold",
    "free", "go", "groups", "head", "history", "host", "http", "id", "install", "join", "kill", "killall", "last",
    "less", "link", "magick", "make", "man", "more", "mount", "mv", "nice", "nl", "parallel", "paste", "patch",
    "printf", "r", "read", "rename", "ruby", "screen", "seq", "service", "sleep", "snap", "sort", "source", "split",
    "stat", "strings", "su", "swift", "tail", "tee", "test", "time", "top", "touch", "tr", "tree", "truncate", "type",
    "uniq", "unset", "uptime", "users", "wait", "watch", "which", "who", "yes",
];

/// Programs that run a program in another language: what follows them is a file or an option.
const INTERPRETERS: &[&str] = &["bash", "java", "lua", "node", "perl", "php", "python", "python3", "sh", "zsh"];

/// First words of statements and sentences, which may have something like an option behind them.
const OTHER_WORDS: &[&str] = &[
    "add", "and", "assert", "await", "but", "call", "case", "class", "const", "def", "default", "del", "elif", "else",
    "enum", "except", "for", "from", "fun", "func", "function", "global", "if", "import", "in", "let", "like", "local",
    "match", "my", "new", "not", "note", "or", "pass", "print", "private", "public", "puts", "raise", "return", "run",
    "see", "select", "set", "static", "struct", "then", "throw", "try", "type", "use", "using", "val", "var", "via",
    "while", "with", "yield",
];

/// Words that sentences have and commands, outside quotes, have not.
const FUNCTION_WORDS: &[&str] = &[
    "about", "after", "also", "an", "are", "be", "because", "been", "before", "between", "but", "by", "can", "cannot",
    "could", "does", "each", "has", "have", "he", "how", "instead", "is", "it", "its", "may", "might", "must", "my",
    "of", "our", "over", "she", "should", "so", "some", "such", "than", "that", "the", "their", "them", "there",
    "these", "they", "this", "those", "through", "to", "uses", "very", "was", "we", "were", "what", "when", "whether",
    "which", "will", "with", "would", "you", "your",
];

fn is_in(sorted: &[&str], word: &str) -> bool {
    sorted.binary_search(&word).is_ok()
}

/// Returns whether a word is one that only sentences have.
pub(crate) fn is_function_word(word: &str) -> bool {
    is_in(FUNCTION_WORDS, word)
}

/// Surroundings of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// Below a line that announces it.
    Introduced,
    /// At the start of a paragraph, or below another command.
    Apart,
    /// Below a line of a paragraph.
    Within,
}

/// Numbers of words of each kind in a command.
#[derive(Default)]
struct Words {
    /// Options, expansions, and redirections.
    marks: usize,
    /// Paths, addresses, assignments and quoted texts.
    operands: usize,
    /// Numbers, names with marks in them.
    names: usize,
    plain: usize,
    /// Programs that are known, behind a pipe or an operator.
    further: usize,
}

/// Returns the weight of a line as evidence of a shell.
pub(crate) fn weight(line: &str, position: Position) -> usize {
    let text = line.trim();
    let text = text.strip_prefix("$ ").unwrap_or(text);
    if text.ends_with(':') || (text.ends_with(['.', ',', '!', '?']) && !text.ends_with(" .") && !text.ends_with("/.")) {
        return 0;
    }
    let Some(words) = split(text) else { return 0 };
    let is_setting =
        |word: &&str| word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(is_upper_name));
    let mut rest = words.iter().copied().skip_while(is_setting);
    let is_set = words.first().is_some_and(is_setting);
    let Some(mut head) = rest.next() else { return 0 };
    let is_root = matches!(head, "sudo" | "nohup" | "time");
    if is_root && let Some(next) = rest.next() {
        head = next;
    }
    let is_compound = matches!(head, "if" | "for" | "while" | "until")
        && words.iter().any(|word| matches!(*word, "then" | "do"))
        && words.iter().any(|word| word.ends_with(';'));
    if is_compound && (words.contains(&"[") || words.contains(&"[[") || matches!(head, "for" | "while" | "until")) {
        return SURE;
    }
    let is_path = ["./", "../", "~/", "/", "$"].iter().any(|start| head.starts_with(start))
        || head.ends_with(".sh") && !head.starts_with('.');
    if !is_path && !is_program_name(head) || head.len() < 2 && head != "w" {
        return 0;
    }
    let Some(counts) = count(rest) else { return 0 };
    let Words { marks, operands, names, plain, further } = counts;
    if operands + names + marks + plain + further == 0 {
        // Nothing but a name.
        return if (is_root && is_in(PROGRAMS, head)) || (is_set && is_path) { SURE } else { 0 };
    }
    let is_apart = position != Position::Within;
    let is_certain = if is_in(PROGRAMS, head) || is_path && head.len() > 2 && head.contains(char::is_alphabetic) {
        let most = if is_apart { 6 } else { 3 };
        let has_shape = marks + operands + further > 0 || names > 0 && plain <= 2;
        let has_command = plain > 0 && plain <= 3 && is_apart && !is_in(INTERPRETERS, head) && !is_path;
        (has_shape && plain <= most) || has_command
    } else if is_in(WORDLIKE, head) {
        (marks + further > 0 && plain <= 3) || (operands > 0 && plain <= 2 && is_apart)
    } else if is_in(OTHER_WORDS, head) {
        false
    } else {
        is_apart
            && plain <= 3
            && (marks + further > 0 || (operands > 0 && plain <= 1 && position == Position::Introduced))
    };
    if is_certain || (is_set || is_root) && marks + operands + names > 0 { SURE } else { 0 }
}

fn is_upper_name(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'
}

fn is_program_name(word: &str) -> bool {
    let is_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'.' | b'+');
    word.starts_with(|char: char| char.is_ascii_lowercase() || char == '7')
        && word.bytes().all(is_name)
        && !word.ends_with('.')
}

/// Counts the words behind the name of a program; none where one of them is in no command.
fn count<'a>(words: impl Iterator<Item = &'a str>) -> Option<Words> {
    let mut counts = Words::default();
    let (mut is_head, mut is_target) = (false, false);
    for word in words {
        if word.starts_with('#') {
            break;
        }
        if is_head {
            is_head = false;
            let name = word.trim_end_matches(';');
            let is_known = is_in(PROGRAMS, name) || is_in(WORDLIKE, name) || name.starts_with("./");
            if is_known {
                counts.further += 1;
                continue;
            }
            if !is_program_name(name) {
                return None;
            }
        }
        match word {
            "|" | "||" | "&&" | ";" => {
                is_head = true;
                continue;
            }
            // Comparisons are written so as well.
            ">" | "<" => {
                is_target = true;
                continue;
            }
            "&" | "\\" | "{}" | "+" | "[" | "]" | "-" | "--" => continue,
            "=" | "==" | "!=" | "+=" | "-=" | ":=" | "=>" | "->" | "<-" | "<=" | ">=" | "::" | "*" | "%" => {
                counts.names += usize::from(word == "*");
                if word != "*" {
                    return None;
                }
                continue;
            }
            _ => {}
        }
        let bare = word.trim_end_matches(';');
        is_head = bare.len() < word.len();
        let is_target = std::mem::take(&mut is_target);
        if bare.ends_with([',', ':', '!']) && !bare.starts_with('-') {
            return None;
        }
        if is_option(bare) || is_expansion(bare) || is_redirection(bare) {
            counts.marks += 1;
        } else if is_operand(bare) {
            counts.operands += 1;
            counts.marks += usize::from(is_target);
        } else if bare.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            if is_function_word(bare) {
                return None;
            }
            // Names of things have capitals within.
            if bare.bytes().skip(1).any(|byte| byte.is_ascii_uppercase()) {
                counts.names += 1;
            } else {
                counts.plain += 1;
            }
        } else if bare.is_ascii() {
            counts.names += 1;
        } else {
            return None;
        }
    }
    Some(counts)
}

fn is_option(word: &str) -> bool {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-')).unwrap_or("");
    let name = name.split(['=', ':', ',', '.', '/']).next().unwrap_or("");
    word.starts_with('-')
        && name.starts_with(|char: char| char.is_ascii_alphanumeric())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'"' | b'\'' | b'$' | b'{' | b'}'))
        && !name.bytes().all(|byte| byte.is_ascii_digit() && word.len() > 3)
}

fn is_expansion(word: &str) -> bool {
    word.as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'$' && (pair[1].is_ascii_alphabetic() || matches!(pair[1], b'_' | b'(' | b'{' | b'@')))
        || word.starts_with("<(")
}

fn is_redirection(word: &str) -> bool {
    let rest = word.trim_start_matches(['1', '2', '&']);
    (rest.starts_with('>') && rest.len() < word.len())
        || rest.starts_with(">>")
        || ((rest.starts_with('>') || rest.starts_with('<')) && rest.len() > 2 && !rest.ends_with('>'))
}

fn is_operand(word: &str) -> bool {
    let is_path =
        ["/", "./", "../", "~/", "\"", "'", "`"].iter().any(|start| word.starts_with(start)) && word.len() > 1;
    let has_type = word.rsplit_once('.').is_some_and(|(stem, kind)| {
        !stem.is_empty()
            && (1..=5).contains(&kind.len())
            && kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            && kind.bytes().any(|byte| byte.is_ascii_lowercase())
    });
    let is_assignment = word.split_once('=').is_some_and(|(name, value)| {
        !value.is_empty()
            && name.starts_with(|char: char| char.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
    });
    let has_glob = word.len() > 1 && word.contains('*') && !word.contains("**") || word == ".";
    is_path
        || word == "/"
        || has_type
        || is_assignment
        || has_glob
        || word.contains("://")
        || word.matches('/').count() > 1
        || (word.matches('.').count() > 1 && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.'))
        || word.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty())
}

/// Cuts a command into its words: white space in quotes and in substitutions is within a word. None where a quote or a
/// bracket is not closed, as in sentences with an apostrophe.
fn split(text: &str) -> Option<Vec<&str>> {
    let mut words = Vec::new();
    let mut start = None;
    let (mut quote, mut depth, mut is_escaped, mut previous) = (None, 0_usize, false, ' ');
    for (index, char) in text.char_indices() {
        let is_space = char.is_whitespace() && quote.is_none() && depth == 0 && !is_escaped;
        if is_space {
            if let Some(start) = start.take() {
                words.push(&text[start..index]);
                if words.len() == MAX_WORDS {
                    return Some(words);
                }
            }
            previous = char;
            continue;
        }
        start = start.or(Some(index));
        match (char, quote) {
            _ if is_escaped => is_escaped = false,
            ('\\', quote) if quote != Some('\'') => is_escaped = true,
            (char, Some(open)) if char == open => quote = None,
            (_, Some(_)) => {}
            ('\'' | '"' | '`', None) => quote = Some(char),
            ('(', None) if matches!(previous, '$' | '<' | '>' | '(') && (depth > 0 || previous != '(') => depth += 1,
            ('(', None) if depth > 0 => depth += 1,
            ('(', None) => return None,
            (')', None) if depth == 0 => return None,
            (')', None) => depth -= 1,
            _ => {}
        }
        previous = char;
    }
    if quote.is_some() || depth > 0 {
        return None;
    }
    words.extend(start.map(|start| &text[start..]));
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted() {
        for list in [FUNCTION_WORDS, PROGRAMS, WORDLIKE, OTHER_WORDS, INTERPRETERS] {
            assert!(list.is_sorted());
        }
    }

    #[test]
    fn commands_are_recognised_by_their_shape() {
        for line in [
            "lsof -i :3000",
            "du -sh * | sort -h",
            "pandoc report.md -o report.pdf",
            "kill -9 $(pgrep -f runaway)",
            "diff <(sort a.txt) <(sort b.txt)",
            "sudo reboot -f",
            "terraform plan",
            "PORT=80 ./serve.sh",
            "frobnicate --all",
            "if [ ! -d a ]; then mkdir a; fi",
        ] {
            assert_eq!(weight(line, Position::Apart), SURE, "{line}");
        }
    }

    #[test]
    fn sentences_are_no_commands() {
        for line in [
            "git is a tool",
            "grep -r searches the folders below",
            "don't use -f",
            "make sure",
            "find the longest word",
            "python developer",
            "x = 5 -y",
            "add --force",
            "either/or",
            "see src/main.rs",
            "cat and dog",
            "return -x",
            "apples > oranges",
            "null >= 0",
            "npm ERR! code 1",
        ] {
            assert_eq!(weight(line, Position::Apart), 0, "{line}");
        }
    }
}
