//! Languages: what tags declare, and what other languages than Python look like.

use std::sync::LazyLock;

use proofbox_types::completion::BlockContent;
use regex::Regex;
use regex::bytes::{RegexSet, RegexSetBuilder};

use super::bare::{self, is_prose};
use super::python::{self, Evidence};

/// Canonical name of Python.
pub(crate) const PYTHON: &str = "python";

/// Nature of what a tag declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature<'a> {
    Python,
    /// Another language, by its canonical name.
    Code(&'a str),
    /// Session of a shell, with prompts and output.
    Console,
    /// Data of a format.
    Data(&'a str),
    /// Nothing, or no more than "text": the content decides.
    Unknown,
    /// Tag that is not in the list.
    Other(&'a str),
}

/// Other names of languages, and the canonical one.
const ALIASES: &[(&str, &str)] = &[
    ("js", "javascript"),
    ("jsx", "javascript"),
    ("node", "javascript"),
    ("mjs", "javascript"),
    ("ts", "typescript"),
    ("tsx", "typescript"),
    ("sh", "shell"),
    ("bash", "shell"),
    ("zsh", "shell"),
    ("fish", "shell"),
    ("shellscript", "shell"),
    ("c++", "cpp"),
    ("cc", "cpp"),
    ("cxx", "cpp"),
    ("h", "c"),
    ("hpp", "cpp"),
    ("c#", "csharp"),
    ("cs", "csharp"),
    ("golang", "go"),
    ("rs", "rust"),
    ("rb", "ruby"),
    ("kt", "kotlin"),
    ("hs", "haskell"),
    ("ps1", "powershell"),
    ("ps", "powershell"),
    ("pwsh", "powershell"),
    ("docker", "dockerfile"),
    ("make", "makefile"),
    ("patch", "diff"),
    ("mysql", "sql"),
    ("postgresql", "sql"),
    ("postgres", "sql"),
    ("sqlite", "sql"),
    ("plsql", "sql"),
    ("tsql", "sql"),
    ("htm", "html"),
    ("xhtml", "html"),
    ("bat", "batch"),
    ("cmd", "batch"),
    ("vb", "visualbasic"),
    ("f#", "fsharp"),
    ("objc", "objective-c"),
    ("assembly", "asm"),
    ("nasm", "asm"),
    ("tf", "terraform"),
    ("hcl", "terraform"),
];

/// Languages by their canonical names.
const LANGUAGES: &[&str] = &[
    "javascript",
    "typescript",
    "shell",
    "c",
    "cpp",
    "csharp",
    "java",
    "go",
    "rust",
    "ruby",
    "kotlin",
    "swift",
    "php",
    "perl",
    "r",
    "julia",
    "scala",
    "haskell",
    "lua",
    "dart",
    "elixir",
    "erlang",
    "clojure",
    "lisp",
    "scheme",
    "ocaml",
    "fsharp",
    "fortran",
    "cobol",
    "pascal",
    "ada",
    "prolog",
    "matlab",
    "octave",
    "groovy",
    "visualbasic",
    "vba",
    "asm",
    "objective-c",
    "sql",
    "graphql",
    "html",
    "css",
    "scss",
    "sass",
    "less",
    "vue",
    "svelte",
    "powershell",
    "batch",
    "dockerfile",
    "makefile",
    "cmake",
    "terraform",
    "nix",
    "zig",
    "nim",
    "crystal",
    "solidity",
    "verilog",
    "vhdl",
    "wasm",
    "wat",
    "glsl",
    "cuda",
    "cython",
    "awk",
    "sed",
    "vim",
    "tcl",
    "diff",
    "jq",
    "cypher",
    "proto",
    "lean",
    "coq",
];

/// Formats of data, and words for output and prose.
const DATA: &[&str] = &[
    "json",
    "jsonl",
    "json5",
    "jsonc",
    "ndjson",
    "yaml",
    "yml",
    "toml",
    "ini",
    "cfg",
    "conf",
    "csv",
    "tsv",
    "xml",
    "svg",
    "env",
    "dotenv",
    "properties",
    "markdown",
    "md",
    "rst",
    "latex",
    "tex",
    "math",
    "katex",
    "mermaid",
    "plantuml",
    "graphviz",
    "dot",
    "bibtex",
    "http",
    "log",
    "output",
    "out",
    "stdout",
    "stderr",
    "tool_call",
    "tool_calls",
    "tool_response",
    "tool_output",
    "tool_outputs",
    "result",
    "results",
    "quote",
    "regex",
    "regexp",
    "bnf",
    "ebnf",
];

/// Tags without a meaning.
const UNKNOWN: &[&str] =
    &["text", "txt", "plain", "plaintext", "none", "code", "example", "input", "pseudocode", "snippet"];

/// Returns what a tag declares.
pub(crate) fn nature(tag: &str) -> Nature<'_> {
    /// Longest tag of the lists, in bytes.
    const LONGEST: usize = 24;
    if tag.is_empty() || tag.len() > LONGEST {
        return Nature::Unknown;
    }
    let word = tag.to_ascii_lowercase();
    let word = word.as_str();
    match word {
        "python" | "py" | "python3" | "py3" | "python2" | "ipython" | "ipython3" | "pycon" | "python-repl"
        | "pyrepl" | "tool_code" => return Nature::Python,
        "console" | "terminal" | "shell-session" | "shellsession" | "session" => return Nature::Console,
        _ => {}
    }
    let canonical = ALIASES.iter().find(|(alias, _)| *alias == word).map_or(word, |(_, name)| name);
    if let Some(name) = LANGUAGES.iter().find(|name| **name == canonical) {
        return Nature::Code(name);
    }
    if let Some(name) = DATA.iter().find(|name| **name == word) {
        return Nature::Data(name);
    }
    if UNKNOWN.contains(&word) { Nature::Unknown } else { Nature::Other(tag) }
}

/// Returns whether a tag is the name of a language or format.
pub(crate) fn is_known(tag: &str) -> bool {
    matches!(nature(tag), Nature::Python | Nature::Code(_) | Nature::Console | Nature::Data(_))
}

/// Judges a marked block: its content, its language, and its code.
pub(crate) fn judge(nature: Nature<'_>, code: String) -> (BlockContent, Option<String>, String) {
    let named = |name: &str| Some(name.to_ascii_lowercase());
    match nature {
        Nature::Python => {
            if is_installation(&code) {
                return (BlockContent::Code, named("shell"), code);
            }
            match python::judge_declared(&code) {
                BlockContent::Transcript => (BlockContent::Transcript, named(PYTHON), bare::code_of_transcript(&code)),
                content => (content, named(PYTHON), code),
            }
        }
        Nature::Code(name) => (judge_other(&code), named(name), code),
        Nature::Data(name) => (BlockContent::Data, named(name), code),
        Nature::Console => {
            if bare::is_transcript(&code) {
                return (BlockContent::Transcript, named(PYTHON), bare::code_of_transcript(&code));
            }
            match recognise(&code.lines().collect::<Vec<_>>()) {
                Some(found) => (BlockContent::Code, named(found.language), code),
                None => (BlockContent::Data, named("console"), code),
            }
        }
        Nature::Unknown | Nature::Other(_) => {
            let (content, language, code) = bare::judge_unlabelled(code);
            match nature {
                // A language that nobody here has heard of.
                Nature::Other(tag) if content == BlockContent::Data => (judge_other(&code), named(tag), code),
                _ => (content, language, code),
            }
        }
    }
}

fn judge_other(code: &str) -> BlockContent {
    let mut lines = code.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    if lines.peek().is_none() || !code.contains(char::is_alphanumeric) {
        return BlockContent::Empty;
    }
    BlockContent::Code
}

/// Returns whether every line installs packages, which people write into blocks of Python.
fn is_installation(code: &str) -> bool {
    static LINE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\s*[!%$]?\s*(python3? -m )?(pip3?|conda|uv|poetry) (install|add|pip install)\b")
            .expect("the pattern is a constant")
    });
    let mut lines =
        code.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')).peekable();
    lines.peek().is_some() && lines.all(|line| LINE.is_match(line))
}

