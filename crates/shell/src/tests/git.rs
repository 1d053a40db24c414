//! The program `git`.

use super::{Fake, longest_stretch, ran, shown};
use crate::Host;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use proofbox_vfs::lock;
use sha1::{Digest, Sha1};
use std::io::Write;
use std::time::{Duration, Instant};

/// Runs a script in a new repository with one commit.
fn in_repository(text: &str) -> String {
    let start = "git config --global user.name U; git config --global user.email u@example.com; git init -q -b main r; cd r; \
                 echo one > a; mkdir d; echo two > d/b; git add -A; git commit -qm first; ";
    let (stdout, stderr, code) = shown(&format!("{start}{text}"));
    format!("{stdout}{stderr}{}", if code == 0 { String::new() } else { format!("exit {code}\n") })
}

#[test]
fn objects_have_gits_own_names() {
    let said = in_repository(
        "export GIT_AUTHOR_DATE='1700000000 +0100' GIT_COMMITTER_DATE='1700000000 +0000'; rm -r .git; git init -q -b main; \
         git add -A; git commit -qm x; git ls-files -s; git log -1 --pretty=%T,%H",
    );
    // As git 2.47 names them.
    assert_eq!(
        said,
        "100644 5626abf0f72e58d7a153368ba57db4c673c0e171 0\ta\n100644 f719efd430d52bcfc8566a43b2eb655688d38871 0\td/b\n\
         bdd05731c9774fdf24e800ad8e1f57a2f584a4d4,619f01245222d82532e3f9555511804d966f7c56\n"
    );
}

#[test]
fn status_tells_what_changed() {
    let said = in_repository(
        "echo more >> a; echo new > n; mkdir u; echo x > u/v; echo '*.o' > .gitignore; echo x > y.o; git add n .gitignore; \
         git mv d/b 'd/c d'; git status --porcelain -b; git rm -q --cached n; git status -s",
    );
    assert_eq!(
        said,
        "## main\nA  .gitignore\n M a\nR  d/b -> \"d/c d\"\nA  n\n?? u/\nA  .gitignore\n M a\nR  d/b -> \"d/c d\"\n?? n\n?? u/\n"
    );
}

#[test]
fn branches_keep_their_files() {
    let said = in_repository(
        "git checkout -q -b other; echo other > a; git rm -q d/b; git commit -qam second; git checkout main; cat a d/b; \
         git branch; git switch other; ls; git branch -d main; git checkout main; git branch -d other; git branch -D other",
    );
    assert!(said.contains("one\ntwo\n* main\n  other\na\nDeleted branch main"), "{said}");
    let said =
        in_repository("git checkout -q -b o; echo 2 > a; git commit -qam 2; echo 3 > a; git checkout main; cat a");
    assert!(said.contains("would be overwritten by checkout:\n\ta\n") && said.contains("3\n"), "{said}");
    let said = in_repository("git branch -D main; git branch 'a b'; git branch -- -x; git checkout nowhere");
    assert!(
        said.contains("cannot delete branch 'main'") && said.contains("'a b' is not a valid branch name"),
        "{said}"
    );
    assert!(said.contains("pathspec 'nowhere' did not match"), "{said}");
}

#[test]
fn what_was_changed_can_be_taken_back() {
    let said = in_repository(
        "echo x > a; git add a; git restore --staged a; git status -s; git restore a; cat a; echo y > a; rm -r d; \
         git reset -q --hard; cat a d/b; echo z > a; git checkout -- a; git add a; git status -s; git rm -q a; git reset -q HEAD a; \
         git status -s; git commit -qm empty; git commit -q --allow-empty -m empty; git reset -q --soft HEAD~1; git log --oneline | wc -l",
    );
    assert_eq!(said.replace(' ', ""), "Ma\none\none\ntwo\nDa\n1\n".replace(' ', ""), "{said}");
}

