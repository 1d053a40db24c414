//! File types of `rg -t`: a name, and patterns of file names.

/// Types by name, in order, each with its patterns.
#[rustfmt::skip]
pub(super) const TYPES: &[(&str, &str)] = &[
    ("c", "*.[chH], *.[chH].in, *.cats"),
    ("cmake", "*.cmake, CMakeLists.txt"),
    ("cpp", "*.[ChH], *.[ChH].in, *.[ch]pp, *.[ch]pp.in, *.[ch]xx, *.[ch]xx.in, *.cc, *.cc.in, *.hh, *.hh.in, *.inl"),
    ("csharp", "*.cs"),
    ("css", "*.css, *.scss"),
    ("csv", "*.csv"),
    ("diff", "*.diff, *.patch"),
    ("go", "*.go"),
    ("html", "*.ejs, *.htm, *.html"),
    ("java", "*.java, *.jsp, *.jspx, *.properties"),
    ("js", "*.cjs, *.js, *.jsx, *.mjs, *.vue"),
    ("json", "*.json, *.sarif, composer.lock"),
    ("jsonl", "*.jsonl"),
    ("kotlin", "*.kt, *.kts"),
    ("log", "*.log"),
    ("lua", "*.lua"),
    ("make", "*.mak, *.mk, Makefile.*, [Gg][Nn][Uu]makefile, [Gg][Nn][Uu]makefile.am, [Gg][Nn][Uu]makefile.in, [Mm]akefile, [Mm]akefile.am, [Mm]akefile.in"),
    ("markdown", "*.markdown, *.md, *.mdown, *.mdwn, *.mdx, *.mkd, *.mkdn"),
    ("md", "*.markdown, *.md, *.mdown, *.mdwn, *.mdx, *.mkd, *.mkdn"),
    ("perl", "*.PL, *.perl, *.pl, *.plh, *.plx, *.pm, *.t"),
    ("php", "*.php, *.php3, *.php4, *.php5, *.php7, *.php8, *.pht, *.phtml"),
    ("protobuf", "*.proto"),
    ("py", "*.py, *.pyi"),
    ("python", "*.py, *.pyi"),
    ("r", "*.R, *.Rmd, *.Rnw, *.r, *.rmd, *.rnw"),
    ("rst", "*.rst"),
    ("ruby", "*.gemspec, *.rake, *.rb, *.rbw, .irbrc, Gemfile, Rakefile, config.ru"),
    ("rust", "*.rs"),
    ("sh", "*.bash, *.bashrc, *.csh, *.cshrc, *.env, *.ksh, *.kshrc, *.sh, *.tcsh, *.zsh, .bash_login, \
        .bash_logout, .bash_profile, .bashrc, .cshrc, .env, .kshrc, .login, .logout, .profile, .tcshrc, \
        .zlogin, .zlogout, .zprofile, .zshenv, .zshrc, bash_login, bash_logout, bash_profile, bashrc, profile, \
        zlogin, zlogout, zprofile, zshenv, zshrc"),
    ("sql", "*.psql, *.sql"),
    ("swift", "*.swift"),
    ("toml", "*.toml, Cargo.lock"),
    ("ts", "*.cts, *.mts, *.ts, *.tsx"),
    ("txt", "*.txt"),
    ("typescript", "*.cts, *.mts, *.ts, *.tsx"),
    ("xml", "*.dtd, *.rng, *.sch, *.xhtml, *.xjb, *.xml, *.xml.dist, *.xsd, *.xsl, *.xslt"),
    ("yaml", "*.yaml, *.yml"),
];
