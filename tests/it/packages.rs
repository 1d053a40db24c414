//! Packages that are imported from files, and what is said of those that are not there.

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows, run};

#[tokio::test]
async fn packages_are_listed_and_every_one_can_be_imported() {
    let (status, text) = Server::shared().get("/v1/runtime").await;
    assert_eq!(status, 200);
    let runtime: Value = serde_json::from_str(&text).expect("JSON");
    let packages = runtime["packages"].as_object().expect("an object");
    for name in ["numpy", "pytest", "sympy", "hypothesis", "networkx", "pyyaml", "beautifulsoup4", "faker"] {
        assert!(packages.contains_key(name), "{name} in {packages:?}");
    }
    let code = "\
import importlib, importlib.metadata
modules = '''aniso8601 asgiref asynchat asyncore attr bs4 branca cachetools certifi cgi cgitb chardet charset_normalizer click
colorama cryptography.fernet dateutil django dns dotenv emoji et_xmlfile faker flask flask_mail flask_restful folium geographiclib geopy holidays html5lib humanize hypothesis idna imghdr
jinja2 loguru mailcap markdown markupsafe mechanize more_itertools mpmath natsort networkx numpy openpyxl pipes prettytable psutil pyfakefs pygments
pypdf pytest python_http_client pytz requests requests_mock rich sendgrid six sortedcontainers soupsieve sqlparse sympy tabulate telnetlib termcolor texttable toml
toolz tqdm typing_extensions tzdata urllib3 uu wcwidth werkzeug wikipedia wordninja wtforms xdrlib xlrd xlsxwriter xmltodict yaml'''.split()
for name in modules:
    importlib.import_module(name)
import sympy, yaml, pytz, jinja2, networkx
x = sympy.Symbol('x')
print(sympy.integrate(sympy.sin(x) ** 2, x), yaml.safe_load('a: [1, 2]'), pytz.timezone('Europe/Paris'))
print(jinja2.Template('{{ n }}!').render(n=3), networkx.shortest_path(networkx.path_graph(4), 0, 3))
print(importlib.metadata.version('numpy'), importlib.metadata.version('pyyaml'))";
    let stdout = format!(
        "x/2 - sin(x)*cos(x)/2 {{'a': [1, 2]}} Europe/Paris\n3! [0, 1, 2, 3]\n{} {}\n",
        packages["numpy"].as_str().expect("text"),
        packages["pyyaml"].as_str().expect("text"),
    );
    assert_shows(&run(code).await, json!({"status": "ok", "stdout": stdout, "stderr": ""}));
}

#[tokio::test]
async fn cryptography_has_what_fernet_needs_and_says_what_it_lacks() {
    // The token and the digests are the real package's.
    let code = r#"
import base64
from cryptography.exceptions import InvalidSignature, InvalidTag, UnsupportedAlgorithm
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
box = Fernet(base64.urlsafe_b64encode(bytes(range(32))))
token = box._encrypt_from_parts(b"hello", 12345, bytes(16))
print(token.decode(), box.decrypt(token))
for bad in (token[:-4] + b"AAA=", b"garbage"):
    try: box.decrypt(bad)
    except InvalidToken: print("refused")
print(AESGCM(bytes(16)).encrypt(bytes(12), b"text", b"more").hex())
print(PBKDF2HMAC(hashes.SHA256(), 16, b"salt", 1000).derive(b"word").hex())
decryptor = Cipher(algorithms.AES(bytes(32)), modes.GCM(bytes(12), bytes(16))).decryptor()
try: decryptor.update(b"x"), decryptor.finalize()
except InvalidTag: print("InvalidTag")
key = rsa.generate_private_key(65537, 1024)
text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"pw"))
key, public = serialization.load_pem_private_key(text, b"pw"), key.public_key()
scheme = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.MAX_LENGTH)
public.verify(key.sign(b"data", scheme, hashes.SHA256()), b"data", scheme, hashes.SHA256())
try: public.verify(key.sign(b"other", scheme, hashes.SHA256()), b"data", scheme, hashes.SHA256())
except InvalidSignature: print("InvalidSignature")
scheme = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), None)
print(text.split(b"-----")[1], key.decrypt(public.encrypt(b"secret", scheme), scheme))
for absent in (lambda: ec.generate_private_key(ec.SECP256R1()), ChaCha20Poly1305.generate_key):
    try: absent()
    except UnsupportedAlgorithm as error: print(error)