#[test]
fn modes_are_kept() {
    let said = in_repository(
        "chmod +x a; git status -s; git commit -qam x; git ls-files -s a; git checkout -q HEAD~1; test -x a || echo plain; \
         git checkout -q main; test -x a && echo runs",
    );
    assert_eq!(said, " M a\n100755 5626abf0f72e58d7a153368ba57db4c673c0e171 0\ta\nplain\nruns\n");
}

#[test]
fn history_and_differences_are_shown() {
    let said = in_repository(
        "printf 'one\\nmore\\n' > a; git diff; git commit -qam second; git log --pretty=%s; git log -1 --format=%an,%ae,%B; \
         git diff --name-status HEAD~1 HEAD; git show HEAD:a; git show -s --format=%s HEAD~; git log d/b --format=%s",
    );
    assert_eq!(
        said,
        "diff --git a/a b/a\nindex 5626abf..9a72323 100644\n--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n one\n+more\nsecond\nfirst\n\
         U,u@example.com,second\n\nM\ta\none\nmore\nfirst\nfirst\n"
    );
}

#[test]
fn repositories_of_the_sandbox_are_remotes() {
    let said = in_repository(
        "cd ..; git init -q --bare -b main b.git; cd r; git remote add origin ../b.git; git push -u origin main 2>/dev/null; \
         cd ..; git clone -q b.git c; cd c; cat a; echo 2 > a; git commit -qam 2; git status -sb; git push -q 2>/dev/null; cd ../r; git pull; \
         cat a; git status -sb; git rev-parse --abbrev-ref --symbolic-full-name @{u}; git clone https://example.com/x",
    );
    assert!(said.contains("set up to track 'origin/main'.\none\n## main...origin/main [ahead 1]\n"), "{said}");
    assert!(said.contains("Fast-forward\n2\n## main...origin/main\norigin/main\n"), "{said}");
    assert!(said.contains("Could not resolve host: example.com"), "{said}");
    let said =
        in_repository("git remote add origin /nowhere; git push; git pull; git push origin main; git rev-parse @{u}");
    assert!(said.contains("has no upstream branch") && said.contains("There is no tracking information"), "{said}");
    assert!(said.contains("'/nowhere' does not appear to be a git repository"), "{said}");
}

#[test]
fn what_is_wrong_is_refused() {
    let (_, stderr, code) = shown("git status; git init -q r; cd r; git commit -m x; git nonsense");
    assert!(
        stderr.contains("fatal: not a git repository") && stderr.contains("'nonsense' is not a git command"),
        "{stderr}"
    );
    assert_eq!(code, 1);
    let said = in_repository(
        "printf junk > .git/index; git status; printf 'DIRC\\0\\0\\0\\2\\xff\\xff\\xff\\xff' > .git/index; git status",
    );
    assert!(
        said.contains("this version of the index is not read here") && said.contains("index file corrupt"),
        "{said}"
    );
    let said = in_repository("for f in .git/objects/*/*; do echo x > $f; done; git log; git status");
    assert!(said.contains("is corrupt"), "{said}");
    let said = in_repository("echo x > ../out; git add ../out; git -C .. add out");
    assert!(said.contains("is outside repository at"), "{said}");
    for head in ["refs/heads/../../x", "HEAD"] {
        let said = in_repository(&format!("git rev-parse main > x; echo 'ref: {head}' > .git/HEAD; git log"));
        assert!(said.contains("does not have any commits yet"), "{said}");
    }
}

#[test]
fn files_have_a_maximum_size() {
    let said = in_repository("head -c 17000000 /dev/zero > big; git add big; echo $?");
    assert!(said.contains("a file has at most 16777216 bytes here") && said.contains("128\n"), "{said}");
    let said =
        in_repository("yes | head -c 5000000 > m; git commit -q --allow-empty -F m; echo $?; git log --format=%s");
    assert_eq!(said, "128\nfirst\nfatal: a commit has at most 4194304 bytes here\n");
}

