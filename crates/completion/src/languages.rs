//! Languages: what tags declare, and what other languages than Python look like.

use std::sync::LazyLock;

use regex::bytes::{RegexSet, RegexSetBuilder};

use super::prose::{is_prose, is_sentence};
use super::python::{self, Evidence};
use super::shell::{self, Position};

/// Canonical name of Python.
pub(crate) const PYTHON: &str = "python";

/// Name of a language that is not told from others like it.
pub(crate) const ANY: &str = "code";

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
    // Statements of SQL. In lower case they have the shape of sentences, and need more of theirs.
    (
        "sql",
        3,
        r"^\s*(SELECT\b.*|INSERT\s+INTO\s.+|UPDATE\s+\S+\s+SET\s.+|DELETE\s+FROM\s.+|(ALTER|DROP|TRUNCATE)\s+(TABLE|INDEX|VIEW|DATABASE|SCHEMA|USER|ROLE|COLUMN|FUNCTION|TRIGGER)\s.+|CREATE\s+(OR\s+REPLACE\s+)?(UNIQUE\s+|TEMP\s+|TEMPORARY\s+|MATERIALIZED\s+)*(TABLE|INDEX|VIEW|DATABASE|SCHEMA|USER|ROLE|TYPE|SEQUENCE|EXTENSION|PROCEDURE|FUNCTION|TRIGGER)\s.+|(GRANT|REVOKE)\s.+\s(ON|TO|FROM)\s.+|EXPLAIN\s+(ANALYZE\s+)?[A-Z]+\s.+|MERGE\s+INTO\s.+|WITH\s+(RECURSIVE\s+)?\w+(\s*\([^()]*\))?\s+AS\s*\(.*)$",
    ),
    (
        "sql",
        1,
        r"^\s*(FROM|WHERE|GROUP BY|ORDER BY|HAVING|LIMIT|((LEFT|RIGHT|INNER|OUTER|FULL|CROSS)\s+)?JOIN|UNION|VALUES|SET|ON|AND|BEGIN;|COMMIT;)\b",
    ),
    ("sql", 2, r"^UPDATE\s+[\w.]+\s*$"),
    (
        "sql",
        3,
        r"^\s*(PRAGMA \w+|SHOW (TABLES|DATABASES|INDEX.*)|USE \w+|VACUUM.*|(ROLLBACK|COMMIT|BEGIN|START) TRANSACTION)\s*;?$",
    ),
    (
        "sql",
        1,
        r"^\s*(from|where|group by|order by|having|limit|((left|right|inner|outer|full|cross)\s+)?join|union|values|set)\s.*[\w)'*]\s*;?$",
    ),
    ("sql", 2, r"^\s*select\s+[\w.*]+(\([^()]*\))?(\s+as\s+\w+)?(\s*,\s*[\w.*]+(\([^()]*\))?(\s+as\s+\w+)?)*\s*$"),
    (
        "sql",
        3,
        r"^\s*(select\s+(distinct\s+)?([\w.*]+(\(.*\))?(\s+as\s+\w+)?\s*,\s*)*[\w.*]+(\(.*\))?(\s+as\s+\w+)?\s+from\s+[\w.]+(\s+\w)?(\s*;|\s+(where\s+.*([=<>]|\b(in|is|like|between)\b)|(group|order)\s+by\s|limit\s+\d|((left|inner|right)\s+)?join\s+\w+.*\bon\b|union\s+(all\s+)?select\b).*)?|insert\s+into\s+\w+\s*(\(.*\)|values\b|select\b).*|delete\s+from\s+\w+(\s*;|\s+where\s+\w+\s*([=<>]|in\b|is\b|like\b).*)|update\s+\w+\s+set\s+\w+\s*=.*|create\s+(table|view)\s+(if\s+not\s+exists\s+)?\w+\s*(\(|as\b).*|create\s+(unique\s+)?index\s+\w+\s+on\s+\w+.*|(drop|alter|truncate)\s+table\s+\w+.*;|with\s+\w+\s+as\s*\(.*)\s*$",
    ),
    (
        "sql",
        3,
        r"^(?i)(select\s.+\sfrom\s+\w+.*|insert\s+into\s+\w+.*\svalues\b.*|delete\s+from\s+\w+.*|update\s+\w+\s+set\s+\w+\s*=.*|create\s+table\s+\w+.*);$",
    ),
    // Prompts of interactive interpreters.
    ("scala", 4, r"^scala> "),
    ("haskell", 4, r"^(ghci|Prelude|\*?Main)> "),
    ("julia", 4, r"^julia> "),
    ("elixir", 4, r"^iex(\(\d+\))?> "),
    ("php", 4, r"^php > "),
    ("javascript", 4, r"^(node|deno)> |^mongo\w*> "),
    ("sql", 4, r"^(mysql|sqlite|MariaDB \[[^\]]*\]|\w+=[#>])> ?\S"),
    ("cypher", 4, r"^\s*(MATCH|MERGE|CREATE)\s*\(\w*(:\w+)?(\s*\{.*\})?\s*\)"),
    ("shell", 3, r"^#!\s*/(usr/)?bin/(env\s+)?(ba|z|da|k)?sh\b"),
    ("shell", 3, r"^\$ [\w./~-]"),
    ("shell", 4, r"^(\([\w.-]+\) ?)?\[?[\w.-]+@[\w.-]+[: ]\S*?\]?\s?[$#] \S"),
    ("shell", 2, r"^git (status|init|pull|push|log|stash|diff|fetch)$"),
    ("shell", 2, r"^(cd|mkdir|touch|source|cat|export|unset|rm|mv|cp) [~./\w$=-]+(\s+[~./\w$-]+)?$"),
    ("shell", 2, r#"^(echo|printf) ["'$]"#),
    ("shell", 3, r"^(export |alias |declare |local |readonly )?[A-Za-z_]\w*=(\$\w|\$[({]|`|'[^']*'$)"),
    ("shell", 3, r"^alias [\w.-]+=\S"),
    ("shell", 3, r"^export [A-Z_]\w*=\S"),
    ("shell", 2, r"^(function\s+)?[a-z_][\w-]*\s*\(\)\s*\{\s*(\w.*;\s*\}\s*)?$"),
    ("shell", 1, r"^(set -\w+|fi|done|esac|then|do|make( [\w-]+)?|ls|pwd|cd)$"),
    ("shell", 3, r"^((el)?if \[\[? .+ \]\]?; then\b.*|for \w+ in .+; do( .*; done)?|while .+; do( .*; done)?.*)$"),
    (
        "batch",
        4,
        r"^(?i)\s*(@echo (off|on)|setlocal\b.*|for (/[fdrl] )?.*%%?\w+ in \(.*\) do\s.+|(copy|del|dir|xcopy|robocopy|move|ren|md|rd|taskkill|ipconfig|netsh|sc|reg|attrib|tasklist|shutdown|chkdsk|sfc)\s.*(\s/[a-z]{1,2}(\s|:|$)|[a-z]:\\|\*\.).*|if (not )?exist \S+\s.*|echo %\w+%.*|set /[ap] .*)$",
    ),
    ("batch", 4, r"^[A-Z]:\\[^<>|]*>\s*\S"),
    // Markup.
    ("html", 4, r"^(?i)<!doctype html"),
    (
        "html",
        2,
        r"^\s*</?(?i:html|head|body|div|span|ul|ol|li|p|a|h[1-6]|table|tr|td|th|form|input|button|img|nav|section|article|header|footer|main|script|style|link|meta|label|select|option|textarea|canvas|video|br|hr)(\s[^<>]*)?/?>",
    ),
    (
        "html",
        3,
        r#"^\s*<((?i:a|abbr|article|aside|audio|b|blockquote|body|br|button|canvas|center|code|col|details|dialog|div|dl|em|fieldset|figure|font|footer|form|h[1-6]|head|header|hr|html|i|iframe|img|input|label|legend|li|link|main|meta|nav|object|ol|optgroup|option|p|path|picture|pre|progress|script|section|select|small|source|span|strong|style|svg|table|tbody|td|template|textarea|tfoot|th|thead|title|tr|u|ul|video)|[A-Z]\w*)(\s+[\w:@.-]+(=("[^"]*"|'[^']*'|\{.*\}|[\w#/.-]+))?)*\s+(?i:class|id|href|src|type|name|style|rel|for|value|alt|content|charset|onclick|method|action|lang|width|height|placeholder|target|required|disabled|autoplay|controls|loading|data-[\w-]+|aria-[\w-]+|v-[\w-]+)(=("[^"]*"|'[^']*'|\{.*\}|[\w#/.-]+))?(\s[^<>]*)?\s*/?>"#,
    ),
    (
        "html",
        3,
        r"^\s*<(?i:label|ul|ol|button|select|table|tr|form|nav|section|article|header|footer|main|div|span|title|script|style|head|body|h1|h2|h3|video|audio|details|dialog|textarea|p)>.*</(?i:label|ul|ol|button|select|table|tr|form|nav|section|article|header|footer|main|div|span|title|script|style|head|body|h1|h2|h3|video|audio|details|dialog|textarea|p)>\s*$",
    ),
    ("css", 3, r"^@(media|keyframes|font-face|supports|layer|container|import)\b.*([{};]|\))\s*$"),
    (
        "css",
        3,
        r"^(@media|[.#:*\[]?[a-zA-Z*:{][\w.#:>~+*=\[\]()\x22, -]*)\s*\{\s*(-{0,2}[a-z][\w-]*\s*:[^;{}]+;\s*)+(-{0,2}[a-z][\w-]*\s*:[^;{}]+)?\}\s*$",
    ),
    ("css", 3, r"^[.#][a-zA-Z][\w.#:> -]*\s*\{\s*\}?\s*$"),
    ("css", 2, r"^[a-zA-Z][\w.#:>, -]*\s*\{\s*\}?\s*$"),
    (
        "css",
        4,
        r"^\s*(align-(items|content|self)|background(-[a-z]+)*|border(-[a-z]+)*|bottom|box-(shadow|sizing)|color|cursor|display|filter|flex(-[a-z]+)*|float|font(-[a-z]+)*|gap|grid(-[a-z]+)*|height|justify-[a-z]+|left|letter-spacing|line-height|list-style(-[a-z]+)?|margin(-[a-z]+)?|(max|min)-(width|height)|object-fit|opacity|outline|overflow(-[xy])?|padding(-[a-z]+)?|position|right|text-[a-z]+|top|transform|transition|user-select|vertical-align|visibility|white-space|width|word-break|z-index|aspect-ratio|animation)\s*:\s*[\w#.%(),\x22'/ -]+;(\s*[a-z-]+\s*:[^;]+;)*\s*$",
    ),
    (
        "graphql",
        4,
        r"^\s*((query|mutation|subscription)(\s+\w+\s*(\(.*\))?)?\s*\{.*|type \w+ (implements \w+ )?\{|fragment \w+ on \w+ \{.*)$",
    ),
    // C, and what looks like it.
    ("c", 4, r#"^#\s*include\s*[<"][\w./]+[>"]"#),
    ("c", 2, r"^#\s*(define|ifdef|ifndef|endif|pragma)\b"),
    ("c", 3, r"^#\s*(define\s+[A-Za-z_]\w*(\([\w, .]*\)\s+\S.*|\s+[\w(\x22].*)?|ifn?def\s+\w+|pragma\s+once)\s*$"),
    (
        "c",
        3,
        r"^\s*(static\s+|const\s+|unsigned\s+|inline\s+|extern\s+)*(int|void|char|float|double|long|bool|size_t|u?int\d+_t|struct \w+)\s*\*?\s*\w+\s*\([^()]*\)\s*(const\s*)?([{;].*)?$",
    ),
    (
        "c",
        2,
        r"^\s*(static\s+|const\s+|unsigned\s+)*(int|char|float|double|long|bool|size_t|auto|string)\s+\*?\w+(\[\w*\])?\s*(=.*|,.*)?;\s*(//.*)?$",
    ),
    (
        "c",
        3,
        r"^\s*((static|const|unsigned|extern|volatile|register)\s+)*(int|char|float|double|long|short|unsigned|bool|size_t|u?int\d+_t|struct\s+\w+|FILE)\s+((int|long)\s+)?\**\s*\w+((\[[^\]]*\])+\s*(=.*)?|\s*=.*)?(,\s*\**\w+.*)?;",
    ),
    ("c", 3, r"^\s*(const\s+)?[A-Za-z_]\w*\s+\*+\s*\w+\s*(=.*)?;"),
    (
        "c",
        3,
        r"^\s*(typedef\s+(struct|enum|union|unsigned|int|char|void|double)\b.*|(struct|union|enum)\s+\w+\s*\{.*|\}\s*\w+;)$",
    ),
    ("c", 3, r"^\s*(f|s|sn)?printf\(.*\);$"),
    ("c", 3, r"^\s*(scanf|malloc|free|memcpy|memset|strcpy|strcmp|perror|puts|fclose|fputs|exit)\(.*\);$"),
    ("c", 3, r"^\s*\w+(->\w+)+(\[.*\])?\s*([-+*/|&^]?=|\().*;$"),
    (
        "c",
        3,
        r"^\s*[A-Za-z_]\w*\s*\*?\s+\*?\w+\((const\s+)?[\w<>]+\s*[*&]*\s+[*&]*\w+(\[\])?(\s*,\s*(const\s+)?[\w<>]+\s*[*&]*\s+[*&]*\w+(\[\])?)*\)\s*[;{]\s*$",
    ),
    ("c", 5, r"^\s*(typedef\s+)?struct\s*\w*\s*\{.*;\s*\}\s*\w*;$"),
    ("c", 3, r"^\s*for\s*\([^;]*;[^;]*;[^;]*\)"),
    ("c", 3, r"^\s*(while|switch)\s*\(.*\)\s*([{;].*)?$"),
    ("code", 3, r"^\s*(\}\s*)?(else\s+)?if\s*\(.*\)\s*(\{.*|[\w.]+(\(.*\)|\s.*)?;)$"),
    (
        "code",
        3,
        r"^\s*((\}\s*)?else\s*\{|do\s*\{|try\s*\{|\}\s*(catch|finally)\b.*\{|case\s+[\w'\x22.:]+:\s*\S.*;|return\s.*[)\]\w\x22'];)\s*$",
    ),
    ("code", 3, r"^\s*[\w.$\[\]>:*-]+\s*([-+*/|&^%]|<<|>>|\?\?|\|\|)=\s*[^=;]+;"),
    ("code", 3, r"^\s*[\w$]+((\.|::|->|\?\.)[\w$]+)*(\[.*\])?\s*=\s*(new\s|await\s|[\w.:]+\(|\[|\{|\x22|').*;\s*$"),
    (
        "code",
        3,
        r"^\s*(await\s+|delete\s+|throw\s+|new\s+|try\s+|return\s+)?[\w$]+((\.|::|->|\?\.)[\w$]+|\([^()]*\))*\(.*\)(\.\w+)?;\s*$",
    ),
    (
        "code",
        4,
        r"^\s*(export\s+|abstract\s+|final\s+|sealed\s+)*class\s+\w+(<.*>)?(\s*(extends|implements|:)\s*[\w<>., ]+)*\s*\{\s*(\}|.*[;)].*)?$",
    ),
    ("code", 3, r"^\s*(static|readonly|final|const)\s+(\w+\s+)?\w+\s*=\s*\S.*;$"),
    ("code", 3, r"^\s*(\+\+|--)?[\w.$\[\]]+(\+\+|--);$"),
    (
        "cpp",
        4,
        r"^\s*(using namespace \w+;|(std::)?(cout|cerr)\s*<<|(std::)?cin\s*>>|template\s*<|std::\w+.*[;{)]$|vector<\w+>|.*\bstd::(cout|vector|string|map|move|unique_ptr|shared_ptr)\b)",
    ),
    (
        "cpp",
        4,
        r"^\s*(for\s*\((const\s+)?auto\s*&?&?.*:.*\)|(const\s+)?auto[&*]?\s+\w+\s*=|(vector|map|set|unordered_map|pair|queue|stack|priority_queue)<.*>\s+\w+|\w+::\w+\s*\(.*\)\s*(:.*)?\{|.*(cout\s*<<|<<\s*endl))",
    ),
    (
        "java",
        4,
        r"^\s*(public|private|protected)\s+(static\s+|final\s+|abstract\s+|synchronized\s+|override\s+|async\s+)*(class|interface|enum|record|void|[A-Za-z]\w*(<[^>]*>)?(\[\])?)\s+\w+",
    ),
    ("java", 4, r"^\s*(System\.(out|err)\.print|import (static )?java[x]?\.|package [\w.]+;)"),
    ("java", 4, r"^\s*import\s+(static\s+)?[a-z]\w*(\.\w+)+(\.\*)?;$"),
    ("java", 3, r"^\s*(final\s+)?[A-Z]\w*(<[\w<>, ?\[\]]*>)?(\[\])*\s+[a-z]\w*\s*=\s*.*;$"),
    ("java", 3, r"^\s*(int|double|long|boolean|char|byte|float)(\[\])+\s+\w+\s*=\s*.*;$"),
    ("java", 3, r"^\s*(boolean|final\s+\w+)\s+\w+\s*=\s*.*;$"),
    (
        "java",
        4,
        r"^\s*(@Override|@(Test|Autowired|Entity|Service|Bean|GetMapping|PostMapping|RestController|SpringBootApplication)\b.*|try\s*\(\w+(<.*>)?\s+\w+\s*=.*|for\s*\((final\s+)?[A-Z]\w*(<.*>)?\s+\w+\s*:.*|\}\s*catch\s*\(\w+(\s*\|\s*\w+)*\s+\w+\)\s*\{)\s*.*$",
    ),
    (
        "java",
        4,
        r"\bthrow new \w*Exception\(|\b[A-Z]\w*::(new|[a-z]\w*)\)|^\s*(Collections|Arrays|Objects|Integer|LocalDate|Thread)\.[a-z]\w*\(.*;$",
    ),
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
        r"^\s*[\w<>\[\]?, ]+\s+\w+\s*=\s*(await\s.*\w+Async\(.*|.*\.(Where|Select|OrderBy|ToList|ToArray|Sum|FirstOrDefault|Any|ToString)\(.*);$",
    ),
    (
        "csharp",
        4,
        r"^\s*(var|string|object|decimal|bool\??|int\??)\s+\w+\s*=\s*(await\s+)?(new\s+)?[A-Z]\w*((\.[A-Z]\w*)?\(|<).*;$",
    ),
    ("csharp", 4, r"^\s*await\s+[A-Z]\w*\.[A-Z]\w*\(.*\);$"),
    ("csharp", 4, r"^\s*(using\s+(var|[A-Z]\w*)\s|using\s+[A-Z][\w.]*;|string\s+\w+\s*=\s*\$?\x22|.*\{\s*get;)"),
    (
        "csharp",
        3,
        r"^\s*\.(Where|Select|SelectMany|OrderBy|OrderByDescending|ThenBy|GroupBy|ToList|ToArray|First|FirstOrDefault)\(",
    ),
    ("csharp", 4, r"^\s*var\s+\w+\s*=\s*new\s+\w+<[\w, ]+>.*;$"),
    ("javascript", 3, r"^\s*(export\s+)?(const|let|var)\s+[\w$\[{][^=]*=.*"),
    ("javascript", 3, r"^\s*(export\s+)?(default\s+)?(async\s+)?function\b\s*\*?\s*\w*\s*\("),
    (
        "javascript",
        3,
        r#"^\s*(import\s.+\sfrom\s+["']|import\s+["'][\w@./-]+["'];?$|export\s+(default|const|let|class|interface|type|enum|function|async)\b|module\.exports\b|exports\.\w+\s*=|const\s.+require\()"#,
    ),
    (
        "javascript",
        3,
        r"^\s*(console\.(log|error|warn|table|info)\(.*|document\.\w+[.(=\s].*|window\.\w+[.(\s=].*|(localStorage|sessionStorage|process|JSON|Object|Promise|Array)\.[a-z]\w+\(.*)[)\];{(,]$",
    ),
    ("javascript", 2, r"^\s*(.*\)\s*=>\s*[{(\w].*|.*\}\);?)$"),
    (
        "javascript",
        3,
        r"\.(then|map|filter|forEach|reduce|catch|addEventListener|sort|find|some|every|flatMap|finally|on|get|use|post)\(.*=>.*\)?.*[);{,]?$",
    ),
    (
        "javascript",
        3,
        r"^\s*(async\s+)?(\([\w$, {}=\[\]]*\)\s*=>\s*\S|[a-z]\w*\s*=>\s*(\{|`|\(|\w+\.\w|\w+\s*[-+*/%<])).*$",
    ),
    (
        "javascript",
        4,
        r"^\s*(fetch|axios(\.\w+)?|setTimeout|setInterval|require|alert|\$)\((['\x22`]|\(|\w+,|function).*$",
    ),
    ("javascript", 4, r"\.(replace|match|test|split)\(/.*/[gimsuy]*(,.*)?\)"),
    (
        "javascript",
        4,
        r"^\s*db\.\w+\.(find|findOne|insert|insertOne|insertMany|update|updateOne|updateMany|delete|deleteOne|deleteMany|aggregate|createIndex|drop|count|countDocuments)\(",
    ),
    ("javascript", 3, r"[\w)\]'\x22]\s*[=!]==\s*[\w('\x22\[-]|`[^`]*\$\{[^`]*`|\bawait\s+\w+(\.\w+)*\(.*;$|\?\.\w+\("),
    ("typescript", 2, r"^\s*(readonly\s+)?\w+\??:\s*(string|number|boolean|any|void|unknown)(\[\])?\s*[;,]?$"),
    ("typescript", 3, r"^\s*(export\s+)?(declare\s+)?(interface\s+\w+.*\{$|type\s+\w+(<.*>)?\s*=)"),
    (
        "typescript",
        4,
        r"^\s*(export\s+)?(const|let|var)\s+\w+\s*:\s*(string|number|boolean|any|unknown|Array|Record|Map|Promise|Set|\(|[A-Z]\w*(<|\[\]|\s*=\s*\{))",
    ),
    ("typescript", 4, r"^\s*(export\s+)?(async\s+)?function\s+\w+\s*(<[^>]*>)?\s*\(\w+\??\s*:.*\{"),
    ("typescript", 4, r"^\s*(export\s+)?(const\s+)?enum\s+[A-Z]\w*\s*\{[\w, =\x22']*\}$"),
    (
        "typescript",
        4,
        r"\(\w+\s*:\s*([A-Z]\w*|string|number|boolean|any)(\[\])?(,\s*\w+\s*:\s*\w+(\[\])?)*\)\s*(:\s*[\w<>\[\]]+\s*)?=>",
    ),
    // Rust, Go, and others with a keyword before each declaration.
    ("rust", 4, r"^\s*(pub(\(\w+\))?\s+)?(const\s+|async\s+|unsafe\s+)*fn\s+\w+\s*(<[^>]*>)?\("),
    (
        "rust",
        4,
        r"^\s*(use\s+(std|crate|super|self|\w+)::\S*;?|impl\b.*\{.*|#!?\[\w+.*\]|let\s+mut\s+\w+.*|(println|eprintln|print|format|panic|vec|assert|assert_eq|write|todo)!\s*[(\[].*|(pub\s+)?(struct|enum|trait|mod)\s+[\w<>]+\s*\{.*)$",
    ),
    (
        "rust",
        5,
        r"^\s*let\s+(mut\s+)?\w+\s*:\s*(&|Vec|Option|Result|HashMap|HashSet|BTreeMap|Rc|Arc|Box|[iu](8|16|32|64|128|size)\b|f(32|64)\b).*=.*;$",
    ),
    (
        "rust",
        4,
        r"^\s*(let\s+(Some|Ok|Err)\(.*|(if|while)\s+let\s+(Some|Ok|Err)\(.*|let\s+\w+(\s*:\s*(&|Vec|Option|Result|HashMap|String|Box|[iu](8|16|32|64|128|size)|f(32|64)|bool|char|usize).*)?\s*=.*(::|\.iter\(|\.unwrap\(|\.collect|\?;|&\w|vec!|\[i32|\.into\().*;|let\s+\(?\w+.*:\s*(&|Vec|Option|[iu](8|16|32|64|size)|f(32|64)).*|match\s+[\w.&()*]+\s*\{|\S.*\s=>\s.*(!\(.*\)|\b(Some|Ok|Err|None)\b.*),)$",
    ),
    ("rust", 4, r"\.(unwrap|expect|collect|iter|into_iter|as_str|to_owned|clone)\(.*\)[^\x22]*;$"),
    ("go", 4, r"^(package \w+|func\s+(\(\w+\s+\*?\w+\)\s*)?\w+(\[.*\])?\(.*\{.*|import\s*\()\s*$"),
    (
        "go",
        3,
        r#"^\s*(fmt\.(S|F)?[Pp]rint|\w+(,\s*\w+)*\s*:=\s|import\s+"|defer\s+[\w.]+\(|if err != nil|if .*:=.*\{)"#,
    ),
    (
        "go",
        4,
        r"^\s*(go\s+(func\(|\w+(\.\w+)?\(.*\)$)|for\s+(.*:=\s*range\s|\{$|[^(].*;.*;.*\{$)|type\s+\w+\s+(struct|interface|func|map)\b.*|var\s+\w+(\s*=\s*|\s+)(make|map|\[\]|sync\.|errors\.|int\b|string\b|\*).*|.*\bmake\((chan|map|\[\])|.*\bfunc\(.*\).*\{.*|select\s*\{|case\s+.*<-.*:|if\s+.*;\s*.*\{|\w+\s*=\s*append\(.*)$",
    ),
    (
        "zig",
        5,
        r"@import\(|^\s*(const|var)\s+\w+\s*:\s*[\[\]*?]*(u|i|f|usize|const)\w*\s*=|^\s*pub fn \w+\(.*\)\s*!?\w+\s*\{|\bstd\.debug\.print\(",
    ),
    (
        "kotlin",
        4,
        r"^\s*((override\s+|suspend\s+|private\s+|inline\s+|open\s+|operator\s+|infix\s+|internal\s+|abstract\s+)*fun\s+(<.*>\s*)?[\w.<>?]+\s*\(|val\s+\w+.*=|(data|sealed|enum) class\s|companion object|when\s*(\(.*\))?\s*\{|var\s+\w+\s*:\s*[A-Z]\w*\??\s*=)",
    ),
    ("kotlin", 3, r"\.\w+\s*\{\s*(it\b.*|\w+\s*->.*)\}|^\s*println\(.*\)$|\?\.\w+\s*(\{|\?:)"),
    (
        "scala",
        4,
        r"^\s*(case class\s+\w+|case object\s|object\s+[A-Z]\w*(\s+extends\s+\w+)?\s*\{|def\s+\w+(\[.*\])?(\(.*\))?\s*(:\s*\w+(\[.*\])?)?\s*=(\s|$)|(lazy\s+|implicit\s+)val\s|val\s+\w+\s*=\s*(List|Seq|Map|Option|Vector|Array)\(|import\s+scala\.|(sealed\s+)?trait\s+[A-Z]\w*.*(\{|extends\s))",
    ),
    ("scala", 5, r"^\s*val\s+\w+.*=>|\(_\.\w+|\(_ [-+*/<>=]"),
    ("swift", 5, r"^\s*func\s+\w+\(.*\)\s*(throws\s*)?->\s*.+\{$"),
    (
        "swift",
        4,
        r"^\s*(import (Foundation|UIKit|SwiftUI|Combine)|((override|private|public|static|mutating|fileprivate|internal)\s+)*func\s+\w+(<.*>)?\((\w+(\s+\w+)?\s*:.*)?\)\s*(throws\s*)?(->\s*\S+\s*)?\{|(override\s+)?init[?]?\(.*:.*\)\s*\{|subscript\(.*\{|guard\s+(let|var|\w).*\belse\b|(if|while)\s+let\s+\w+(\s*=.*|,.*)?\{.*|(var|let)\s+\w+\s*:\s*(some\s+)?\[?[A-Z]\w*[\w\[\]?:<>, ]*(\s*=.*|\s*\{.*)?$|(struct|class|extension|enum|protocol)\s+\w+\s*:\s*[A-Z][\w, ]*\{|@(State|Published|IBOutlet|IBAction|main|objc|ObservedObject)\b.*|(var|let)\s+\w+\s*=.*(\$0\b|\bas[?!]|try[?!]).*|switch\s+\w+\s*\{|for\s+\w+\s+in\s+.*\.\.[.<].*\{)|\{\s*\$0\b|\(\w+, [-+*]\)",
    ),
    (
        "dart",
        5,
        r"^\s*(import 'package:|import 'dart:|void main\(\) (async )?\{|Widget build\(|final \w+ = .*;|.*\.forEach\(\(\w+\) => print|\w+ \w+\(.*\) async \{|class \w+ extends (Stateless|Stateful)Widget)",
    ),
    ("php", 4, r"^<\?(php|=)"),
    (
        "php",
        4,
        r"^\s*(\$[a-z_]\w*((->\w+(\(.*\))?)|\[.*\])*\s*([-+*./?|]{0,2}=[^=]|\+\+|--).*;|foreach\s*\(\$\w.*\bas\b.*\)\s*\{?.*|echo\s.*;|print\s+[\x22'$].*;|\$\w+(->\w+(\(.*\))?)+;|(public |private |protected |static )*function\s+\w*\(.*\$\w+.*\).*|use\s+[A-Z]\w*(\\\w+)+;|namespace\s+[A-Z]\w*(\\\w+)*;|return\s+\$\w.*;)\s*$",
    ),
    (
        "perl",
        5,
        r"^\s*(my\s+\(?[$@%][a-z_]|our\s+[$@%]|use\s+(strict|warnings|feature|utf8|v?5)\b.*;|sub\s+\w+\s*\{|foreach\s+my\s+\$|print\s.*\\n[\x22'];|open\(?\s*my\s|.*=~\s*(s|m|tr|y)?/|while\s*\(my\s|while\s*\(<)",
    ),
    // Languages with `end`, and with arrows.
    ("ruby", 2, r"^\s*(puts\s+\S.*|require\s+'.*|attr_\w+\s.*|end)$"),
    ("ruby", 2, r"^\s*(def \w+[?!]?(\(([^s)][^)]*|s[^e)][^)]*)?\))?|class [A-Z]\w*( < \w+)?|\w+\.each do \|.*)$"),
    (
        "ruby",
        4,
        r"\(&:\w+[?!]?\)|\s(do|\{)\s*\|[\w, ()*&]+\|(\s|$)|%[wi]\[|^\s*@\w+\s*(\|\||[-+])?=\s|^\s*(require|require_relative)\s+['\x22]|^\s*(attr_(reader|writer|accessor)|has_many|belongs_to|validates|before_action)\s+:\w|^\s*\d+\.(times|upto)|^\s*puts\s+([\x22'\[:@]|\w+(\.\w+|\[))|\.(nil|empty|any|even|odd|zero|include|blank|present)\?|\.(to_[fisah]|to_sym|upcase|downcase|chomp|gsub|inject|each_with_index|each_slice|reject|sort_by)\b(\s|$|!|\.|\(|\{)",
    ),
    ("ruby", 4, r"^\s*class\s+[A-Z]\w*\s+<\s+[A-Z][\w:]*$|\s#\s?=>\s"),
    ("ruby", 2, r"^\s*module\s+[A-Z]\w*$"),
    ("ruby", 4, r"^irb(\([^)]*\))?(:\d+)*(:\d+)?[>*] "),
    ("lua", 3, r"^\s*(local\s+(function\s+)?\w+|function\s+[\w.:]+\(.*\)\s*$)"),
    (
        "lua",
        4,
        r"^\s*(local\s+[\w, ]+=.*|local\s+function\s+\w+.*|for\s+.*\bin\s+i?pairs\(.*\)\s+do\b.*|for\s+\w+\s*=\s*\w+\s*,\s*.*\bdo\b.*|(else)?if\s+.*\bthen\b(.*\bend)?|function\s+[\w.:]+\(.*\).*\bend|table\.(insert|sort|concat)\(.*)$",
    ),
    (
        "julia",
        4,
        r"^\s*(using\s+[A-Z]\w*\s*[,:]\s*\w+.*|println\(.*\)|mutable\s+struct\s+\w+|struct\s+\w+\s*<:\s*\w+|abstract type .* end|function\s+\w+!?\(.*\)(::\w+)?|for\s+\w+\s+(in|=)\s+\d+:\w+|@(time|show|btime|assert)\s+\w+.*)$",
    ),
    ("julia", 2, r"^using\s+[A-Z]\w*$"),
    (
        "matlab",
        4,
        r"^\s*(\[\w+(\s*,\s*\w+)*\]\s*=\s*\w+\(.*\);?|\w+\s*=\s*\[[^\[\],]+;.*\];?|(disp|fprintf|figure|plot|hold|xlabel|title|zeros|ones|linspace)\(.*\);|function\s+(\[?[\w, ]+\]?\s*=\s*)?\w+\(.*\)|\w+\s*=\s*(zeros|ones|linspace|rand|randn|eye|inv|size|length|numel)\(.*\);|clear all;?|close all;?|clc;?|hold on;?)$",
    ),
    ("haskell", 3, r"^[a-z]\w*'?\s*::\s*(.*->.*|IO\b.*|\[?\(?[A-Z]\w*\]?\)?$)"),
    (
        "haskell",
        4,
        r"^\s*(module\s+[A-Z][\w.]*.*\bwhere|import\s+qualified\s+[A-Z].*|import\s+[A-Z]\w*(\.\w+)*\s*(hiding\s*)?\(.*\)|data\s+[A-Z]\w*.*=.*|newtype\s.*=.*|instance\s+[A-Z].*\bwhere|(main|\w+)\s+=\s+do\b.*|class\s+.*[A-Z]\w*\s+\w+\s+where|deriving\s*\(.*|\w+\s+<-\s+get(Line|Args|Contents)|(putStrLn|mapM_)\s+[$(\x22\w].*)$",
    ),
    (
        "haskell",
        4,
        r"^[a-z]\w*'?(\s+(\(\w+:\w+\)|\[\]|_|[a-z]\w{0,3}|\d+))*\s+=\s.*(\s<-\s.*\]|\s\.\s\w|\+\+|`\w+`|\s\$\s)",
    ),
    ("haskell", 4, r"^[a-z]\w*'?(\s+(\(\w+:\w+\)|\[\]|_))+\s+=\s"),
    ("haskell", 3, r"^\s*\|\s+(otherwise|[^|]*[<>=][^|]*)\s+=\s[^|]*$"),
    (
        "elixir",
        4,
        r"^\s*(defmodule\s+[A-Z][\w.]*\s+do|defp?\s+\w+[?!]?(\(.*\))?(\s+when\s.*)?(,\s*do:.*|\s+do)|IO\.(puts|inspect)\b.*|@(doc|moduledoc|spec)\b.*|(alias|import|require|use)\s+[A-Z]\w*(\.[A-Z]\w*)+.*|\|>\s*[A-Z]\w*\.\w+.*)$",
    ),
    ("elixir", 4, r"\bfn\b.*->.*\bend\b|\bEnum\.\w+\(|\|>\s*(Enum|String|Map|IO|List)\.\w+\(|%\{\w+:\s|&\(&1"),
    (
        "erlang",
        4,
        r"^\s*(-(module|export|behaviou?r|define|include|record)\(.*\)\.|[a-z]\w*\(.*\)\s*(when\s.*)?->|io:format\(.*|[A-Z]\w*\s*=\s*\w+:\w+\(.*)$|\blists:\w+\(",
    ),
    ("prolog", 4, r"^\s*([a-z]\w*\(.*\)\s*:-(\s.*)?|:-\s+\w+.*|\?-\s*\w+\(.*)$"),
    ("prolog", 1, r"^[a-z]\w*\([\w, ]+\)\.$"),
    (
        "ocaml",
        5,
        r"^\s*(let\s+rec\s+\w+.*=.*|let\s+\(?\w+\)?.*=.*\bin$|let\s+\w+\s+\w.*=\s*(match|function|fun)\b.*|match\s+[\w.() ]+\s+with\s*(\|.*)?|\|\s*[\w:\[\]_() ,]+\s->\s[^|]*|let\s+\(\)\s*=.*|print_endline\b.*|Printf\.printf\b.*|type\s+\w+\s*=\s*\|?\s*[A-Z]\w*(\s+of\s.*|\s*\|.*))$|;;$",
    ),
    (
        "fsharp",
        5,
        r"\|>\s*(List|Seq|Array|Option|Map|printfn|String)\b|^\s*(printfn?\s+\x22|open\s+System|let\s+(mutable|inline)\s|\[<\w+>\]|module\s+\w+\s*=|type\s+\w+\s*=\s*\{.*:.*\}|member\s+\w+\.)|\bfun\s+\w+\s*->",
    ),
    (
        "lisp",
        4,
        r"^\s*\((defun|defmacro|defvar|defparameter|setq|setf|let\*|format\s+t|lambda\s+\(|loop\s+for|mapcar)\s|^\s*\((when|unless|cond|progn|car|cdr|dolist|dotimes)\s+\(",
    ),
    // A list within a list, apart from the word before it.
    ("lisp", 4, r#"^\s*\([a-z][\w*!?<>=/-]+(\s+["'(:\[#\w][^\s(),]*)*\s+['`]?\([^,]*\)\)+\s*$"#),
    ("scheme", 4, r"^\s*\((define|define-syntax|let\s+loop|display|set!|call/cc|begin)[\s)]"),
    (
        "clojure",
        4,
        r"^\s*\((defn-?\s+[\w!?*-]+.*|def\s+\w+\s+\S.*|ns\s+[\w.]+.*|(let|loop|fn|doseq|if-let|when-let)\s+\[.*|->>?\s+\S.*\(.*|(println|swap!|reset!)\s+\S.*|(map|filter|reduce|comp|partial|assoc|get|require|conj|str)\s+[^,]*[(\[:#{\x22'%][^,]*\))$",
    ),
    ("r", 3, r"^\s*(\w[\w.]*\s*<-\s*\S|library\([\w.]+\)$)"),
    (
        "r",
        4,
        r"%>%|%in%|^\s*(ggplot\(.*|.*\+\s*geom_\w+\(.*|\w[\w.]*(\$\w+)?\s*<-\s*(c|function|lm|read\.\w+|data\.frame|list|matrix|seq|rnorm)\(.*|install\.packages\(.*|(summary|str|head|hist|boxplot|apply|sapply|lapply|paste0?|aggregate|tapply|t\.test|read\.csv)\(.*(\$\w+|\bdata\s*=|FUN|function\().*\))$",
    ),
    (
        "powershell",
        3,
        r"^\s*(Get|Set|New|Remove|Invoke|Write|Import|Export|Start|Stop|Add|Test|Select|Where|ForEach|Out|Copy|Move|Rename|Install|Update|Enable|Disable|Restart|Convert|ConvertTo|ConvertFrom|Measure|Sort|Join|Split|Clear|Read|Resolve)-[A-Z][A-Za-z]{2,}(\s+(-[A-Za-z]|[|\x22'$.(@{]|\S*[.\\/*:$]).*)$",
    ),
    ("powershell", 3, r"^\s*(Get|Set|New|Remove|Invoke|Import|Export|Restart)-[A-Z]\w+(\s\S+)?$"),
    (
        "powershell",
        4,
        r"^\s*(\$env:\w+|\$\w+(\.\w+)?\s*[+-]?=\s*(@[({]|[A-Z][a-z]+-[A-Z]\w+|\[|\$|\x22|'|\d)|.*\|\s*(Where|ForEach|Select|Sort|Measure|Format|Out)-[A-Z]\w+|param\s*\(|foreach\s*\(\$\w+\s+in\b.*|if\s*\(.*\s-(eq|ne|gt|lt|match|like|not)\b.*|PS( [A-Z]:\\[^>]*)?> |\[[A-Z]\w*(\.\w+)*\]::\w+|\$\w+(\.\w+)+\(.*\)(\s*>.*)?$|\[\w+(\[\])?\]\s*\$\w+\s*=)",
    ),
    (
        "groovy",
        3,
        r"^\s*(def\s+\w+\s*=\s*.*|println\s+[\x22'\w].*|(implementation|testImplementation|compile|api)\s+['\x22][\w.:-]+['\x22]|(plugins|dependencies|repositories|pipeline|android|stage\(.*\))\s*\{|.*\.each\s*\{.*\})\s*$",
    ),
    (
        "dockerfile",
        2,
        r"^(FROM [\w./-]+(:[\w.-]+)?( AS \w+)?|RUN \S+.*|COPY \S+ \S+|CMD \[.*|ENTRYPOINT \[.*|WORKDIR /\S*|EXPOSE \d+|ENV \w+[= ].+)$",
    ),
    (
        "dockerfile",
        4,
        r"^(FROM [\w./-]+(:[\w.-]+|@sha256:\w+)( (AS|as) \w+)?|RUN (--\S+ )*[a-z./][\w./+-]*\s.*(-|&&|/|=|install|\\).*|(COPY|ADD) (--\S+ )*\S*[./]\S* \S+|(CMD|ENTRYPOINT|SHELL|VOLUME) \[\x22.*|HEALTHCHECK (--\S+ )*(CMD|NONE)\b.*|ENV [A-Z_]+=\S.*|ARG [A-Z_]+=\S+|WORKDIR /\S*)$",
    ),
    (
        "makefile",
        5,
        r"^(\.PHONY\s*:.*|\t@\w+\s.*|\t.*\$[@<^].*|\t.*\$\([A-Z_]+\).*|[A-Z_]+\s*[:?+]?=\s*.*\$\((wildcard|patsubst|shell|[A-Z_]+)\b.*|[\w%.*/-]+\.?\w*\s*:\s*[\w%.*/-]*%[\w%.*/ -]*|ifn?eq \(.*\))$",
    ),
    (
        "terraform",
        5,
        r#"^(resource|data)\s+"\w+"\s+"[\w-]+"\s*\{|^(module|variable|provider|output)\s+"[\w-]+"\s*\{|^(terraform|locals)\s*\{"#,
    ),
    (
        "cmake",
        5,
        r"^\s*(cmake_minimum_required|add_executable|add_library|target_link_libraries|target_include_directories|find_package|set_target_properties|include_directories|add_subdirectory|enable_testing|add_test)\s*\(.*",
    ),
    (
        "visualbasic",
        4,
        r"^\s*((Public |Private )?(Sub|Function)\s+\w+\s*\(.*\).*|End (Sub|Function|If|With|Class|Module)|Dim\s+\w+(\(.*\))?(\s+As\s.*)?|(Else)?If\s.*\sThen|For Each \w+ In \w.*|For \w+ = .*\bTo\b.*|MsgBox\s.*|Debug\.Print\s.*|Console\.WriteLine\(.*\)|Range\(\x22.*|Set\s+\w+\s*=\s*\w.*)$",
    ),
    (
        "asm",
        3,
        r"^\s*(\w+:\s*)?(?i:mov|movl|movq|movzx|add|addl|addq|sub|subl|subq|imul|mul|xor|and|or|cmp|cmpl|test|lea|leaq|shl|shr|ldr|str|addi|lw|sw|li|adds|subs)\s+(?i:[re]?[abcd]x|[abcd][lh]|[re]?(si|di|sp|bp)|r\d+[dwb]?|[xw]\d+|[xy]mm\d+|\$?[astv]\d|\$(zero|sp|ra)|[%$]\w+|#\w+|((byte|word|dword|qword) (ptr )?)?\[.*\]|-?\d+\(%\w+\))\s*,\s*\S.*$",
    ),
    (
        "asm",
        2,
        r"^\s*((?i:push|pop|pushq|popq)\s+(?i:%?[re]?[abcd]x|%?[re]?(si|di|sp|bp)|\{.*\})|(jmp|je|jne|jz|jnz|jg|jge|jl|jle|bne|beq)\s+\.?\w+|int\s+0x\w+|ret|syscall|section\s+\.\w+|global\s+(_start|main)|\.(text|data|globl|section|global)\b.*|\w+\s+(db|dw|dd|equ)\s.*)$",
    ),
    (
        "fortran",
        4,
        r"^\s*(?i:end\s+(program|subroutine|module)(\s+\w+)?|implicit none|print\s*\*\s*,.*|(integer|real|logical|character|complex)(\s*\(.*\))?(\s*,\s*[\w()=:*, ]+)?\s*::.*|write\s*\(\*\s*,\s*\*\).*|subroutine\s+\w+\s*(\(.*\))?|do\s+\w+\s*=\s*\w+\s*,.*|call\s+\w+\(.*\)|if\s*\(.*\)\s*then)$",
    ),
    (
        "pascal",
        4,
        r"^\s*((?i:writeln|readln)\(.*\);?|(?i:program|unit)\s+\w+;|(?i:uses)\s+\w+;|\w+\s*:=\s*.*;|(?i:procedure|function)\s+\w+\(.*\)(\s*:\s*\w+)?;|(?i:for)\s+\w+\s*:=.*(?i:do).*|\w+(,\s*\w+)*\s*:\s*(?i:integer|string|real|boolean|char);)$",
    ),
    ("pascal", 2, r"^\s*(begin|end;|end\.)$"),
    (
        "solidity",
        5,
        r"^\s*(pragma solidity\b.*|contract\s+\w+.*\{|function\s+\w+\(.*\).*\b(external|public|internal|payable|view|pure)\b.*|mapping\s*\(.*=>.*|(uint|address)\d*\s+(public|private|internal)\s.*|require\(.*msg\.\w+.*)",
    ),
    (
        "proto",
        5,
        r"^\s*(syntax\s*=\s*\x22proto[23]\x22;|message\s+[A-Z]\w*\s*\{.*|(repeated\s+|optional\s+)?(string|int32|int64|bool|bytes|uint32|double|float|[A-Z]\w*)\s+\w+\s*=\s*\d+;|rpc\s+\w+\s*\(.*|service\s+\w+\s*\{)",
    ),
    (
        "objective-c",
        5,
        r"^\s*(@(interface|implementation|protocol)\s+\w+.*|@property\s*\(.*|@end|@autoreleasepool\s*\{|#import\s+[<\x22].*|NSLog\(@.*|[-+]\s*\(\w+\s*\*?\)\s*\w+.*|(NS\w+|UI\w+)\s*\*\s*\w+\s*=.*|\[\w+\s+\w+.*\];|.*\[\[\w+\s+alloc\].*)$",
    ),
    ("nim", 4, r"^\s*(proc\s+\w+\*?\(.*\)(\s*:\s*\w+)?\s*=|import\s+std/.*)$"),
    (
        "haskell",
        4,
        r"^[a-z]\w*'?(\s+[\w:()_\[\]]+)*\s+=\s.*\b(zipWith|foldr|foldl'?|takeWhile|dropWhile|iterate|replicate|concatMap|fromIntegral|unwords|unlines|mapM_)\b",
    ),
    ("typescript", 4, r"^\s*(export\s+)?interface\s+\w+\s*\{.*\w\??:\s*\w.*\}"),
    (
        "r",
        4,
        r"(^|[^.\w])(rnorm|runif|rbinom|sapply|lapply|tapply|vapply|data\.frame|read\.csv|paste0|nrow|ncol|colnames|rownames|rbind|cbind|t\.test|is\.na|na\.omit|setwd|as\.(numeric|character|factor|integer|Date))\(|\b[a-z]\w*\$[a-z]\w*[),]",
    ),
    ("javascript", 4, r"^\s*for\s*(await\s*)?\(\s*(const|let|var)\s"),
    ("javascript", 3, r"\[\.\.\.[a-zA-Z]\w*[\],]|\{\s*\.\.\.[a-zA-Z]\w*\s*[,}]"),
    (
        "javascript",
        2,
        r"^\s*((async|static|get|set)\s+)*[a-z]\w*\([\w, ={}\[\]]*\)\s*\{$|^\s*this\.\w+(\.\w+)*(\(.*\)|\s*=.*);$",
    ),
    ("java", 4, r"^\s*for\s*\([A-Z]\w*(<.*>)?\s+\w+\s*:\s*\S.*\)"),
    ("cpp", 3, r"^\s*for\s*\((const\s+)?[\w:<>]+\s*[&*]*\s+[&*]*\w+\s*:\s*\S.*\)"),
    ("csharp", 3, r"=\s*\w+\.[A-Z]\w*\(.*\);$"),
    ("haskell", 2, r"^[a-z]\w{2,}(\s+([a-z]\w?|\d+|_|\[\]|\([a-z:_, ]+\)))+\s+=\s+\S"),
    ("haskell", 4, r"\[\d+\s*(,\s*\d+)?\s*\.\.\s*\d*\]"),
    ("perl", 5, r"^\s*(print|push|say|die|next|last|return)\b.*\s(for|foreach|if|unless)\s.*[$@%]\w.*;"),
    ("php", 4, r"\$_(POST|GET|SERVER|SESSION|REQUEST|COOKIE|FILES)\[|\bisset\(\$"),
    ("shell", 4, r#"^case\s+["']?\$\{?\w+.*\bin$"#),
    ("shell", 3, r"^\s*\S+\)\s.*;;$"),
    ("shell", 3, r"^go (mod|vet|fmt|generate|env|work)( [\w./-]+)*$"),
    ("ruby", 3, r"^\s*[A-Z]\w*(\.\w+)+\(\w+: \S.*\)$"),
    ("swift", 3, r"^\s*[a-z]\w*(\.\w+)*\(\w+: \S.*\)$"),
    ("swift", 4, r#""[^"]*\\\([a-z][\w.]*\)[^"]*""#),
    ("haskell", 4, r"^(map|filter|foldr|foldl|zipWith)\s+\(\S*[*+/<>=.-].*\)\s+\S"),
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
            | "dart"
            | "solidity"
            | "scala"
            | "zig"
            | "graphql"
            | "objective-c"
            | "perl"
    )
}

/// Returns whether lines are sections of settings: names in brackets, and below them names with values.
pub(crate) fn is_settings(lines: &[&str]) -> bool {
    let mut lines =
        lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    let is_header = |line: &str| {
        let name = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        name.is_some_and(|name| {
            name.starts_with(|char: char| char.is_ascii_alphabetic() || matches!(char, '[' | '"'))
                && !name.contains([',', '(', '='])
        })
    };
    let is_setting = |line: &str| {
        let name = line.split_once('=').map_or("", |(name, _)| name.trim_end());
        !name.is_empty() && !name.contains(['(', ' ', '[', ':', '+'])
    };
    let mut settings = 0;
    lines.next().is_some_and(is_header)
        && lines.all(|line| {
            settings += usize::from(is_setting(line));
            is_header(line) || is_setting(line)
        })
        && settings > 0
}

/// Languages that have the lines of another one, and further ones.
const HEIRS: &[(&str, &str)] =
    &[("c", "cpp"), ("java", "csharp"), ("javascript", "typescript"), ("lisp", "scheme"), ("lisp", "clojure")];
/// Longest line that is matched, in bytes.
const MAX_LINE: usize = 1000;
/// Most memory that the states of the patterns take, in bytes; where they do not fit, matching is slower by far.
const MAX_STATES: usize = 32 << 20;
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
        RegexSetBuilder::new(patterns)
            .unicode(false)
            .dfa_size_limit(MAX_STATES)
            .build()
            .expect("the patterns are constants")
    });
    let mut scores: Vec<(&'static str, usize)> = Vec::new();
    let mut braces = 0;
    let mut bounds: Option<(usize, usize)> = None;
    let mut position = Position::Apart;
    for (index, line) in lines.iter().enumerate().take(MAX_LINES) {
        let line = line.trim_end();
        if line.is_empty() || line.len() > MAX_LINE {
            position = if position == Position::Introduced { position } else { Position::Apart };
            continue;
        }
        let is_prose = is_prose(line)
            && !line.starts_with(['#', '<'])
            && !line.ends_with(['{', '}'])
            && !line.trim_start().starts_with("foreach (");
        let is_plain =
            !line.contains(|char: char| char.is_ascii_punctuation() && !matches!(char, ',' | '-' | '!' | '?'));
        let is_sentence = is_sentence(line);
        let mut strongest = shell::weight(line, position);
        let mut counted: Vec<(&'static str, usize)> = Vec::new();
        if strongest > 0 {
            counted.push(("shell", strongest));
        }
        let is_recipe = line.starts_with('\t') && (strongest > 0 || line.starts_with("\t$"));
        if is_recipe && index > 0 && is_target(lines[index - 1]) {
            (strongest, counted) = (MAKE, vec![("makefile", MAKE)]);
        }
        for pattern in SET.matches(line.as_bytes()) {
            let (language, weight, _) = PATTERNS[pattern];
            // A sentence may end with a semicolon, or begin with "public".
            let is_sure = weight >= 4 || (weight >= 3 && has_operators(line));
            if is_prose && !is_sure && (language == "code" || is_braced(language)) {
                continue;
            }
            if is_prose && is_plain && is_braced(language) {
                continue;
            }
            // Sentences begin with names of statements, and speak of operators.
            if is_sentence && (is_prose || !has_operators(line)) && !matches!(language, "html" | "diff") {
                continue;
            }
            strongest = strongest.max(weight);
            match counted.iter_mut().find(|(name, _)| *name == language) {
                Some((_, most)) => *most = weight.max(*most),
                None => counted.push((language, weight)),
            }
        }
        for (language, weight) in counted {
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
        position = match () {
            () if line.ends_with([':', '：']) => Position::Introduced,
            () if strongest > 0 || line.trim_start().starts_with(['#', '$']) || line.ends_with('\\') => Position::Apart,
            () => Position::Within,
        };
    }
    let lines = bounds?;
    let best = scores
        .iter()
        .copied()
        .rev()
        .max_by_key(|(language, score)| score + if is_braced(language) { braces } else { 0 });
    // C++ has the lines of C as well, and so on.
    let best = best.map(|(language, score)| {
        let mut heirs = HEIRS.iter().filter(|(base, _)| *base == language).map(|(_, heir)| *heir);
        (heirs.find(|heir| scores.iter().any(|(name, _)| name == heir)).unwrap_or(language), score)
    });
    match best {
        Some((language, score)) => {
            Some(Recognised { language, weight: score + if is_braced(language) { braces } else { 0 }, lines })
        }
        None if braces >= ENOUGH => Some(Recognised { language: ANY, weight: braces, lines }),
        None => None,
    }
}

/// Weight of a rule of a makefile.
const MAKE: usize = 5;

/// Returns whether a line begins a rule of a makefile, and no block of another language.
fn is_target(line: &str) -> bool {
    let name = line.split_once(':').map_or("", |(name, _)| name);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'%');
    !name.is_empty() && name.bytes().all(is_name) && !matches!(name, "else" | "try" | "finally" | "default" | "do")
}

/// Returns whether a line that reads as words has a call, an assignment or an arrow where a statement has them.
fn has_operators(line: &str) -> bool {
    const OPERATORS: [&str; 18] = [
        " = ", "+=", "-=", "*=", "^=", "|=", "++", "->", "::", "&&", "||", "<<", " == ", " != ", " < ", " > ", " ? ",
        " % ",
    ];
    let calls = || {
        let bytes = line.as_bytes();
        bytes.windows(2).any(|pair| pair[1] == b'(' && (pair[0].is_ascii_alphanumeric() || pair[0] == b'_'))
    };
    let is_statement = line.ends_with([';', ')', '{', '}']);
    let is_computed =
        || line.split_once(" = ").is_some_and(|(_, value)| value.contains(['"', '\'', '(', '[', '{', '`']));
    line.contains("=>")
        || (is_statement && (OPERATORS.iter().any(|operator| line.contains(operator)) || calls()))
        || is_computed()
}

/// Weight from which unmarked text is code.
pub(crate) const ENOUGH: usize = 3;

/// Returns the language of code within a line, where it is a whole command, query or statement.
pub(crate) fn recognise_inline(span: &str) -> Option<&'static str> {
    let found = recognise(&[span]).filter(|found| found.weight >= ENOUGH)?;
    // Tags, keywords and selectors are names of things.
    // `cargo test` is the name of a command.
    let is_whole = matches!(found.language, "sql" | "shell" | "powershell" | "html") || span.ends_with(['}', ';', ')']);
    (is_whole && span.split_whitespace().count() > 2 && (!span.starts_with('<') || span.contains('=')))
        .then_some(found.language)
}