"#;
    let stdout = "\
gAAAAAAAADA5AAAAAAAAAAAAAAAAAAAAAGWd0uwn1ncxmt8qIH-KbuA_1txn1VyHF0yUcADrsa3EOvNqm91Z9LqIk_fIHnahkg== b'hello'
refused
refused
77eda2ba7ccdc2211b9bc84cdaaa11d270154400
7eee3ccdb62e0a32bc268538479c6e90
InvalidTag
InvalidSignature
b'BEGIN ENCRYPTED PRIVATE KEY' b'secret'
ec.generate_private_key is not in this sandbox, whose cryptography has no native code
aead.ChaCha20Poly1305.generate_key is not in this sandbox, whose cryptography has no native code
";
    assert_shows(&run(code).await, json!({"status": "ok", "stdout": stdout, "stderr": ""}));
}

#[tokio::test]
async fn cryptography_refuses_what_the_real_one_refuses() {
    let code = r#"
import hashlib
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
def refused(call):
    try: print("accepted", call())
    except Exception as error: print(type(error).__name__, error if isinstance(error, ValueError) else "")
key, nonce = bytes(16), bytes(12)
tag = AESGCM(key).encrypt(nonce, b"", None)
def finish(mode, tag): return Cipher(algorithms.AES(key), mode).decryptor().finalize_with_tag(tag)
finish(modes.GCM(nonce), tag), finish(modes.GCM(nonce, None, 12), tag[:12])
# Part of a tag; numbers, of which bytes() would make zeros.
refused(lambda: finish(modes.GCM(nonce), tag[:4]))
refused(lambda: finish(modes.GCM(nonce, None, 12), tag[:11]))
refused(lambda: hmac.HMAC(16, hashes.SHA256()))
refused(lambda: PBKDF2HMAC(hashes.SHA256(), 16, 16, 1))
refused(lambda: AESGCM(key).encrypt(nonce, b"", 8))
# Numbers that are not of one key.
numbers = rsa.generate_private_key(65537, 1025).private_numbers()
parts = {name: getattr(numbers, name) for name in "p q d dmp1 dmq1 iqmp public_numbers".split()}
own = rsa.RSAPrivateNumbers(**parts).private_key()
for name in ("d", "dmp1", "iqmp"):
    refused(rsa.RSAPrivateNumbers(**parts | {name: parts[name] + 2}).private_key)
# A signature (PSS, without salt) whose block has a bit above those that are signed; of a message whose block leaves room.
def block_of(message):
    digest = hashlib.sha256(bytes(8) + hashlib.sha256(message).digest()).digest()
    mask = b"".join(hashlib.sha256(digest + bytes([0, 0, 0, count])).digest() for count in range(3))[:95]
    return mask[:-1] + bytes([mask[-1] ^ 1]) + digest + b"\xbc"
message = next(text for text in map(str.encode, map(str, range(1000))) if block_of(text)[0] < 16)
scheme = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.AUTO)
def check(block):
    signature = pow(int.from_bytes(block), numbers.d, numbers.public_numbers.n).to_bytes(129)
    own.public_key().verify(signature, message, scheme, hashes.SHA256())
check(block_of(message))
refused(lambda: check(b"\1" + block_of(message)))
"#;
    let stdout = "\
ValueError Authentication tag must be 16 bytes or longer.
ValueError Authentication tag must be 12 bytes or longer.
TypeError \nTypeError \nTypeError \nValueError Invalid private key
ValueError Invalid private key
ValueError Invalid private key
InvalidSignature \n";
    assert_shows(&run(code).await, json!({"status": "ok", "stdout": stdout, "stderr": ""}));
}