/// Writes an object as git stores it, and returns its name.
fn write_object(host: &Fake, kind: &str, data: &[u8]) -> [u8; 20] {
    let all = [format!("{kind} {}\0", data.len()).as_bytes(), data].concat();
    let id: [u8; 20] = Sha1::digest(&all).into();
    let name: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(&all).expect("memory");
    let path = format!("/home/user/r/.git/objects/{}/{}", &name[..2], &name[2..]);
    lock(host.tree()).write_file(&path, &packer.finish().expect("memory"), 0).expect("there is room");
    id
}

#[tokio::test]
async fn long_histories_are_gone_through_in_turns() {
    let host = Fake::new();
    assert_eq!(ran(&host, "git init -q -b main r", "").await.code, 0);
    let hex = |id: [u8; 20]| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let tree = hex(write_object(&host, "tree", b""));
    let commit = |parents: String, message: &str| {
        let text = format!("tree {tree}\n{parents}author U <u> 0 +0000\ncommitter U <u> 0 +0000\n\n{message}\n");
        hex(write_object(&host, "commit", text.as_bytes()))
    };
    let last = (0..3000).fold(String::new(), |above, at| format!("parent {}\n", commit(above, &at.to_string())));
    let head = commit(last, "last");
    lock(host.tree()).write_file("/home/user/r/.git/refs/heads/main", head.as_bytes(), 0).expect("there is room");
    assert_eq!(ran(&host, "cd r; git log --format=%s | wc -l", "").await.stdout, "3001\n");
    let longest = longest_stretch(&host, "cd r; git log; git log main...main; git status -sb").await;
    assert!(longest < 300.0, "{longest} times the reference work");
    let head = commit(String::new(), &"x".repeat(5 << 20));
    lock(host.tree()).write_file("/home/user/r/.git/refs/heads/main", head.as_bytes(), 0).expect("there is room");
    let ran = ran(&host, "cd r; git log", "").await;
    assert!(ran.code == 128 && ran.stderr.contains("is too large"), "{}", ran.stderr);
}

/// Runs a script in a repository whose commit has this tree.
async fn with_tree(tree: impl FnOnce(&Fake) -> [u8; 20], text: &str) -> (String, i32) {
    let host = Fake::new();
    assert_eq!(ran(&host, "git init -q -b main r", "").await.code, 0);
    let name: String = tree(&host).iter().map(|byte| format!("{byte:02x}")).collect();
    let commit = format!("tree {name}\nauthor U <u> 0 +0000\ncommitter U <u> 0 +0000\n\nx\n");
    let commit = write_object(&host, "commit", commit.as_bytes());
    let name: String = commit.iter().map(|byte| format!("{byte:02x}")).collect();
    lock(host.tree()).write_file("/home/user/r/.git/refs/heads/main", name.as_bytes(), 0).expect("there is room");
    let ran = ran(&host, &format!("cd r; {text}"), "").await;
    (ran.stdout + &ran.stderr, ran.code)
}

fn entry(mode: &str, name: &str, id: [u8; 20]) -> Vec<u8> {
    [format!("{mode} {name}\0").as_bytes(), &id[..]].concat()
}

#[tokio::test]
async fn a_tree_that_has_itself_many_times_is_not_followed_to_its_end() {
    let nested = |host: &Fake| {
        let blob = write_object(host, "blob", b"x");
        (0..40).fold(write_object(host, "tree", &entry("100644", "f", blob)), |below, _| {
            write_object(host, "tree", &[entry("40000", "a", below), entry("40000", "b", below)].concat())
        })
    };
    let (said, code) = with_tree(nested, "git reset --hard").await;
    assert!(code == 137 || (code == 128 && said.contains("out of memory")), "{code} {said}");
    let deep = |host: &Fake| {
        let blob = write_object(host, "blob", b"x");
        (0..200).fold(write_object(host, "tree", &entry("100644", "f", blob)), |below, _| {
            write_object(host, "tree", &entry("40000", "a", below))
        })
    };
    let (said, code) = with_tree(deep, "git reset --hard").await;
    assert!(code == 128 && said.contains("the tree is too deep"), "{code} {said}");
}