/// Text in another language than Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recognised {
    pub language: &'static str,
    pub weight: usize,
    /// First and last line that is evidence.
    pub lines: (usize, usize),
}

/// Patterns of lines: language, weight, pattern.
const PATTERNS: &[(&str, usize, &str)] = &[
    ("diff", 4, r"^diff --git "),
    ("diff", 4, r"^@@ -\d+(,\d+)? \+\d+(,\d+)? @@"),
    ("diff", 1, r"^(---|\+\+\+) [\w./]"),
    (
        "sql",
        3,
        r"^(SELECT\b.*|INSERT\s+INTO\s.+|UPDATE\s+\S+\s+SET\s.+|DELETE\s+FROM\s.+|ALTER\s+TABLE\s.+|DROP\s+(TABLE|INDEX|VIEW)\s.+|CREATE\s+(OR\s+REPLACE\s+)?(UNIQUE\s+)?(TEMP\s+)?(TABLE|INDEX|VIEW|DATABASE|FUNCTION|TRIGGER)\s.+|WITH\s+\w+\s+AS\s*\(.*)$",
    ),
    (
        "sql",
        1,
        r"^\s*(FROM|WHERE|GROUP BY|ORDER BY|HAVING|LIMIT|((LEFT|RIGHT|INNER|OUTER|FULL|CROSS)\s+)?JOIN|UNION|VALUES|SET|ON)\b",
    ),
    (
        "sql",
        3,
        r"^(?i)(select\s.+\sfrom\s+\w+.*|insert\s+into\s+\w+.*\svalues\b.*|delete\s+from\s+\w+.*|update\s+\w+\s+set\s+\w+\s*=.*|create\s+table\s+\w+.*);$",
    ),
    ("shell", 3, r"^#!\s*/(usr/)?bin/(env\s+)?(ba|z|da|k)?sh\b"),
    ("shell", 3, r"^\$ [\w./~-]"),
    (
        "shell",
        3,
        r"^(sudo\s+)?(pip3?|pipx|conda|uv|poetry|npm|npx|yarn|pnpm|apt|apt-get|brew|yum|dnf|apk|gem|cargo|go|rustup|snap) (install|uninstall|add|remove|update|upgrade|run|ci|init|build|test|sync|list|freeze|mod|get|publish)\b(\s+[\w@./:=~><\[\]'$-]+)*\s*(&&.*|\|.*|#.*)?$",
    ),
    (
        "shell",
        3,
        r"^git (clone|add|commit|push|pull|checkout|switch|branch|merge|rebase|status|log|diff|init|fetch|stash|reset|remote|tag|config|show|restore)\b[^,]*[^.,:;!?]$",
    ),
    ("shell", 2, r"^git (status|init|pull|push|log|stash|diff|fetch)$"),
    ("shell", 3, r"^(docker|docker-compose|kubectl|helm|terraform|systemctl|aws|gcloud|az) [a-z][\w-]*(\s+[^\s,]+)*$"),
    (
        "shell",
        3,
        r"^(curl|wget|ssh|scp|rsync|tar|chmod|chown|grep|sed|awk|find|xargs|ls|rm|cp|mv|mkdir|touch|head|tail|sort|wc|kill|ps|df|du|cat|psql|mysql|sqlite3|redis-cli|ffmpeg|openssl|nc|ping|dig|lsof|netstat|ss|journalctl|crontab|zip|unzip|gzip|nohup|gcc|g\+\+|clang|cmake|javac|rustc|dotnet|mvn|gradle|mypy|ruff|black|tox|virtualenv|ffprobe|ln|export|tee|env|make|nmap|iptables|mount|cut|tr|uniq|diff|patch|go|cargo|npx|pip|pip3|perl|jq) (-[\w-]+|[+./~$'\x22]\S*|\S+/\S+|https?://\S+|\w+@\S+|\S+\.\w{1,5})(\s.*([^.,]|\s\.)|\s*)$",
    ),
    ("shell", 2, r"^(cd|mkdir|touch|source|cat|export|unset|rm|mv|cp) [~./\w$=-]+(\s+[~./\w$-]+)?$"),
    ("shell", 2, r#"^(echo|printf) ["'$]"#),
    (
        "shell",
        3,
        r"^[a-z][\w.-]*(\s[^|]+)?\s\|\s*(grep|awk|sed|sort|uniq|wc|head|tail|xargs|jq|tee|less|cut|tr|bash|sh|column)\b.*$",
    ),
    (
        "shell",
        3,
        r"^[a-z./][\w./-]*\s.*\s&&\s+(\./|(cd|sudo|source|make|python3?|npm|git|docker|rm|mv|cp|echo)\s)\S.*$",
    ),
    (
        "shell",
        3,
        r"^(sudo\s+)?(git|docker|kubectl|helm|aws|gcloud|az|openssl|ssh-keygen|gpg|npm|npx|yarn|pip3?|conda|cargo|go|dotnet|mvn|make|cmake|gcc|clang|curl|wget|tar|find|grep|sed|awk|ls|cp|mv|rm|ps|kill|systemctl|journalctl|apt|apt-get|yum|dnf|brew|psql|mysql|sqlite3|redis-cli|mongosh|ffmpeg|convert|nmap|ping|dig|lsof|ss|netstat|iptables|ansible|ansible-playbook|vagrant|terraform|jupyter|pytest|black|ruff|mypy|uvicorn|gunicorn|celery|flask|node|deno|bun|ruby|php|java|javac|rustc|du|df|sort|cut|head|tail|wc|xargs|tee|chmod|chown|useradd|usermod|crontab|screen|tmux|nohup|watch|zip|unzip|perf|strace|gdb|valgrind|adb|flutter|firebase|heroku|vercel|gh|hg|svn)\s(.*\s)?--?[A-Za-z][\w-]*([=\s].*)?$",
    ),
    ("css", 3, r"^@(media|keyframes|font-face|supports|layer|container)\b.*\{\s*$"),
    ("shell", 3, r"^export [A-Z_]\w*=\S"),
    (
        "shell",
        3,
        r"^(sudo\s+)?(python3?|node|bash|sh|java|ruby|perl|php|deno|bun|uvicorn|flask|pytest|jupyter|gunicorn) (-m\s+\S+|-c\s+.+|--?[a-z][\w-]*.*|run|notebook|\S+\.\w{1,4}|\w+:\w+)(\s.*)?$",
    ),
    ("shell", 3, r"^sudo [a-z][\w-]+\s"),
    ("shell", 1, r"^(set -\w+|fi|done|esac|then|do|make( [\w-]+)?|ls|pwd|cd)$"),
    ("shell", 3, r"^(if \[\[? .+ \]\]?; then|for \w+ in .+; do( .*; done)?|while .+; do( .*; done)?)$"),
    ("html", 4, r"^(?i)<!doctype html"),
    (
        "html",
        2,
        r"^\s*</?(?i:html|head|body|div|span|ul|ol|li|p|a|h[1-6]|table|tr|td|th|form|input|button|img|nav|section|article|header|footer|main|script|style|link|meta|label|select|option|textarea|canvas|video|br|hr)(\s[^<>]*)?/?>",
    ),
    ("php", 4, r"^<\?php"),
    ("css", 3, r"^[.#]?[a-zA-Z][\w.#:> -]*\s*\{\s*([a-z-]+\s*:[^;{}]+;\s*)*\}?\s*$"),
    ("c", 4, r#"^#\s*include\s*[<"][\w./]+[>"]"#),
    ("c", 2, r"^#\s*(define|ifdef|ifndef|endif|pragma)\b"),
    (
        "c",
        3,
        r"^\s*(static\s+|const\s+|unsigned\s+|inline\s+)*(int|void|char|float|double|long|bool|size_t|struct \w+)\s*\*?\s*\w+\s*\([^()]*\)\s*[{;]?\s*$",
    ),
    (
        "c",
        2,
        r"^\s*(static\s+|const\s+|unsigned\s+)*(int|char|float|double|long|bool|size_t|auto|string)\s+\*?\w+(\[\w*\])?\s*(=.*|,.*)?;\s*(//.*)?$",
    ),
    ("c", 3, r"^\s*(printf|scanf|fprintf|malloc|free)\(.*\);$"),
    (
        "cpp",
        4,
        r"^\s*(using namespace \w+;|(std::)?(cout|cerr)\s*<<|(std::)?cin\s*>>|template\s*<|std::\w+|vector<\w+>|.*\bstd::(cout|vector|string|map)\b)",
    ),
    (
        "java",
        4,
        r"^\s*(public|private|protected)\s+(static\s+|final\s+|abstract\s+|synchronized\s+|override\s+|async\s+)*(class|interface|enum|void|[A-Za-z]\w*(<[^>]*>)?(\[\])?)\s+\w+",
    ),
    ("java", 4, r"^\s*(System\.(out|err)\.print|import java[x]?\.|package [\w.]+;)"),
    ("csharp", 4, r"^\s*(Console\.(Write|Read)|using System|namespace [\w.]+\s*[;{]?$)"),
    // Methods have capitals.
    ("csharp", 4, r"^\s*((public|private|protected|internal|static|async)\s+)+[\w<>\[\]?]+\s+[A-Z]\w*\s*\("),
    ("csharp", 4, r"^\s*foreach\s*\(\s*[\w<>\[\]]+\s+\w+\s+in\b"),
    (
        "csharp",
        4,
        r"^\s*((public|private|protected|internal|static)\s+)+[\w<>\[\]?]+\s+\w+(<\w+>)?\s*(\([^()]*\)\s*=>|\{\s*get\b)",
    ),
    ("csharp", 3, r"^\s*((public|internal|static|sealed)\s+)*(record|struct)\s+[A-Z]\w*\s*(\(.*\);|\{)?\s*$"),
    (
        "csharp",
        4,
        r"^\s*[\w<>\[\]?, ]+\s+\w+\s*=\s*(await\s.*\w+Async\(.*|.*\.(Where|Select|OrderBy|ToList|ToArray|Sum)\(.*);$",
    ),
    ("csharp", 4, r"^\s*var\s+\w+\s*=\s*new\s+\w+<[\w, ]+>.*;$"),
    ("javascript", 3, r"^\s*(const|let|var)\s+[\w$\[{][^=]*=.*"),
    ("javascript", 3, r"^\s*(export\s+)?(default\s+)?(async\s+)?function\b\s*\*?\s*\w*\s*\("),
    (
        "javascript",
        3,
        r#"^\s*(import\s.+\sfrom\s+["']|export\s+(default|const|let|class|interface|type|enum)\b|module\.exports\b|const\s.+require\()"#,
    ),
    ("javascript", 2, r"^\s*(console\.(log|error|warn)\(|document\.\w+|window\.\w+\()"),
    ("javascript", 2, r"^\s*(.*\)\s*=>\s*[{(\w].*|.*\}\);?)$"),
    ("javascript", 3, r"\.(then|map|filter|forEach|reduce|catch|addEventListener)\(.*=>.*\);?$"),
    ("typescript", 2, r"^\s*(readonly\s+)?\w+\??:\s*(string|number|boolean|any|void|unknown)(\[\])?\s*[;,]?$"),
    ("typescript", 3, r"^\s*(export\s+)?(interface|type)\s+\w+\s*(=|\{)"),
    ("rust", 4, r"^\s*(pub\s+)?(async\s+|unsafe\s+)?fn\s+\w+\s*(<[^>]*>)?\("),
    (
        "rust",
        4,
        r"^\s*(use\s+(std|crate|super|self|\w+)::|impl\b.*\{|#\[\w+|let\s+mut\s+\w+|println!\(|(pub\s+)?(struct|enum|trait|mod)\s+\w+.*\{)",
    ),
    ("go", 4, r"^(package \w+|func\s+(\(\w+\s+\*?\w+\)\s*)?\w+\(.*\{|import\s*\()\s*$"),
    ("go", 3, r#"^\s*(fmt\.Print|\w+(,\s*\w+)*\s*:=\s|import\s+"|defer\s+\w+|if err != nil)"#),
    ("ruby", 2, r"^\s*(puts\s+\S+|require\s+'|attr_\w+\s|end)\s*.*$"),
    ("ruby", 2, r"^\s*(def \w+[?!]?(\([^)]*\))?|class [A-Z]\w*( < \w+)?|\w+\.each do \|.*)$"),
    ("kotlin", 4, r"^\s*(fun\s+\w+\s*\(|val\s+\w+.*=|data class)"),
    ("swift", 5, r"^\s*func\s+\w+\(.*\)\s*(throws\s*)?->\s*.+\{$"),
    ("swift", 3, r"^\s*(import (Foundation|UIKit|SwiftUI)|func\s+\w+\(.*\)\s*(->\s*\S+\s*)?\{|guard let )"),
    ("haskell", 3, r"^\w+\s*::\s*.+->"),
    ("r", 3, r"^\s*(\w[\w.]*\s*<-\s*\S|library\(\w+\)$)"),
    ("powershell", 3, r"^\s*(Get|Set|New|Remove|Invoke|Write|Import|Export|Start|Stop)-[A-Z]\w+"),
    (
        "dockerfile",
        2,
        r"^(FROM [\w./-]+(:[\w.-]+)?( AS \w+)?|RUN \S+.*|COPY \S+ \S+|CMD \[.*|ENTRYPOINT \[.*|WORKDIR /\S*|EXPOSE \d+|ENV \w+[= ].+)$",
    ),
    ("lua", 3, r"^\s*(local\s+(function\s+)?\w+|function\s+[\w.:]+\(.*\)\s*$)"),
    ("code", 1, r"^.*[\w)\]\x22']\s*;\s*(//.*)?$"),
    ("code", 1, r"^\s*\}[;,)]*\s*$"),
    ("code", 1, r"^.*[)\w]\s*\{\s*$"),
];

/// Languages whose evidence counts for each other as well: they share many of their lines.
fn is_braced(language: &str) -> bool {
    matches!(
        language,
        "c" | "cpp"
            | "java"
            | "csharp"
            | "javascript"
            | "typescript"
            | "rust"
            | "go"
            | "kotlin"
            | "swift"
            | "php"
            | "css"
    )
}

/// Longest line that is matched, in bytes.
const MAX_LINE: usize = 1000;
/// Number of lines that are looked at.
const MAX_LINES: usize = 20_000;

/// Recognises another language than Python by its lines.
pub(crate) fn recognise(lines: &[&str]) -> Option<Recognised> {
    static SET: LazyLock<RegexSet> = LazyLock::new(|| {
        // Commands may be indented under prose.
        let patterns = PATTERNS.iter().map(|(language, _, pattern)| match pattern.strip_prefix('^') {
            Some(rest) if *language == "shell" => format!(r"^\s*{rest}"),
            _ => (*pattern).to_owned(),
        });
        RegexSetBuilder::new(patterns).unicode(false).build().expect("the patterns are constants")
    });
    let mut scores: Vec<(&'static str, usize)> = Vec::new();
    let mut braces = 0;
    let mut bounds: Option<(usize, usize)> = None;
    for (index, line) in lines.iter().enumerate().take(MAX_LINES) {
        let line = line.trim_end();
        if line.is_empty() || line.len() > MAX_LINE {
            continue;
        }
        let is_prose = is_prose(line)
            && !line.starts_with(['#', '<'])
            && !line.ends_with(['{', '}'])
            && !line.trim_start().starts_with("foreach (");
        let mut strongest = 0;
        let mut counted: Vec<&str> = Vec::new();
        for pattern in SET.matches(line.as_bytes()) {
            let (language, weight, _) = PATTERNS[pattern];
            // A sentence may end with a semicolon, or begin with "public".
            let is_sure = match language {
                "code" => false,
                "c" | "cpp" => weight >= 4,
                _ => weight >= 3 && has_operators(line),
            };
            if is_prose && !is_sure && (language == "code" || is_braced(language)) {
                continue;
            }
            strongest = strongest.max(weight);
            if counted.contains(&language) {
                continue;
            }
            counted.push(language);
            if language == "code" {
                braces += weight;
                continue;
            }
            match scores.iter_mut().find(|(name, _)| *name == language) {
                Some((_, score)) => *score += weight,
                None => scores.push((language, weight)),
            }
        }
        if strongest > 0 {
            bounds = Some((bounds.map_or(index, |(first, _)| first), index));
        }
    }
    let lines = bounds?;
    let best = scores
        .iter()
        .copied()
        .rev()
        .max_by_key(|(language, score)| score + if is_braced(language) { braces } else { 0 });
    // C++ has the lines of C as well, and C# those of Java.
    let best = best.map(|(language, score)| {
        let heir = [("c", "cpp"), ("java", "csharp")].iter().find(|(base, _)| *base == language);
        let heir = heir.filter(|(_, heir)| scores.iter().any(|(name, _)| name == heir));
        (heir.map_or(language, |(_, heir)| heir), score)
    });
    match best {
        Some((language, score)) => {
            Some(Recognised { language, weight: score + if is_braced(language) { braces } else { 0 }, lines })
        }
        None if braces > 2 => Some(Recognised { language: "code", weight: braces, lines }),
        None => None,
    }
}

/// Returns whether a line that reads as words has a call, an assignment or an arrow where a statement has them.
fn has_operators(line: &str) -> bool {
    let calls = || {
        let bytes = line.as_bytes();
        bytes.windows(2).any(|pair| pair[1] == b'(' && (pair[0].is_ascii_alphanumeric() || pair[0] == b'_'))
    };
    line.contains("=>") || (line.ends_with([';', ')']) && (line.contains(" = ") || calls()))
}

/// Weight from which unmarked text is code.
pub(crate) const ENOUGH: usize = 3;

/// Returns the language of code within a line, where it is a whole command, query or statement.
pub(crate) fn recognise_inline(span: &str) -> Option<&'static str> {
    let found = recognise(&[span]).filter(|found| found.weight >= ENOUGH)?;
    // Tags, keywords and selectors are names of things.
    // `cargo test` is the name of a command.
    let is_whole = matches!(found.language, "sql" | "shell" | "powershell") || span.ends_with(['}', ';', ')']);
    (is_whole && span.split_whitespace().count() > 2 && !span.starts_with('<')).then_some(found.language)
}

/// Compares evidence of Python with that of other languages.
pub(crate) fn is_rather_python(python: usize, other: Option<&Recognised>) -> bool {
    python >= python::weight(Evidence::Strong) && other.is_none_or(|other| python >= other.weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_canonical_names() {
        assert_eq!(nature("Py"), Nature::Python);
        assert_eq!(nature("JS"), Nature::Code("javascript"));
        assert_eq!(nature("yaml"), Nature::Data("yaml"));
        assert_eq!(
            (nature(""), nature("text"), nature("gherkin")),
            (Nature::Unknown, Nature::Unknown, Nature::Other("gherkin"))
        );
    }

    #[test]
    fn lines_of_other_languages_are_recognised() {
        let cases = [
            ("SELECT 1 FROM t;", "sql"),
            ("$ ls -l", "shell"),
            ("pip install numpy", "shell"),
            ("<!doctype html>", "html"),
            ("#include <stdio.h>", "c"),
            ("fn main() {", "rust"),
            ("func main() {", "go"),
            ("@@ -1,2 +1,2 @@", "diff"),
            ("const a = 1;", "javascript"),
            ("public class A {", "java"),
        ];
        for (line, language) in cases {
            let found = recognise(&[line]).expect(line);
            assert_eq!((found.language, found.weight >= ENOUGH), (language, true), "{line}");
        }
    }

    #[test]
    fn prose_is_in_no_language() {
        let lines = [
            "Select an option from the menu.",
            "Find the longest word.",
            "git is a tool.",
            "Make sure that it works.",
            "Update your accounts set last year.",
            "cat and dog",
            "source of truth",
            "Let me know!",
            "a < b > c",
        ];
        for line in lines {
            assert!(recognise(&[line]).is_none_or(|found| found.weight < ENOUGH), "{line}");
        }
    }
}