#[tokio::test]
async fn windows_are_missing_as_on_a_machine_without_a_display() {
    let code = "\
import shutil, tkinter, turtle
from unittest import mock
for window in (tkinter.Tk, turtle.Screen, turtle.Turtle):
    try: window()
    except tkinter.TclError as error: print(error)
with mock.patch('turtle.Turtle') as pen:
    turtle.Turtle().forward(3)
    print(pen.return_value.forward.call_args)
room = shutil.disk_usage('/')
print(room.total == room.used + room.free)";
    let said = "no display name and no $DISPLAY environment variable\n".repeat(3);
    let stdout = format!("{said}call(3)\nTrue\n");
    assert_shows(&run(code).await, json!({"status": "ok", "stdout": stdout, "stderr": ""}));
}

#[tokio::test]
async fn psutil_tells_of_the_one_process_that_there_is() {
    let code = "\
import os, psutil, threading
me = psutil.Process()
memory, disk = psutil.virtual_memory(), psutil.disk_usage('/')
print(psutil.pids() == [os.getpid()], [process.info for process in psutil.process_iter(['name'])], psutil.cpu_count())
print(0 < memory.used < memory.total == memory.used + memory.available, 0 < me.memory_info().rss, 0 <= psutil.cpu_percent(0.01) <= 100)
print(disk.total >= disk.used >= 0, psutil.sensors_battery(), psutil.net_connections(), me.status(), me.is_running())
print([thread.id for thread in me.threads()] == [threading.get_ident()], me.as_dict()['name'])
with psutil.Popen(['true']) as process: print(process.wait(), process.terminate())
try: psutil.Process(4711)
except psutil.NoSuchProcess as error: print(error)";
    let stdout = "\
True [{'name': 'python3'}] 1
True True True
True None [] running True
True python3
0 None
process PID not found (pid=4711)
";
    assert_shows(&run(code).await, json!({"status": "ok", "stdout": stdout, "stderr": ""}));
}

#[tokio::test]
async fn their_files_can_be_read_and_not_be_changed() {
    let code = "\
import os, sympy
folder = os.path.dirname(sympy.__file__)
print(folder, len(open(sympy.__file__, 'rb').read()) > 100)
for change in (
    lambda: open(os.path.join(folder, 'new.py'), 'w'), lambda: os.remove(sympy.__file__), lambda: os.mkdir(folder + '/new'),
    lambda: os.rename(folder, '/tmp/sympy'), lambda: open(os.path.join(os.path.dirname(os.__file__), 'sitecustomize.py'), 'w'),
):
    try: change()
    except OSError as error: print(type(error).__name__, error.errno is not None)";
    let answer = run(code).await;
    let stdout = answer["stdout"].as_str().expect("text");
    assert!(stdout.starts_with("/lib/python3.13/site-packages/sympy True\n"), "{answer}");
    assert_eq!(stdout.lines().filter(|line| line.ends_with("Error True")).count(), 5, "{answer}");
}

#[tokio::test]
async fn a_request_can_put_nothing_beside_them() {
    for path in ["/lib/x.py", "/lib/python3.13/sitecustomize.py", "/lib/python3.13/site-packages/sympy/__init__.py"] {
        let (status, answer) = Server::shared().post("/v1/execute", &json!({"code": "1", "files": {path: ""}})).await;
        assert_eq!(status, 422, "{answer}");
        assert_shows(&answer, json!({"error": {"code": "bad_file", "field": "files"}}));
        let (status, answer) = Server::shared().post("/v1/sessions", &json!({"files": {path: ""}})).await;
        assert!((400..500).contains(&status), "{answer}");
    }
}

#[tokio::test]
async fn a_missing_package_is_told_with_whether_it_could_be_added() {
    for (module, said) in [
        ("pandas", "No module named 'pandas' (not in this image; the image `data` has it)"),
        (
            "phonenumbers",
            "No module named 'phonenumbers' (not in this image; a package without native code can be added to one)",
        ),
    ] {
        let answer = run(&format!("import {module}")).await;
        let error = json!({"class": "missing_dependency", "type": "ModuleNotFoundError", "message": said});
        assert_shows(&answer, json!({"stderr_class": "missing_dependency", "error": error}));
    }
}