#[tokio::test]
async fn names_that_are_no_files_are_refused() {
    for name in ["..", ".git", ".GIT", "a/b", "."] {
        let tree = |host: &Fake| {
            let blob = write_object(host, "blob", b"x");
            write_object(host, "tree", &entry("100644", name, blob))
        };
        let (said, code) = with_tree(tree, "git reset --hard").await;
        assert!(code == 128 && said.contains("is not a valid tree"), "{name}: {code} {said}");
    }
}

#[tokio::test]
async fn an_object_is_unpacked_up_to_a_limit() {
    let tree = |host: &Fake| {
        let blob = write_object(host, "blob", &vec![0; 17 << 20]);
        write_object(host, "tree", &entry("100644", "big", blob))
    };
    let (said, code) = with_tree(tree, "git reset --hard").await;
    assert!(code == 128 && said.contains("is too large"), "{code} {said}");
}

/// Writes a tree with one directory.
fn write_directory(host: &Fake, name: &str, below: [u8; 20]) -> [u8; 20] {
    write_object(host, "tree", &entry("40000", name, below))
}

#[tokio::test]
async fn names_and_paths_of_a_tree_are_bounded() {
    let (longest, longer) = ("n".repeat(255), "n".repeat(256));
    let nested = |name: &str, count| {
        let name = name.to_owned();
        move |host: &Fake| {
            let file = write_object(host, "tree", &entry("100644", "f", write_object(host, "blob", b"x")));
            (0..count).fold(file, |below, _| write_directory(host, &name, below))
        }
    };
    let (said, code) = with_tree(nested(&longest, 10), "git reset -q --hard; find . -name f | wc -c").await;
    assert_eq!((code, said.as_str()), (0, "2564\n"));
    let (said, code) = with_tree(nested(&longer, 1), "git status").await;
    assert!(code == 128 && said.contains("is not a valid tree"), "{code} {said}");
    let (said, code) = with_tree(nested(&longest, 16), "git status").await;
    assert!(code == 128 && said.contains("a path that is too long"), "{code} {said}");
}

#[tokio::test]
async fn directories_of_a_tree_are_counted() {
    let wide = |host: &Fake| {
        let empty = write_object(host, "tree", b"");
        let entries: Vec<u8> = (0..30_000).flat_map(|at| entry("40000", &format!("{at:0100}"), empty)).collect();
        let wide = write_object(host, "tree", &entries);
        (0..15).fold(wide, |below, _| write_directory(host, &"n".repeat(255), below))
    };
    let (said, code) = with_tree(wide, "git status").await;
    assert!(code == 128 && said.contains("out of memory"), "{code} {said}");
}

/// Writes an index of these paths, with empty files.
fn write_index(host: &Fake, paths: &[String]) {
    let blob = write_object(host, "blob", b"");
    let mut bytes = [b"DIRC\0\0\0\x02", &u32::try_from(paths.len()).expect("few").to_be_bytes()[..]].concat();
    for path in paths {
        let start = bytes.len();
        bytes.extend([&[0; 24], &0o100_644_u32.to_be_bytes()[..], &[0; 12], &blob, &[0; 2], path.as_bytes()].concat());
        let length = bytes.len() - start;
        bytes.resize(start + length / 8 * 8 + 8, 0);
    }
    lock(host.tree()).write_file("/home/user/r/.git/index", &bytes, 0).expect("there is room");
}

/// Runs a script in a repository whose index has these paths.
async fn with_index(paths: &[String], text: &str) -> (String, i32) {
    let host = Fake::new();
    let start = "git config --global user.name U; git config --global user.email u; git init -q -b main r";
    assert_eq!(ran(&host, start, "").await.code, 0);
    write_index(&host, paths);
    let ran = ran(&host, &format!("cd r; {text}"), "").await;
    (ran.stdout + &ran.stderr, ran.code)
}

