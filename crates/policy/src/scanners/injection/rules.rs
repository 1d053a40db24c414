//! Rules that recognise payloads.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

/// Rule for a kind of payload.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// Name of the match's rule.
    pub(super) name: &'static str,
    /// Category of its matches.
    pub(super) category: &'static str,
    /// Every payload has one of them in it; case does not matter.
    pub(super) anchors: &'static [&'static str],
    /// The payload; case does not matter. Its repetitions are bounded, or a text could be read over and over.
    pattern: &'static str,
    /// Of the match, in a text.
    pub(super) confidence: f64,
    /// Condition beyond the match of the expression.
    pub(super) check: Check,
    /// True when the payload does harm in a comment as well.
    pub(super) for_readers: bool,
    /// Reason given with a match.
    pub(super) reason: &'static str,
}

/// Condition that must hold besides the match of the expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// No further condition.
    None,
    /// Equality of both sides of the equation.
    Tautology,
    /// The first quote ends a text that did not begin in the payload.
    ClosesQuote,
    /// Absence of a query that the match could be the second half of.
    NoQueryBefore,
}

const SHELL: &str = "shell_injection";
const SQL: &str = "sql_injection";
const TEMPLATE: &str = "template_injection";
const PATH: &str = "path_traversal";
const MARKUP: &str = "script_injection";
const PROMPT: &str = "prompt_injection";

const fn rule(
    name: &'static str,
    category: &'static str,
    confidence: f64,
    anchors: &'static [&'static str],
    pattern: &'static str,
    reason: &'static str,
) -> Rule {
    Rule { name, category, anchors, pattern, confidence, check: Check::None, for_readers: false, reason }
}

impl Rule {
    const fn checked(self, check: Check) -> Self {
        Self { check, ..self }
    }

    const fn for_readers(self) -> Self {
        Self { for_readers: true, ..self }
    }
}

/// Matches the rule with this index in [`RULES`]. It goes by bytes, which makes it a tenth as large: a match may
/// begin or end inside of a character.
pub(super) fn regex(index: usize) -> &'static Regex {
    static COMPILED: [OnceLock<Regex>; RULES.len()] = [const { OnceLock::new() }; RULES.len()];
    COMPILED[index].get_or_init(|| {
        let mut builder = RegexBuilder::new(RULES[index].pattern);
        builder.unicode(false).case_insensitive(true).ignore_whitespace(true);
        builder.build().expect("a test compiles every pattern of this table")
    })
}

