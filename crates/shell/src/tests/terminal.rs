//! Terminals.

use super::{Fake, typed};

async fn shown(keys: &[&str]) -> (String, i32) {
    typed(&Fake::new(), keys).await
}

#[tokio::test]
async fn a_terminal_runs_what_is_typed() {
    let (screen, code) = shown(&["x=1; cd /tmp\r", "echo $x $PWD\r", "false\r", "exit\r"]).await;
    assert_eq!(code, 1);
    assert_eq!(screen, "$ x=1; cd /tmp\r\n$ echo $x $PWD\r\n1 /tmp\r\n$ false\r\n$ exit\r\n");
}

#[tokio::test]
async fn programs_read_what_is_typed_until_its_end() {
    let (screen, code) = shown(&["cat\r", "one\r", "\x04", "read a; echo got $a\r", "b\r", "\x04"]).await;
    assert_eq!(code, 0);
    assert_eq!(screen, "$ cat\r\none\r\none\r\n$ read a; echo got $a\r\nb\r\ngot b\r\n$ exit\r\n");
}

#[tokio::test]
async fn an_interrupt_ends_the_command_and_not_the_shell() {
    let loops = "f() { local y=2; while true; do :; done; }; x=1; f\r";
    let (screen, code) = shown(&[loops, "\x03", "echo $? $x $y.\r", "half\x03", "exit 3\r"]).await;
    assert_eq!(code, 3);
    assert!(screen.contains("^C\r\n$ echo $? $x $y.\r\n130 "), "{screen}");
    assert!(screen.ends_with("$ half^C\r\n$ exit 3\r\n"), "{screen}");
}

#[tokio::test]
async fn a_command_may_take_several_lines() {
    let (screen, _) =
        shown(&["for i in 1 2\r", "do echo $i\r", "done\r", "cat <<E\r", "a\r", "E\r", "echo \\\r", "b\r"]).await;
    assert!(
        screen.starts_with("$ for i in 1 2\r\n> do echo $i\r\n> done\r\n1\r\n2\r\n$ cat <<E\r\n> a\r\n> E\r\na\r\n$"),
        "{screen}"
    );
    assert!(screen.contains("> b\r\nb\r\n"), "{screen}");
    let (screen, _) = shown(&["echo )\r", "echo on\r"]).await;
    assert!(screen.contains("syntax error") && screen.contains("\r\non\r\n"), "{screen}");
}

#[tokio::test]
async fn a_terminal_has_a_size() {
    let (screen, _) =
        shown(&["tput cols; stty size; tty\r", "\x1b[8;30;100t", "tput cols; echo $COLUMNS $LINES\r"]).await;
    assert!(screen.contains("80\r\n24 80\r\n/dev/pts/0\r\n"), "{screen}");
    assert!(screen.contains("\r\n100\r\n80 24\r\n") || screen.contains("\r\n100\r\n100 30\r\n"), "{screen}");
}

#[tokio::test]
async fn a_command_of_many_lines_is_bounded() {
    let line = format!("{}\r", "x".repeat(4000));
    let mut keys = vec!["cat > /dev/null <<E\r"];
    keys.extend([line.as_str(); 20]);
    let (screen, _) = shown(&keys).await;
    assert!(screen.contains("a command has at most 65536 bytes here"), "{screen}");
}

#[tokio::test]
async fn a_prompt_is_bounded() {
    let (screen, code) =
        shown(&["USER=$(head -c 1000000 /dev/zero | tr '\\0' x)\r", "PS1='\\u\\u\\u\\u>'\r", "exit 3\r"]).await;
    assert!(code == 3 && (4096..9000).contains(&screen.len()), "{code} {}", screen.len());
    let many = "PS1='>'; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do PS1=$PS1$PS1; done\r";
    let (screen, code) = shown(&[many, "exit 3\r"]).await;
    assert!(code == 3 && (4096..5000).contains(&screen.len()), "{code} {}", screen.len());
}

#[tokio::test]
async fn a_backslash_that_is_plain_ends_no_line_early() {
    let (screen, _) = shown(&["echo a\\\\\r", "echo b\\\\\\\r", "c\r"]).await;
    assert!(screen.starts_with("$ echo a\\\\\r\na\\\r\n$ echo b\\\\\\\r\n> c\r\nb\\c\r\n$"), "{screen}");
}

#[tokio::test]
async fn descriptors_are_tested_for_terminals() {
    let test = "for i in 0 1 2 3 9 x; do [ -t $i ] && echo $i; done 3>&1; : | [ -t 0 ] || echo pipe; [ -t 1 ] > f || echo file\r";
    let (screen, _) = shown(&[test, "[[ -t 1 ]] && echo yes\r"]).await;
    assert!(screen.contains("\r\n0\r\n1\r\n2\r\n3\r\npipe\r\nfile\r\n") && screen.contains("\nyes\r\n"), "{screen}");
}
