//! `subprocess` and its kin: commands of the sandbox's shell, within the limits of the run that starts them.

use serde_json::{Value, json};

use crate::harness::Server;

async fn answer(code: &str, more: Value) -> Value {
    let mut request = json!({"code": code});
    request.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    Server::shared().execute(request).await
}

async fn prints(code: &str, expected: &str) {
    let answer = answer(code, json!({})).await;
    assert_eq!(
        (answer["stdout"].as_str(), answer["status"].as_str()),
        (Some(expected), Some("ok")),
        "{code}\n{answer}"
    );
}

#[tokio::test]
async fn programs_of_the_shell_run_and_tell_how_they_ended() {
    prints(
        r#"
import subprocess
done = subprocess.run(["sh", "-c", "echo out; echo err >&2; exit 3"], capture_output=True, text=True)
print(done.returncode, [done.stdout, done.stderr])
print(subprocess.check_output("printf '%s-' a b | tr a-z A-Z", shell=True))
try:
    subprocess.run(["false"], check=True)
except subprocess.CalledProcessError as error:
    print(error.returncode, error.cmd)
try:
    subprocess.run(["no-such-program", "x"])
except FileNotFoundError as error:
    print(error.errno, error.filename)
try:
    subprocess.run(["pwd"], cwd="/no/such/directory")
except FileNotFoundError as error:
    print(error.filename)
print(subprocess.run("echo $WHO in $PWD", shell=True, env={"WHO": "me"}, cwd="/tmp", stdout=-1).stdout)
print(subprocess.run(["cat"], input="given\n", text=True, capture_output=True).stdout, end="")
print(subprocess.run("echo a; echo b >&2", shell=True, stdout=-1, stderr=subprocess.STDOUT, text=True).stdout.split())
print(subprocess.getoutput("echo told"), subprocess.getstatusoutput("exit 4"))
"#,
        "3 ['out\\n', 'err\\n']\nb'A-B-'\n1 ['false']\n44 no-such-program\n/no/such/directory\nb'me in /tmp\\n'\ngiven\n['a', 'b']\ntold (4, '')\n",
    )
    .await;
}

#[tokio::test]
async fn pipes_files_and_other_ways_to_start_work() {
    prints(
        r#"
import asyncio, os, shutil, subprocess, sys
first = subprocess.Popen(["printf", "b\\na\\n"], stdout=subprocess.PIPE)
second = subprocess.Popen(["sort"], stdin=first.stdout, stdout=subprocess.PIPE, text=True)
print(second.communicate(), first.wait(), second.returncode)
with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
    process.stdin.write("line\n")
    process.stdin.close()
    print(list(process.stdout), process.wait())
with open("log", "w") as log:
    subprocess.run(["echo", "kept"], stdout=log)
print(open("log").read(), end="")
sys.stdout.flush()
print(os.system("echo printed; exit 2"))
print(os.popen("echo popen").read(), end="")
print(shutil.which("grep") is not None, shutil.which("no-such-program"))
async def main():
    process = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    print(await process.communicate(b"async"), process.returncode)
    process = await asyncio.create_subprocess_shell("echo lines; exit 5", stdout=-1)
    print(await process.stdout.readline(), await process.wait())
asyncio.run(main())
subprocess.Popen(["touch", "left"])
print(os.path.exists("left"))
code = "import sys; print(sys.argv[1:], sys.stdin.read()); sys.exit(7)"
done = subprocess.run([sys.executable, "-c", code, "x"], input="in", capture_output=True, text=True)
print(done.returncode, done.stdout, done.stderr)
"#,
        "('a\\nb\\n', None) 0 0\n['line\\n'] 0\nkept\nprinted\n512\npopen\nTrue None\n(b'async', None) 0\nb'lines\\n' 5\nTrue\n7 ['x'] in\n \n",
    )
    .await;
}

#[tokio::test]
async fn a_timeout_ends_the_process() {
    prints(
        r#"
import subprocess
try:
    subprocess.run("echo begun; sleep 100; touch late", shell=True, timeout=0.2, capture_output=True)
except subprocess.TimeoutExpired as error:
    print(error.timeout, error.stdout)
process = subprocess.Popen(["sleep", "100"])
process.kill()
print(process.wait(), process.poll())
import os
print(os.path.exists("late"))
"#,
        "0.2 b'begun\\n'\n-9 -9\nFalse\n",
    )
    .await;
}

