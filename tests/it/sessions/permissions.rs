//! Permission bits, users and the system's files, as Python, commands and the file API have them.

use serde_json::json;

use super::Session;
use crate::harness::{Server, assert_shows};

impl Session<'_> {
    async fn shell(&self, command: &str) -> (i64, String) {
        let (status, answer) = self.post("/commands", json!({"command": command})).await;
        assert_eq!(status, 200, "{answer}");
        let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        (answer["exit_code"].as_i64().expect("a code"), text("stdout") + &text("stderr"))
    }

    async fn shows(&self, command: &str, code: i64, text: &str) {
        assert_eq!(self.shell(command).await, (code, text.to_owned()), "{command}");
    }
}

/// Output of CPython for an ordinary user of Linux, with a umask of 022.
#[tokio::test]
async fn python_has_modes_as_an_ordinary_user_has() {
    let code = r"
import os, pathlib, shutil, stat, subprocess, tempfile
def mode(path): return oct(stat.S_IMODE(os.stat(path).st_mode))
def tried(act):
    try: return act()
    except OSError as error: return type(error).__name__
def wrote(path): pathlib.Path(path).write_text('x')
wrote('f'); os.mkdir('d'); os.mkdir('p', 0o700); os.close(os.open('o', os.O_CREAT | os.O_WRONLY, 0o640)); os.close(os.open('q', os.O_CREAT | os.O_RDONLY))
print([mode(path) for path in 'fdpoq'], stat.filemode(os.lstat('f').st_mode))
os.chmod('f', 0o444)
print(mode('f'), tried(lambda: wrote('f')), open('f').read(), [os.access('f', bits) for bits in (os.R_OK, os.W_OK, os.X_OK)])
pathlib.Path('f').chmod(0)
print(mode('f'), tried(lambda: open('f')), os.access('f', os.F_OK), os.access('f', os.R_OK))
os.chmod('f', 0o755)
shutil.copy('f', 'c'); shutil.copyfile('f', 'e'); shutil.copymode('f', 'o')
print(mode('c'), mode('e'), mode('o'), shutil.which('f', path='.'), os.access('f', os.X_OK))
print(oct(os.umask(0o077)), oct(os.umask(0o077)))
wrote('g'); os.mkdir('h'); os.makedirs('i/j')
print(mode('g'), mode('h'), mode('i/j'))
os.umask(0o022)
handle, name = tempfile.mkstemp()
print(mode(name), mode(tempfile.mkdtemp()), oct(stat.S_IMODE(os.fstat(handle).st_mode)))
os.fchmod(handle, 0o600 | stat.S_ISUID); print(mode(name))
wrote('d/x'); os.chmod('d', 0o500)
print(tried(lambda: wrote('d/y')), tried(lambda: os.remove('d/x')), tried(lambda: os.rename('d/x', 'z')), os.listdir('d'))
os.chmod('d', 0o300); print(tried(lambda: os.listdir('d')), tried(lambda: open('d/x').read()))
os.chmod('d', 0o600); print(tried(lambda: os.stat('d/x')), os.path.exists('d/x'))
os.chmod('d', 0o700)
print(tried(lambda: os.chmod('/tmp', 0o777)), mode('/tmp'), tried(lambda: os.chown('f', 0, 0)), tried(lambda: os.chown('f', 1000, -1)))
print(os.getuid(), os.geteuid(), os.getgid(), os.getgroups(), os.getlogin(), pathlib.Path('f').owner(), pathlib.Path('/tmp').owner())
dir_fd = os.open('d', os.O_RDONLY); os.chmod('x', 0o600, dir_fd=dir_fd); print(mode('d/x'))
import tarfile, zipfile
with tarfile.open('a.tar', 'w') as tar: tar.add('f')
os.mkdir('t'); tarfile.open('a.tar').extractall('t', filter='data'); print(mode('t/f'))
with zipfile.ZipFile('a.zip', 'w') as file: file.write('f')
print(oct(zipfile.ZipFile('a.zip').getinfo('f').external_attr >> 16))
";
    let expected = "\
['0o644', '0o755', '0o700', '0o640', '0o755'] -rw-r--r--
0o444 PermissionError x [True, False, False]
0o0 PermissionError True False
0o755 0o644 0o755 ./f True
0o22 0o77
0o600 0o700 0o700
0o600 0o700 0o600
0o4600
PermissionError PermissionError PermissionError ['x']
PermissionError x
PermissionError False
PermissionError 0o1777 PermissionError None
1000 1000 1000 [1000] user user root
0o600
0o755
0o100755
";
    let answer = Server::shared().execute(json!({"code": code})).await;
    assert_eq!(answer["stdout"], expected, "{answer}");
}