/// Compares evidence of Python with that of other languages.
pub(crate) fn is_rather_python(python: usize, other: Option<&Recognised>) -> bool {
    python >= python::weight(Evidence::Strong) && other.is_none_or(|other| python > other.weight)
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
            ("SELECT a FROM b", "sql"),
            ("select a, count(*) from b where c = 1", "sql"),
            ("arr.sort((a, b) => a - b)", "javascript"),
            ("#define MAX(a, b) ((a) > (b) ? (a) : (b))", "c"),
            ("let v: Vec<_> = line.split(',').collect();", "rust"),
            ("words.map(&:capitalize)", "ruby"),
            ("$total = array_sum($items);", "php"),
            ("(defun fact (n) (* n 2))", "lisp"),
            ("RUN apt-get update && apt-get install -y curl", "dockerfile"),
            (".card:hover { color: red; }", "css"),
            ("<img src=\"a.png\" alt=\"A\">", "html"),
            ("sha256sum a.iso", "shell"),
        ];
        for (line, language) in cases {
            let found = recognise(&[line]).expect(line);
            assert_eq!((found.language, found.weight >= ENOUGH), (language, true), "{line}");
        }
    }

    #[test]
    fn rules_of_makefiles_are_told_from_headers() {
        assert_eq!(recognise(&["clean:", "\trm -f a.o"]).map(|found| found.language), Some("makefile"));
        assert!(recognise(&["else:", "\tsee below"]).is_none());
    }

    #[test]
    fn settings_are_no_statements() {
        assert!(is_settings(&["[package]", "name = \"demo\"", "edition = \"2021\""]));
        assert!(!is_settings(&["[x]", "y = f(x)", "print(y)"]) && !is_settings(&["[package]"]));
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
            "SELECT is the most common statement of SQL.",
            "Settings => Privacy",
            "Program Overview",
            "add salt, pepper and oil",
            "(when in doubt, leave it out)",
            "object stored in the cache",
            "apples > oranges",
            "=== Summary ===",
            "update your profile and set a photo",
        ];
        for line in lines {
            assert!(recognise(&[line]).is_none_or(|found| found.weight < ENOUGH), "{line}");
        }
    }
}