/// Sources: OWASP's cheat sheets on injection, PortSwigger's on server-side templates, GTFOBins, CVE-2021-44228 (JNDI),
/// OWASP's LLM01 (prompt injection).
pub(super) const RULES: &[Rule] = &[
    rule(
        "download_and_run",
        SHELL,
        0.93,
        &["curl", "wget", "iwr", "invoke-webrequest", "downloadstring"],
        r"\b(?:curl|wget)\b [^\n|]{1,200} \| \s{0,4} (?:sudo\s{1,3})? (?:/\S{0,20}/)? (?:(?:ba|z|da|k|c|a)?sh\b
            |(?:python|perl|ruby|node|php)[0-9.]{0,4}(?:\s|$))
        | (?:ba|z)?sh \s{1,3} (?:-c\s{1,3})? [\x22']? (?:<\(|\$\(|`) \s{0,3} (?:curl|wget)\b
        | (?:iex|invoke-expression)\b [^\n]{0,60} (?:downloadstring|iwr\b|invoke-webrequest|curl\b)
        | (?:downloadstring|iwr\b|invoke-webrequest)[^\n]{0,200} \| \s{0,3} (?:iex|invoke-expression)\b",
        "A shell command that runs what it downloads.",
    ),
    rule(
        "reverse_shell",
        SHELL,
        0.95,
        &["/dev/tcp/", "/dev/udp/", "nc ", "ncat", "netcat", "socat", "tcpclient", "pty.spawn", "mkfifo"],
        r"/dev/(?:tcp|udp)/[^\s/]{1,100}/\S
        | \b(?:nc|ncat|netcat)(?:\.exe|\.traditional|\.openbsd)? \s [^\n|;]{0,80} (?:-[a-z]{0,4}[ec]|--exec
            |--sh-exec) \s{1,3} [\x22']? (?:/\S{0,20}/)? (?:ba|z|da)?(?:sh|cmd(?:\.exe)?|powershell)\b
        | mkfifo \s [^\n]{1,120} \| [^\n]{0,60} (?:sh|bash) \s [^\n]{0,60} \| [^\n]{0,40} \b(?:nc|ncat|netcat
            |telnet|openssl)\b
        | socat \s [^\n]{0,120} exec:
        | new-object \s{1,3} [^\n]{0,20} net\.sockets\.tcpclient
        | pty\.spawn \s{0,2} \( \s{0,2} [\x22'\[] [^)\n]{0,30} sh\b",
        "A shell that somebody else controls.",
    ),
    rule(
        "fork_bomb",
        SHELL,
        0.97,
        &["|:&", ":|:", "|: &", ": | :", "%0|%0"],
        r":\s{0,2}\(\s{0,2}\)\s{0,2}\{\s{0,3}:\s{0,2}\|\s{0,2}:\s{0,2}&\s{0,2}\}\s{0,2};\s{0,2}: | %0\|%0",
        "A fork bomb.",
    ),
    rule(
        "decode_and_run",
        SHELL,
        0.94,
        &["base64", "xxd", "encodedcommand", "frombase64string", "-enc "],
        r"base64 \s{1,3} (?:-d|--decode|-di) \b [^\n|]{0,120} \| \s{0,4} (?:sudo\s{1,3})? (?:/\S{0,20}/)?
            (?:(?:ba|z|da|k)?sh|python[0-9.]{0,4}|perl)\b
        | xxd \s{1,3} -r \s{1,3} -p [^\n|]{0,80} \| \s{0,4} (?:ba|z)?sh\b
        | (?:ba|z)?sh \s [^\n]{0,40} (?:<<<|<\(|\$\() [^\n]{0,120} base64 \s{1,3} (?:-d|--decode)
        | powershell(?:\.exe)? \s [^\n]{0,80} -e(?:nc|ncodedcommand)? \s{1,3} [a-z0-9+/=]{16}",
        "A shell command that runs what it decodes.",
    ),
    rule(
        "destructive_command",
        SHELL,
        0.9,
        &["rm -", "mkfs", "of=/dev/", "> /dev/sd", ">/dev/sd", "del /", "format c:", "rd /s"],
        r"\brm \s{1,4} (?:-[a-z]{1,8}\s{1,3}){0,2} -(?:[a-z]{0,4}r[a-z]{0,4}f|[a-z]{0,4}f[a-z]{0,4}r)[a-z]{0,4}
            \s{1,4} (?:--no-preserve-root\s{1,3})? [\x22']? (?:/\*?|~/?\*?|\$home/?\*?|/(?:etc|usr|bin|boot|home
            |var|root|lib)/?\*?|\*) (?:[\s\x22'`;&|)]|$)
        | \bmkfs(?:\.[a-z0-9]{2,6})? \s [^\n]{0,40} /dev/[a-z]
        | \bdd \s [^\n]{0,80} of=/dev/(?:sd|hd|nvme|vd|mmcblk|disk)
        | > \s{0,3} /dev/(?:sd|hd|nvme|vd)[a-z0-9]
        | \bdel \s{1,3} (?:/[fsq]\s{1,3}){2,3} c: | \brd \s{1,3} /s \s{1,3} /q \s{1,3} c: | \bformat \s{1,3}
            c:\s{1,3}/",
        "A shell command that destroys what is on a disk.",
    ),
    rule(
        "command_separator",
        SHELL,
        0.85,
        &[
            "rm -",
            "cat /",
            "nc -",
            "ncat -",
            ";id",
            "; id",
            "|id",
            "| id",
            "&id",
            "& id",
            "whoami",
            "uname -",
            "chmod ",
            "sleep ",
            "ping -",
            "bin/sh",
            "bin/bash",
            "bin/dash",
            "bin/zsh",
            "nslookup ",
        ],
        r"(?:^|[\x22'\w./)\]]) \s{0,2} (?:;|\|\||&&|\||\n|%0a|&) \s{0,4} (?:sudo\s{1,3})? (?:
        rm\s{1,3}-[a-z]{0,6}[rf][a-z]{0,6}\s{1,3}[/~.*$\w]
        | cat\s{1,3}/(?:etc|proc|root|var|home|flag)\b
        | (?:nc|ncat)\s{1,3}-[a-z]
        | chmod\s{1,3}(?:\+s|[0-7]{0,1}777|u\+s)
        | (?:/usr)?/bin/(?:ba|da|z)?sh\b
        | nslookup\s{1,3}\S{1,80}\.
        )
        | [\x22'\w)] \s{0,2} (?:;|\|\||&&|\|) \s{0,2} (?:whoami|id|uname\s{1,2}-a|sleep\s{1,2}\d{1,3}
            |ping\s{1,2}-[cn]\s{1,2}\d{1,3}\s{1,2}\S{1,60}) \s{0,2} (?:[;|&\#]|$)",
        "A second shell command behind a value.",
    ),
    rule(
        "command_substitution",
        SHELL,
        0.8,
        &["$(", "`curl", "` curl", "`wget", "` wget", "`cat /", "` cat /", "`rm -", "` rm -", "`sleep ", "` sleep "],
        r"\$\( \s{0,3} (?: (?:curl|wget|nc|ncat|nslookup|dig)\s{1,3}[^)\n]{1,200} | (?:cat|head|tail
            |base64)\s{1,3}[^)\n]{0,20}/(?:etc|proc|root|home)[^)\n]{0,60} | whoami | id | uname\s{1,2}-a |
            rm\s{1,3}-[a-z]{1,6}\s[^)\n]{1,60} | (?:ba|z)?sh\s{1,3}-c[^)\n]{0,80} | sleep\s{1,2}\d{1,3} )
            \s{0,3} \)
        | ` \s{0,2} (?: (?:curl|wget)\s{1,3}(?:-[a-zA-Z]{1,8}\s{1,3}){0,3}[\x22']?(?:https?://|\$)[^`\n]{1,200}
            | cat\s{1,3}/etc/(?:passwd|shadow) | rm\s{1,3}-rf\s{1,3}[/~][^`\n]{0,60} | sleep\s{1,2}\d{1,3} )
            \s{0,2} `",
        "A shell command inside a value.",
    ),
    rule(
        "sql_tautology",
        SQL,
        0.92,
        &[
            "' or",
            "'or",
            "')or",
            "') or",
            "'||",
            "' ||",
            "' and",
            "'and",
            "') and",
            "\" or",
            "\"or",
            "\") or",
            "\"||",
            "\" and",
            "1=1",
            "1 = 1",
            "1= 1",
            "'='",
            "' = '",
            "\"=\"",
            "true=true",
        ],
        r"(?: [\x22'] \s{0,4} \){0,3} | \b\d{1,9} \){0,3} \s{1,4} ) \s{0,4} (?:or|and|\|\||&&) [\s(+]{0,4} (?:
            [\x22'] [\w\ ]{0,20} [\x22'] \s{0,3} = \s{0,3} [\x22'] [\w\ ]{0,20} [\x22']?
            | \d{1,9} \s{0,3} = \s{0,3} \d{1,9}
            | true \s{0,3} = \s{0,3} true
            | (?-x:\w{1,20}\s{0,3}=\s{0,3}\w{1,20})
        ) \){0,3} \s{0,4} (?:--|\#|/\*|;)? -?",
        "A condition of SQL that always holds.",
    )
    .checked(Check::Tautology),
    rule(
        "sql_union",
        SQL,
        0.88,
        &["union"],
        r"(?:[\x22'\d)]|^) \s{0,4} \){0,3} \s{0,4} union [\s/*+]{1,10} (?:all[\s/*+]{1,10})? (?:distinct\s{1,4})?
            select \b [^\n]{0,200} (?:--|\#|/\*|information_schema|sqlite_master|pg_catalog|@@version|load_file
            |null\s{0,2},\s{0,2}null|\d\s{0,2},\s{0,2}\d)",
        "A query joined to somebody else's query.",
    )
    .checked(Check::NoQueryBefore),
    rule(
        "sql_stacked",
        SQL,
        0.9,
        &[
            ";drop",
            "; drop",
            ";truncate",
            "; truncate",
            ";alter",
            "; alter",
            ";delete",
            "; delete",
            ";insert",
            "; insert",
            ";update",
            "; update",
            ";exec",
            "; exec",
            ";shutdown",
            "; shutdown",
            ";create",
            "; create",
        ],
        r"(?: [\x22'] \s{0,3} \){0,3} | ^ \s{0,3} [\w-]{0,20} ) \s{0,3} ; \s{0,4} (?: drop\s{1,4}(?:table|database
            |schema|view|user)\s{1,4}\S{1,60} | truncate\s{1,4}table\s{1,4}\S | alter\s{1,4}(?:table
            |user)\s{1,4}\S | delete\s{1,4}from\s{1,4}\S | insert\s{1,4}into\s{1,4}\S |
            update\s{1,4}\w{1,40}\s{1,4}set\s | exec(?:ute)?\s{1,4}(?:sp|xp|master)\S | shutdown\b |
            create\s{1,4}user\s )",
        "A statement of SQL behind a value.",
    )
    .checked(Check::ClosesQuote),
    rule(
        "sql_procedure",
        SQL,
        0.85,
        &[
            "xp_cmdshell",
            "sp_oacreate",
            "outfile",
            "dumpfile",
            "load_file",
            "utl_http",
            "dbms_",
            "program '",
            "program \"",
        ],
        r"\bxp_cmdshell\b | \bsp_oacreate\b | \binto\s{1,4}(?:out|dump)file\s{1,4}[\x22'] |
            \bload_file\s{0,2}\(\s{0,2}[\x22'0] | \butl_http\.request | \bdbms_(?:ldap|pipe|lock)\.
        | \bcopy \s [^\n;]{1,80} \b(?:from|to)\s{1,3}program\s{1,3}[\x22']",
        "A procedure of databases that reaches the machine.",
    ),
    rule(
        "sql_delay",
        SQL,
        0.85,
        &["sleep(", "sleep (", "benchmark(", "waitfor", "randomblob("],
        r"(?:\b(?:and|or|select|if|union|case|when|then)\b|[,(|;'\x22]) [\s(+]{0,5} (?:pg_sleep|dbms_lock\.sleep)
            \s{0,2} \( \s{0,2} \d{1,5}
        | (?:\b(?:and|or|select|union|case|when|then)\b|\bif\s{0,2}\([^)\n]{1,60},|[\x22']\s{0,2}(?:\|\||\+|\^
            |-)) [\s(+]{0,5} sleep \s{0,2} \( \s{0,2} \d{1,5} \s{0,2} \)
        | benchmark \s{0,2} \( \s{0,2} \d{4,12} \s{0,2} ,
        | waitfor \s{1,4} delay \s{0,4} [\x22']\d
        | randomblob \s{0,2} \( \s{0,2} \d{7,12}",
        "A query that tells by its time what is in a database.",
    ),
    rule(
        "sql_comment",
        SQL,
        0.6,
        &[
            "'--", "' --", "')--", "') --", "'#", "' #", "')#", "'/*", "' /*", "')/*", "\"--", "\" --", "\"#", "\" #",
            "\"/*",
        ],
        r"^ \w{1,30} [\x22'] \){0,3} \s{0,3} (?:--|\#|/\*) \s{0,3} -? \s{0,3} $",
        "A value that ends a query early.",
    ),
    rule(
        "template_expression",
        TEMPLATE,
        0.85,
        &["{{", "${", "#{", "<%", "{%", "*{"],
        r"\{\{ -? \s{0,5} ['\x22]?\d{1,9}['\x22]? \s{0,3} [*] \s{0,3} ['\x22]?\d{1,9}['\x22]? \s{0,5} \}\}
        | (?:\$|\#|\*)\{ \s{0,5} \d{1,9} \s{0,3} [*] \s{0,3} \d{1,9} \s{0,5} \}
        | <%=? \s{0,5} \d{1,9} \s{0,3} [*] \s{0,3} \d{1,9} \s{0,5} %>",
        "A template that is asked whether it computes.",
    ),
    rule(
        "template_escape",
        TEMPLATE,
        0.92,
        &["{{", "${", "<%", "{%", "#{", "#set"],
        r"\{[{%] [^}\n]{0,200} (?:__class__|__globals__|__mro__|__subclasses__|__builtins__|__import__|__bases__
            |\blipsum\b|\bcycler\.|get_flashed_messages|url_for\.|request\.(?:application|environ)|self\.__
            |\|\s{0,3}attr\s{0,2}\(|\bpopen\s{0,2}\()
        | \{% -? \s{0,5} (?:import|include|from) \s{1,5} ['\x22]? (?:os|sys|subprocess|builtins|/etc)\b
        | <%=? \s{0,5} (?:system|exec|eval|`|io\.popen|file\.(?:open|read)|kernel\.|runtime\.|java\.lang)
        | [$\#*]\{ \s{0,5} (?:t\s{0,2}\(\s{0,2}java\.|[^}\n]{0,80} (?:getruntime|processbuilder
            |getclass\s{0,2}\(|freemarker\.template\.utility))
        | \#set\s{0,2}\(\s{0,2}\$[^)\n]{0,80}(?:class|runtime)",
        "A template that reaches out of the template engine.",
    ),
    rule(
        "template_config",
        TEMPLATE,
        0.6,
        &["{{config", "{{ config", "{{settings", "{{ settings"],
        r"\{\{ \s{0,5} (?:config(?:\.items\s{0,2}\(\s{0,2}\))?|settings\.secret_key
            |config\[['\x22]secret_key['\x22]\]) \s{0,5} \}\}",
        "A template that shows the configuration.",
    ),
    rule(
        "jndi_lookup",
        TEMPLATE,
        0.97,
        &["jndi", "${lower:", "${upper:", "::-"],
        r"\$\{ \s{0,3} jndi \s{0,3} : | \$\{ (?:\$\{ [^}\n]{0,20} \} | [jndi]){1,8} [^}\n]{0,10} : | \$\{ (?:lower
            |upper|env:\w{0,20}|::) :?-? [jndi] \}",
        "A lookup that loads code (CVE-2021-44228).",
    ),
    rule(
        "path_traversal",
        PATH,
        0.9,
        &["../", "..\\", "%2e%2e", "..%2f", "..%5c", "..%c0", "....//", "..;/", "%252e"],
        r"(?:\.\.[/\\]{1,4}){1,20} (?:[\w.-]{1,40}[/\\]{1,4}){0,4} (?:etc[/\\]{1,4}(?:passwd|shadow|hosts|group
            |sudoers)|proc[/\\]{1,4}(?:self|\d{1,7})|root[/\\]|windows[/\\]{1,4}(?:win\.ini|system32)|boot\.ini
            |\.ssh[/\\]|\.aws[/\\]|id_rsa|flag(?:\.txt)?\b)
        | (?:(?:%2e%2e|%252e%252e|\.\.)(?:%2f|%5c|%252f|%255c|%c0%af|%c1%9c)){1,20}
        | (?:%2e%2e[/\\]){1,20} | (?:\.{4}//){2,20} | (?:\.\.;/){1,20}",
        "A path that leads out of its directory.",
    ),
    rule(
        "deep_relative_path",
        PATH,
        0.45,
        &["../../..", "..\\..\\.."],
        r"(?:\.\.[/\\]){3,40}",
        "A path that goes up far.",
    ),
    rule(
        "script_element",
        MARKUP,
        0.85,
        &[
            "<script", "<svg", "<img", "<iframe", "<body", "<object", "<embed", "onerror", "onload", "<details",
            "<video", "<a ",
        ],
        r"<script[^>\n]{0,200}> \s{0,10} (?:alert|prompt|confirm|eval|fetch|document\.(?:cookie|location|write)
            |window\.location|location\s{0,2}=|new\s{1,3}image
            |var\s{1,3}\w{1,10}\s{0,2}=\s{0,2}new\s{1,3}(?:image|xmlhttprequest))
        | <script[^>\n]{0,100}\ssrc\s{0,2}=\s{0,2}[\x22']?(?:data:|//\d{1,3}\.)
        | <(?:img|svg|body|iframe|input|video|audio|details|object|embed|marquee|a)\b [^>\n]{0,200} [\s/\x22']
            on[a-z]{3,20} \s{0,2} = \s{0,2} [\x22'`]? \s{0,2} (?:javascript:|alert|prompt|confirm|eval|fetch
            |document\.|window\.|location|new\s{1,3}image|this\.src|import\()
        | <(?:iframe|a|form|object|embed|base)\b [^>\n]{0,200} (?:src|href|action|data) \s{0,2} = \s{0,2}
            [\x22']? \s{0,4} javascript:\s{0,3}[^v\s]",
        "Markup that runs a script.",
    ),
    rule(
        "ignore_instructions",
        PROMPT,
        0.9,
        &["ignore", "disregard", "forget", "override", "bypass"],
        r"\b(?:ignore|disregard|forget|override|bypass) \s{1,4} (?:(?:all|any|every|each|the|of|your|my|these
            |those|other|and)\s{1,4}){0,5} (?:previous|prior|above|earlier|preceding|foregoing|existing|system
            |original|initial|safety|given) \s{1,4} (?:(?:system|and|safety|user|or)\s{1,4}){0,3} (?:instruction
            |prompt|rule|direction|guideline|directive|command|polic|constraint|order)[a-z]{0,4}\b
        | \b(?:ignore|disregard|forget) \s{1,4} (?:everything|all|what) \s{1,4} (?:you\s{1,4}(?:were
            |have\s{1,4}been)\s{1,4}told|that\s{1,4}came\s{1,4}before|(?:written\s{1,4})?above\s{1,4}(?:this
            |and))
        | \b(?:ignore|disregard|forget) \s{1,4} (?:all\s{1,4})?(?:of\s{1,4})?your \s{1,4} (?:instruction|prompt
            |rule|guideline|training)[a-z]{0,3}\b",
        "A text that wants a model to drop its instructions.",
    )
    .for_readers(),
    rule(
        "reveal_prompt",
        PROMPT,
        0.85,
        &[
            "system prompt",
            "hidden prompt",
            "initial prompt",
            "initial instructions",
            "hidden instructions",
            "developer message",
        ],
        r"\b(?:reveal|print|show|repeat|output|display|leak|tell\s{1,3}me|give\s{1,3}me|what\s{1,3}is) \s{1,4}
            (?:me\s{1,4})? (?:(?:all|the|of|your|full|entire|exact|complete)\s{1,4}){1,4} (?:system\s{1,4}prompt
            |hidden\s{1,4}(?:prompt|instructions)|initial\s{1,4}(?:prompt|instructions)|developer\s{1,4}message)",
        "A text that wants a model to show its instructions.",
    )
    .for_readers(),
    rule(
        "new_role",
        PROMPT,
        0.8,
        &[
            "you are now",
            "developer mode",
            "do anything now",
            "jailbr",
            "from now on, you",
            "from now on you",
            "pretend to be",
            "act as",
        ],
        r"\byou \s{1,4} are \s{1,4} now \s{1,4} (?:(?:a|an|the|in)\s{1,4})? (?:dan\b|unrestricted|jailbroken
            |developer\s{1,4}mode|free\s{1,4}(?:from|of)|evil|root\b|admin)
        | \b(?:enter|enable|activate|switch\s{1,4}to) \s{1,4} (?:developer|god|dan|jailbreak
            |unrestricted)\s{1,4}mode
        | \bdo\s{1,4}anything\s{1,4}now\b
        | \bfrom\s{1,4}now\s{1,4}on,?\s{1,4}you\s{1,4}(?:must|will|are|should)\b
        | \b(?:pretend\s{1,4}to\s{1,4}be|act\s{1,4}as)\s{1,4}(?:an?\s{1,4})?(?:unrestricted|unfiltered
            |jailbroken|evil)\b",
        "A text that gives a model another role.",
    )
    .for_readers(),
    rule(
        "chat_markup",
        PROMPT,
        0.7,
        &[
            "<|im_start|>",
            "<|system|>",
            "<|start_header_id|>",
            "[inst]",
            "<<sys>>",
            "<|endoftext|>",
            "</system>",
            "<|eot_id|>",
        ],
        r"<\|im_start\|>\s{0,3}(?:system|assistant) | <\|system\|> | <\|start_header_id\|>\s{0,3}(?:system
            |assistant) | \[inst\][^\n]{0,20}<<sys>> | <<sys>> | </system>\s{0,5}<(?:user|system|assistant)>",
        "Marks that end a turn of a conversation with a model.",
    )
    .for_readers(),
    rule(
        "hide_from_user",
        PROMPT,
        0.75,
        &["the user", "the human"],
        r"\b(?:do\s{1,4}not|don't|dont|never|without) \s{1,4} (?:tell|telling|inform|informing|notify|notifying
            |mention|mentioning|alert|alerting) \s{1,4} (?:(?:this|it|anything|that)\s{1,4}(?:to\s{1,4})?)? the
            \s{1,4} (?:user|human)\b",
        "A text that wants a model to hide something.",
    )
    .for_readers(),
    rule(
        "talk_to_grader",
        PROMPT,
        0.85,
        &[
            "grader",
            "grading",
            "evaluator",
            "reviewer",
            "judge",
            "examiner",
            "scorer",
            "full marks",
            "full score",
            "full credit",
            "maximum score",
            "max score",
            "perfect score",
            "highest score",
            "maximum points",
        ],
        r"\b(?:note|message|notice|attention|instruction|dear|hey|hello|hint|memo)s?\b [\s:,]{0,3} (?:(?:to|for
            |the|this|all|any|automated|automatic|auto|ai|llm|human)[\s,-]{1,3}){0,5} (?:auto-?)?(?:grader
            |evaluator|reviewer|judge|examiner|scorer|grading\s{1,3}(?:system|model|bot|script))s?\b
        | \b(?:grader|evaluator|reviewer|judge|examiner|scorer|grading\s{1,3}(?:system|model|bot))s?\b \s{0,2}
            [,:;-]{0,2} \s{0,4} (?:(?:please|must|should|you|will|can|to|just|always|now|is|are|asked|instructed
            |required)\s{1,4}){0,4} (?:give|award|assign|mark|score|rate|return|output|report|accept|approve
            |grade|respond|answer|consider|treat) \s [^\n.]{0,80} (?:full|maximum|max\b|perfect|highest|100
            |10/10|5/5|pass|correct|accepted|top)
        | \b(?:give|award|assign|grant) \s{1,4} (?:(?:this|the|my|our|me|it|us|a|an|solution|submission|answer
            |code|program|student|candidate)\s{1,4}){1,4} (?:full|perfect|maximum|max|highest
            |top)(?:\s{1,4}possible)? \s{1,4} (?:mark|score|credit|point|grade|rating)s?\b",
        "A text that speaks to who grades the program.",
    )
    .for_readers(),
    rule(
        "claims_verdict",
        PROMPT,
        0.75,
        &[
            "mark this",
            "mark it",
            "treat this",
            "already been",
            "has been verified",
            "is verified",
            "all tests pass",
            "consider this",
        ],
        r"\b(?:mark|treat|consider|accept|regard) \s{1,4} (?:this|it|the\s{1,3}(?:solution|submission|code
            |answer)) \s{1,4} (?:(?:solution|submission|code|answer|as|to\s{1,3}be|program)\s{1,4}){0,3}
            (?:passed|passing|correct|accepted|verified|approved|solved)\b
        | \b(?:this|the) \s{1,4} (?:solution|submission|code|answer|program) \s{1,4} (?:has \s{1,4}
            (?:already\s{1,4})?been|is|was) \s{1,4} (?:already\s{1,4})? (?:verified|validated|reviewed|graded
            |approved|tested) [^\n]{0,80} (?:no\s{1,4}need|not\s{1,4}necessary|skip|do\s{1,4}not|don't
            |need\s{1,4}not)",
        "A text that says what the verdict is.",
    )
    .for_readers(),
];