#[tokio::test]
async fn paths_of_the_index_are_those_of_files() {
    let deepest = vec!["a"; 127].join("/");
    let (said, code) = with_index(&[format!("{deepest}/b")], "git commit -qm x; git ls-files | wc -c").await;
    assert_eq!((code, said.as_str()), (0, "256\n"));
    let long = vec!["n".repeat(255); 16].join("/") + "/n";
    for path in [&format!("{deepest}/b/c"), &long, "", "a//b", "/a", "a/", "./a", "a/../b", "a/.GIT/x", "..", ".git"] {
        let (said, code) = with_index(&[path.to_owned()], "git status").await;
        assert!(code == 128 && said.contains("index file corrupt"), "{}: {code}", path.len());
    }
}

#[tokio::test]
async fn directories_of_the_index_are_counted() {
    let paths: Vec<String> =
        (0..1000).map(|at| (0..120).map(|_| format!("{at:030}/")).collect::<String>() + "f").collect();
    let (said, code) = with_index(&paths, "git commit -qm x").await;
    assert!(code == 128 && said.contains("out of memory"), "{code} {said}");
}

#[test]
fn settings_are_bounded() {
    let said = in_repository("yes '#' | head -c 1100000 >> .git/config; git remote; git config --list");
    assert!(said.matches("config' is too large").count() == 2, "{said}");
    // Lines of one section, whose name each of them had, and lines without anything.
    let said = in_repository(
        "{ printf '['; head -c 300000 /dev/zero | tr '\\0' x; echo ]; yes '' | head -n 100000; } >> .git/config; git remote; \
         git config x.y || echo none",
    );
    assert_eq!(said, "none\n");
    let said = in_repository("yes '' | head -c 1000000 >> .git/config; git remote; git config x.y");
    assert!(said.matches("out of memory").count() == 2, "{said}");
    let said = in_repository("yes 12345678901234567890 | head -c 5000 > .git/refs/heads/x; git rev-parse x");
    assert!(said.contains("refs/heads/x' is too large"), "{said}");
}

#[test]
fn formats_are_bounded() {
    let many = "x=%B; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do x=$x$x; done; yes | head -c 1000000 > m; \
                git commit -q --allow-empty -F m; ";
    for script in ["git log -1 --format=\"$x\"", "git show -s --format=\"$x\"", "git log --pretty=\"$x\""] {
        let said = in_repository(&format!("{many}{script}; echo $?"));
        assert!(said.contains("fatal: the output of the format is too large") && said.contains("128\n"), "{said}");
    }
    let many = "x='%(objectname)'; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do x=$x$x; done; ";
    let said = in_repository(&format!("{many} git branch --format=\"$x\""));
    assert!(said.contains("the output of the format is too large"), "{said}");
    let said = in_repository(
        "git branch --format='%(HEAD)%(refname)%%(x)%y%(refname:short)'; git branch --format='%(x'; git branch --format='%(x)'",
    );
    assert!(said.starts_with("*refs/heads/main%(x)%ymain\n"), "{said}");
    assert!(said.contains("malformed format string %(x\n") && said.contains("unknown field name: x\n"), "{said}");
}

#[test]
fn a_revision_may_have_any_characters() {
    let said =
        in_repository("for r in 'HEAD^0é' 'HEAD~é' 'é^' 'HEAD^{é}' 'HEAD^{' 'HEAD~1~'; do git rev-parse $r; done");
    assert_eq!(said.matches("unknown revision").count(), 6, "{said}");
}

#[tokio::test]
async fn many_operands_are_looked_for_in_a_large_index() {
    let host = Fake::new();
    assert_eq!(ran(&host, "git init -q -b main r", "").await.code, 0);
    let paths: Vec<String> = (0..60_000).map(|at| format!("f{at:05}")).chain(["z".to_owned()]).collect();
    write_index(&host, &paths);
    host.put("/home/user/r/z", "");
    for command in ["add", "restore", "ls-files", "reset -q", "rm -q --cached"] {
        let text = format!("cd r; git {command} $(yes z | head -n 90000)");
        let longest = longest_stretch(&host, &text).await;
        assert!(longest < 500.0, "{command}: {longest} times the reference work");
    }
}