#[tokio::test]
async fn what_commands_use_is_the_runs_own() {
    let work = "sum(i * i for i in range(200_000))";
    let own = answer(work, json!({})).await["fuel_used"].as_u64().expect("a number");
    let started = format!("import subprocess, sys; subprocess.run([sys.executable, '-c', '{work}'])");
    let with = answer(&started, json!({})).await["fuel_used"].as_u64().expect("a number");
    assert!(with > own, "{with} with the work in a process, {own} without");

    let endless = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'while True: pass'])\nprint('on')";
    let stopped = answer(endless, json!({"limits": {"fuel": 20_000_000_000_u64}})).await;
    assert_eq!(stopped["stderr_class"], "fuel_exhausted", "{stopped}");
    assert_eq!(stopped["stdout"], "", "{stopped}");
    let stopped = answer("import os; os.system('sleep 100')", json!({"limits": {"wall_seconds": 1.0}})).await;
    assert_eq!(stopped["stderr_class"], "timeout", "{stopped}");
    let flood =
        "import subprocess\nout = subprocess.run(['yes'], capture_output=True)\nprint(out.returncode, len(out.stdout))";
    assert_eq!(answer(flood, json!({})).await["stdout"], "-9 1048576\n", "as much as the run may write");
}

#[tokio::test]
async fn a_fork_bomb_ends_within_the_limits_of_the_run() {
    let bomb = "open('bomb.py', 'w').write('import subprocess, sys\\nfor _ in range(9): subprocess.run([sys.executable, \"bomb.py\"])')\n\
                import os\nos.system('for i in 1 2 3 4 5 6 7 8; do python3 bomb.py & done; wait')";
    let bomb = answer(bomb, json!({"limits": {"fuel": 20_000_000_000_u64, "wall_seconds": 5.0}}));
    let neighbour = async {
        let mut slowest = std::time::Duration::ZERO;
        for _ in 0..50 {
            let began = std::time::Instant::now();
            assert_eq!(answer("print(1)", json!({})).await["stdout"], "1\n");
            slowest = slowest.max(began.elapsed());
        }
        slowest
    };
    let (bomb, slowest) = tokio::join!(bomb, neighbour);
    assert!(["fuel_exhausted", "timeout"].contains(&bomb["stderr_class"].as_str().expect("text")), "{bomb}");
    assert!(slowest < std::time::Duration::from_secs(5), "{slowest:?}");
}

#[tokio::test]
async fn commands_are_noted_and_refused_where_they_must_be() {
    let start = "import subprocess\nprint(subprocess.run(['echo', 'hi'], capture_output=True).stdout)";
    let noted = answer(start, json!({})).await;
    let attempts = noted["boundary"]["attempts"].as_array().expect("a list");
    let noted = attempts.iter().any(|attempt| attempt["kind"] == "process" && attempt["allowed"] == true);
    assert!(noted, "{attempts:?}");
    // What a command does can't be repeated to the byte.
    let refused = answer(start, json!({"deterministic": {"seed": 0}})).await;
    assert_eq!((&refused["stderr_class"], &refused["stdout"]), (&json!("unsafe_operation"), &json!("")), "{refused}");
    // A candidate does not see the files of its tests.
    let code =
        "def f():\n    import subprocess\n    return subprocess.run(['ls', '/tests'], capture_output=True).stdout";
    let tests = json!({"kind": "asserts", "asserts": ["assert f() == b''", "__import__('subprocess').run(['ls'])"]});
    let isolated = answer(code, json!({"tests": tests, "grading": "isolated"})).await;
    let cases = isolated["cases"].as_array().expect("a list");
    assert_eq!(cases.iter().map(|case| &case["status"]).collect::<Vec<_>>(), ["passed", "passed"], "{isolated}");
    for pack in ["eval", "strict"] {
        let code = "import sys\nprint(__import__(sys.argv[1]).getoutput('echo hi'))";
        let refused = answer(code, json!({"policy": pack, "args": ["subprocess"]})).await;
        assert_eq!(refused["stdout"], "", "{refused}");
        assert_ne!(refused["status"], "ok", "{refused}");
    }
}

#[tokio::test]
async fn background_jobs_go_on_beside_a_run_and_end_with_it() {
    prints(
        r#"
import os, subprocess, time
began = time.time()
done = subprocess.run("(sleep 0.5; echo x > f) >/dev/null 2>&1 & echo $!", shell=True, capture_output=True, text=True)
print(time.time() - began < 0.4, os.path.exists("f"))
alive = lambda: subprocess.run(["kill", "-0", done.stdout.strip()], stderr=subprocess.DEVNULL).returncode
print(alive())
time.sleep(1)
print(open("f").read(), alive())
began = time.time()
print(subprocess.getoutput("sleep 0.5 & echo hi"), time.time() - began >= 0.5)
"#,
        "True False\n0\nx\n 1\nhi True\n",
    )
    .await;
    let began = std::time::Instant::now();
    prints("import os; print(os.system('sleep 60 >/dev/null 2>&1 &'))", "0\n").await;
    assert!(began.elapsed() < std::time::Duration::from_secs(30), "{:?}", began.elapsed());
    let code = "import subprocess, time\nfor _ in range(9):\n    subprocess.run(\"python3 -c 'while True: pass' >/dev/null 2>&1 &\", shell=True)\ntime.sleep(2)";
    let answer = answer(code, json!({"limits": {"fuel": 3_000_000_000u64}})).await;
    assert!(answer["fuel_used"].as_u64() > Some(500_000_000), "that of the jobs counts: {answer}");
}