#[tokio::test]
async fn python_commands_and_the_file_api_agree() {
    let session = Session::open().await;
    session.call("import os\nopen('f', 'w').write('text'); os.chmod('f', 0o640)").await;
    session
        .shows("stat -c '%a %A %U %u' f; chmod 0 f; cat f", 1, "640 -rw-r----- user 1000\ncat: f: Permission denied\n")
        .await;
    assert_eq!(session.value("[oct(os.stat('f').st_mode), os.access('f', os.R_OK)]").await, json!(["0o100000", false]));
    // The file API is root's.
    let (status, body) = session.server.get(&session.path("/files/f")).await;
    assert_eq!((status, body.as_str()), (200, "text"));
    let (_, entry) = session.server.get(&session.path("/files/f?stat")).await;
    assert!(entry.contains(r#""mode":"0""#) && entry.contains(r#""owner":"user""#), "{entry}");
    session
        .shows(
            "umask 077; python3 -c 'import os; open(\"g\", \"w\"); print(oct(os.umask(0)))'; stat -c %a g",
            0,
            "0o77\n600\n",
        )
        .await;
    session.call("import subprocess; mask = os.umask(0o027); print(subprocess.getoutput('umask'))").await;
    assert_eq!(session.value("subprocess.getoutput('umask; touch h; stat -c %a h')").await, "0027\n640");
    session
        .shows(
            "echo 'echo ran' > s.sh; ./s.sh; chmod +x s.sh; ./s.sh",
            0,
            "ran\nbash: line 1: ./s.sh: Permission denied\n",
        )
        .await;
}

#[tokio::test]
async fn modes_are_kept_in_checkpoints_and_forks() {
    let session = Session::open().await;
    session.call("import os; open('f', 'w').close(); os.chmod('f', 0o750); os.umask(0o077)").await;
    let (status, made) = session.post("/checkpoints", json!({"name": "modes"})).await;
    assert_eq!(status, 201, "{made}");
    let loaded = Session::open_on(session.server, json!({"from_checkpoint": made["id"]})).await;
    let (status, answer) = session.post("/fork", json!({"count": 1})).await;
    assert_eq!(status, 201, "{answer}");
    let id = answer["sessions"][0]["id"].as_str().expect("an id").to_owned();
    for copy in [loaded, Session { server: session.server, id }] {
        copy.shows("stat -c %a f", 0, "750\n").await;
        assert_eq!(copy.value("oct(os.umask(0o022))").await, "0o77");
    }
}

#[tokio::test]
async fn root_is_told_so_and_not_bound_by_modes() {
    let session = Session::open().await;
    session.shows("whoami; id; groups", 0, "user\nuid=1000(user) gid=1000(user) groups=1000(user)\nuser\n").await;
    session
        .shows(
            "echo x > f; chmod 0 f; sudo cat f; sudo whoami; sudo sh -c 'echo $HOME $USER; id -u'; whoami",
            0,
            "x\nroot\n/root root\n0\nuser\n",
        )
        .await;
    session.shows("sudo touch /root/r; ls /root", 2, "ls: cannot open directory '/root': Permission denied\n").await;
    session
        .shows(
            "sudo ls -l /root | tail -n 1 | cut -c1-22; sudo chown user f; sudo -u nobody true",
            1,
            "-rw-r--r-- 1 root root\nsudo: unknown user nobody\n",
        )
        .await;
    session
        .shows(
            "sudo python3 -c 'import os; print(os.getuid(), os.getlogin(), os.listdir(\"/root\"))'",
            0,
            "0 root ['r']\n",
        )
        .await;
    session
        .shows(
            "touch x; chown root x; su -c true",
            1,
            "chown: changing ownership of 'x': Operation not permitted\nsu: Authentication failure\n",
        )
        .await;
}

#[tokio::test]
async fn a_session_has_the_files_of_a_system_and_a_run_only_programs() {
    let session = Session::open().await;
    session.shows("ls /usr/bin | head -n 2; cat /etc/hostname; /etc/passwd; echo $?; echo x > /etc/passwd", 1, "[\nawk\nsandbox\n126\nbash: line 1: /etc/passwd: Permission denied\nbash: line 1: /etc/passwd: Permission denied\n").await;
    session
        .shows(
            "cat /etc/passwd; . /etc/os-release; echo $ID; cat /proc/sys/kernel/hostname",
            0,
            "root:x:0:0::/root:/bin/bash\nuser:x:1000:1000::/home/user:/bin/bash\nproofbox\nsandbox\n",
        )
        .await;
    session.call("import os, pwd, shutil").await;
    let users = "[':'.join(map(str, user)) for user in pwd.getpwall()] == open('/etc/passwd').read().split()";
    assert_eq!(session.value(users).await, true);
    assert_eq!(session.value("len(open('/proc/sys/kernel/random/boot_id').read())").await, 37);
    let code = "import os, shutil\nprint(shutil.which('ls'), os.path.exists('/bin/sh'), os.path.exists('/etc'), os.path.exists('/proc'))";
    let answer = Server::shared().execute(json!({"code": code})).await;
    assert_shows(&answer, json!({"stdout": "/bin/ls True False False\n"}));
}