#[test]
fn what_is_not_a_commits_stays() {
    let said = in_repository(
        "git checkout -q -b other; git rm -q a; git rm -qr d; git commit -qm gone; git checkout -q main; rm a; mkdir a; echo kept > a/b; \
         git checkout -q -f other; cat a/b; ls d",
    );
    assert!(said.contains("kept\n") && said.contains("cannot access 'd'"), "{said}");
    // What a link leads to is no part of the work tree.
    let said = in_repository(
        "mv d ../e; echo three > ../e/b; ln -s ../e d; git rm -qf d/b; ls ../e; git reset -q --hard; cat ../e/b d/b",
    );
    assert_eq!(said, "b\nthree\ntwo\n");
    let said = in_repository(
        "git checkout -q -b other; git rm -qr d; git commit -qm gone; mkdir ../e; ln -s ../e d; git checkout main; ls ../e; rm d; \
         echo kept > d; git checkout main; cat d; rm d a; git commit -qam gone; mkdir -p a/b; echo kept > a/b/c; git checkout main; \
         cat a/b/c",
    );
    assert_eq!(said.matches("would be overwritten by checkout").count(), 3, "{said}");
    assert!(said.starts_with("kept\nkept\n"), "{said}");
    let started = Instant::now();
    let said = in_repository(
        "mkdir m; cd m; touch $(seq 8000); git add .; git commit -qm many; git checkout -q HEAD~1; cd ..; ls -d m; \
         git status -s",
    );
    assert!(said.contains("cannot access 'm'"), "{said}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn all_operands_are_checked_before_any_is_moved_or_removed() {
    let said = in_repository("git rm a nowhere; ls; git mv a nowhere d; git mv a a d; git mv d d/e; ls; git status -s");
    assert_eq!(
        said,
        "a\nd\na\nd\nfatal: pathspec 'nowhere' did not match any files\nfatal: not under version control, source=nowhere, \
         destination=d\nfatal: multiple sources for the same target, source=a, destination=d\nfatal: can not move directory into \
         itself, source=d, destination=d/e\n"
    );
}

#[test]
fn files_are_ignored_by_rules() {
    let said = in_repository(
        "printf '%s\\n' '*.log' '!keep.log' /build 'x/**/z' 'o/*' '!o/keep' '\\#h' 'sp[ae]ce  ' 'dir/' '*.[!c]x' > .gitignore; \
         mkdir -p build sub/build x/y/y o dir sub/dir; touch a.log keep.log build/f sub/build/f x/z x/y/y/z x/y/y/k o/l o/keep '#h' \
         space dir/f sub/dir/f q.ax q.cx sub/b.log; git ls-files -o --exclude-standard",
    );
    assert_eq!(said, ".gitignore\nkeep.log\no/keep\nq.cx\nsub/build/f\nx/y/y/k\n");
}

#[tokio::test]
async fn patterns_are_bounded() {
    let host = Fake::new();
    let rules = "a*".repeat(500) + "b\n";
    host.put("/home/user/r/.gitignore", &rules.repeat(500));
    let text = "git init -q r; cd r; n=$(yes aaaaaaaaaaaaaaaaaaaaaaaaa | head -n 10 | tr -d '\\n'); touch $n{1..500}; git status -s | wc -l";
    let longest = longest_stretch(&host, text).await;
    assert!(longest < 300.0, "{longest} times the reference work");
}

#[test]
fn branches_are_listed_by_patterns() {
    let said = in_repository(
        "git branch o; git branch b/c; git branch --list 'm*' '*c'; git branch --list $(printf 'a*%.0s' {1..9000})x",
    );
    assert_eq!(said, "  b/c\n* main\n");
}

#[test]
fn checkout_of_paths_removes_nothing() {
    let said = in_repository(
        "echo new > d/n; echo changed > d/b; git add .; git commit -qm second; git checkout HEAD~1 -- d; cat d/b d/n; git status -s; \
         git checkout HEAD~1 -- d/n; git restore --source=HEAD~1 d; ls d",
    );
    assert_eq!(said, "two\nnew\nM  d/b\nb\nerror: pathspec 'd/n' did not match any file(s) known to git\n");
}

#[test]
fn untracked_files_are_not_read() {
    let said = in_repository(
        "echo x > s; chmod 0 s; truncate -s 20000000 large; git status -s; git diff; git checkout -q -b o; chmod 0 a; \
         git status -s; git add s; git add -u",
    );
    assert!(said.starts_with("?? large\n?? s\n M a\n?? large\n?? s\n"), "{said}");
    assert!(said.contains("s': Permission denied") && said.contains("a': Permission denied"), "{said}");
}

#[test]
fn tags_with_messages_lead_to_commits() {
    let said = in_repository(
        "git tag -a v1 -m x; git tag -a v2 -m y v1; h=$(git rev-parse HEAD); for r in v1^{} v1^{commit} v1^0 v2^{} v2~0 v1; do \
         [ $(git rev-parse $r) = $h ] || echo other $r; done; git checkout -q v2; [ $(cat .git/HEAD) = $h ] && echo detached; \
         git checkout -q -b b v1; git branch c v2; git switch -q main; git reset -q --hard v1; git merge v2; git log --format=%D v2 -1; \
         cat .git/refs/heads/* | sort -u | grep -c .; git cat v1 2>/dev/null; git tag -a v3",
    );
    assert_eq!(
        said,
        "other v1\ndetached\nAlready up to date.\nHEAD -> main, tag: v2, tag: v1, c, b\n1\nerror: there is no editor here: give the \
         message with -m\nexit 1\n"
    );
}

#[test]
fn nothing_is_fetched_outside_the_references() {
    let said = in_repository(
        "cd ..; git clone -q r a/b/c/d; cd a/b/c/d; git pull ../../../../r main; git fetch ../../../../r main; find .git/refs -type f | sort; \
         cut -f 2- .git/FETCH_HEAD; git rev-parse FETCH_HEAD | cut -c1-2 | wc -l; cd /home/user; git clone -o ../../x r e; ls -d e x; \
         cd r; h=$(git rev-parse HEAD); printf '%s %s\\n' $h refs/heads/../../evil $h refs/tags/../../../evil $h refs/heads/ok >> .git/packed-refs; \
         cd ..; git clone -q r f; git clone -q --bare r g.git; find f/.git g.git -name 'evil*'; find f/.git g.git -name ok | wc -l",
    );
    assert_eq!(
        said,
        "Already up to date.\n.git/refs/heads/main\n.git/refs/remotes/origin/HEAD\n.git/refs/remotes/origin/main\n\tbranch 'main' of \
         /home/user/r/.git\n1\n2\nfatal: '../../x' is not a valid remote name\nls: cannot access 'e': No such file or directory\n\
         ls: cannot access 'x': No such file or directory\n"
    );
}

#[test]
fn what_an_object_needs_is_copied_before_it() {
    let said = in_repository(
        "echo x > gone; git add gone; git commit -qm gone; rm .git/objects/$(git ls-files -s gone | cut -c8-47 | sed 's/../&\\//'); cd ..; \
         git init -q --bare b.git; cd r; git push ../b.git main; find ../b.git/refs -type f; cd ../b.git; \
         git log $(cd ../r; git rev-parse HEAD)",
    );
    assert!(said.contains("bad object") && said.contains("unknown revision"), "{said}");
}

#[test]
fn moved_heads_are_kept() {
    let said = in_repository(
        "h=$(git rev-parse HEAD); git commit -q --allow-empty -m x; git reset -q --hard HEAD~1; git reset -q --hard ORIG_HEAD; \
         git log --format=%s -1; [ $(git rev-parse ORIG_HEAD) = $h ] && echo kept",
    );
    assert_eq!(said, "x\nkept\n");
}
