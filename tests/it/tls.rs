//! TLS: the certificate from files, its reload, and clients that speak it badly or not at all.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::access::create;
use crate::clients::{TURN, python};
use crate::harness::{Server, proofbox};
use crate::process::{eventually, eventually_async};
use crate::tools::succeed;

/// Longer than a client may take of these servers, and shorter than anybody waits for nothing.
const LATE: Duration = Duration::from_secs(20);
/// Below it are the names of sandboxes. No resolver knows it.
const DOMAIN: &str = "box.test";

/// A certificate for this machine and for [`DOMAIN`], which its clients trust by itself, and its key: both PEM.
fn pair() -> (String, String) {
    let names = ["localhost", DOMAIN, &format!("*.{DOMAIN}")].map(str::to_owned).to_vec();
    let made = rcgen::generate_simple_self_signed(names).expect("the names can be in a certificate");
    (made.cert.pem(), made.signing_key.serialize_pem())
}

/// Certificate and key of a server, in files.
struct Files {
    directory: TempDir,
}

impl Files {
    fn new((certificate, key): &(String, String)) -> Self {
        let files = Self { directory: tempfile::tempdir().expect("a temporary directory") };
        files.replace(certificate, key);
        files
    }

    fn certificate(&self) -> PathBuf {
        self.directory.path().join("cert.pem")
    }

    fn key(&self) -> PathBuf {
        self.directory.path().join("key.pem")
    }

    /// Puts others in their place, one after the other, as programs that renew certificates do.
    fn replace(&self, certificate: &str, key: &str) {
        for (path, content) in [(self.certificate(), certificate), (self.key(), key)] {
            let new = path.with_extension("new");
            std::fs::write(&new, content).expect("it can be written");
            std::fs::rename(new, path).expect("it can be renamed");
        }
    }

    fn serve(&self, arguments: &[&str]) -> Server {
        Server::start_with(&["--workers", "1"], |command| {
            command.arg("--tls-cert").arg(self.certificate()).arg("--tls-key").arg(self.key()).args(arguments);
        })
    }
}

fn signal(server: &Server, signal: &str) {
    let sent = Command::new("kill").args([signal, &server.pid().to_string()]).status();
    assert!(sent.expect("kill is there").success());
}

fn address(server: &Server) -> SocketAddr {
    server.url.trim_start_matches("http://").parse().expect("the address that it listens on")
}

/// A client that trusts this certificate and no other, and keeps no connection.
fn client(certificate: &str) -> reqwest::Client {
    let root = reqwest::Certificate::from_pem(certificate.as_bytes()).expect("it is PEM");
    let client = reqwest::Client::builder().tls_built_in_root_certs(false).add_root_certificate(root);
    client.timeout(LATE).pool_max_idle_per_host(0).build().expect("a client")
}

async fn healthz(server: &Server, client: &reqwest::Client) -> reqwest::Result<String> {
    let url = format!("https://localhost:{}/healthz", address(server).port());
    client.get(url).send().await?.text().await
}

/// A connection over TLS of a client that trusts this certificate, and offers these protocols.
async fn connect(
    server: &Server,
    certificate: &str,
    protocols: &[&str],
) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.as_bytes()).expect("PEM")).expect("a root");
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let stream = TcpStream::connect(address(server)).await?;
    let name = ServerName::try_from("localhost").expect("a name");
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

/// One exchange of a connection that stays open; the body of the answer.
async fn exchange(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> String {
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("sent");
    let mut said = Vec::new();
    while !said.ends_with(b"}") {
        let read = tokio::time::timeout(LATE, stream.read_buf(&mut said)).await.expect("in time");
        assert!(read.expect("whole") > 0, "{}", String::from_utf8_lossy(&said));
    }
    String::from_utf8(said).expect("text")
}

/// All that comes until the server closes.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(LATE, stream.read_to_end(&mut bytes)).await;
    // Reset is closed, too.
    let _ = read.expect("the server closes");
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn who_trusts_the_certificate_is_served() {
    let pair = pair();
    let server = Files::new(&pair).serve(&[]);
    let url = format!("https://localhost:{}/v1/execute", address(&server).port());
    let request = client(&pair.0).post(url).json(&json!({"code": "print(6 * 7)"}));
    let answer: Value = request.send().await.expect("it answers").json().await.expect("JSON");
    assert_eq!(answer["stdout"], "42\n");
    let mut stream = connect(&server, &pair.0, &["h2", "http/1.1"]).await.expect("a handshake");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"http/1.1".as_slice()));
    assert!(exchange(&mut stream).await.contains(r#""status":"ok""#));
    connect(&server, &pair.0, &["h2"]).await.expect_err("HTTP/2 is not spoken");
    let other = self::pair().0;
    healthz(&server, &client(&other)).await.expect_err("another certificate");
}

#[tokio::test]
async fn who_speaks_no_tls_hears_so_and_blocks_nobody() {
    let pair = pair();
    let server = Files::new(&pair).serve(&[]);
    let mut plain = TcpStream::connect(address(&server)).await.expect("it listens");
    plain.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("sent");
    let said = rest(&mut plain).await;
    assert!(said.starts_with("HTTP/1.1 400 ") && said.contains(r#""code":"tls_required""#), "{said}");
    let refused = reqwest::get(format!("{}/healthz", server.url)).await.expect("an answer");
    assert_eq!(refused.status(), 400);
    // Neither HTTP nor TLS.
    let mut nonsense = TcpStream::connect(address(&server)).await.expect("it listens");
    nonsense.write_all(&[0x80, 0x2e, 1, 0, 2]).await.expect("sent");
    assert_eq!(rest(&mut nonsense).await, "");
    assert!(healthz(&server, &client(&pair.0)).await.expect("served").contains("ok"));
}

#[tokio::test]
async fn a_handshake_takes_no_longer_than_it_may() {
    let pair = pair();
    let server = Files::new(&pair).serve(&["--client-seconds", "1"]);
    // Nothing, and the beginning of a record whose rest does not come.
    for sent in [&b""[..], &[22, 3, 1, 1, 0, 1]] {
        let mut silent = TcpStream::connect(address(&server)).await.expect("it listens");
        silent.write_all(sent).await.expect("sent");
        let began = Instant::now();
        assert_eq!(rest(&mut silent).await, "");
        assert!(began.elapsed() >= Duration::from_millis(900), "{:?}", began.elapsed());
    }
    // After the handshake the bounds are those of every connection.
    let mut idle = connect(&server, &pair.0, &[]).await.expect("a handshake");
    let mut bytes = Vec::new();
    let _ = tokio::time::timeout(LATE, idle.read_to_end(&mut bytes)).await.expect("it is given up");
}

#[tokio::test]
async fn who_does_not_take_an_answer_is_given_up_over_tls_too() {
    let pair = pair();
    let server = Files::new(&pair).serve(&["--client-seconds", "1"]);
    let client = client(&pair.0);
    let url = |path: &str| format!("https://localhost:{}{path}", address(&server).port());
    let session = client.post(url("/v1/sessions")).json(&json!({})).send().await.expect("it answers");
    let session: Value = session.json().await.expect("JSON");
    let path = format!("/v1/sessions/{}/files/large", session["id"].as_str().expect("an id"));
    // More than the kernel holds for it.
    let written = client.put(url(&path)).body(vec![b'x'; 24 << 20]).send().await.expect("it answers");
    assert_eq!(written.status(), 201);
    let mut silent = connect(&server, &pair.0, &[]).await.expect("a handshake");
    silent.write_all(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).await.expect("sent");
    let alone = async || {
        let metrics = client.get(url("/metrics")).send().await.ok()?.text().await.ok()?;
        metrics.lines().any(|line| line == "proofbox_connections 1").then_some(())
    };
    eventually_async("it is given up", alone).await;
    drop(silent);
}

#[tokio::test]
async fn clients_who_say_nothing_keep_nobody_out() {
    let pair = pair();
    let server = Files::new(&pair).serve(&["--connections", "4"]);
    let mut silent = Vec::new();
    for _ in 0..8 {
        silent.push(TcpStream::connect(address(&server)).await.expect("it listens"));
    }
    // Sooner than any handshake is over by itself.
    let served = tokio::time::timeout(Duration::from_secs(5), healthz(&server, &client(&pair.0))).await;
    assert!(served.expect("in time").expect("served").contains("ok"));
    // The first had to go.
    let mut byte = [0];
    assert_eq!(silent[0].read(&mut byte).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn a_new_certificate_is_served_and_connections_go_on() {
    let (old, new) = (pair(), pair());
    let files = Files::new(&old);
    let server = files.serve(&[]);
    let mut kept = connect(&server, &old.0, &[]).await.expect("a handshake");
    assert!(exchange(&mut kept).await.contains("ok"));
    files.replace(&new.0, &new.1);
    eventually_async("the new certificate is served", async || healthz(&server, &client(&new.0)).await.ok()).await;
    healthz(&server, &client(&old.0)).await.expect_err("the old one is not");
    assert!(exchange(&mut kept).await.contains("ok"), "the connection of before goes on");

    // What can't be used changes nothing, and is told.
    files.replace(&new.0, &old.1);
    let log = |text: &str| server.log().iter().filter(|line| line.contains(text)).count();
    eventually("it says why", || (log("is not that of the first certificate") > 0).then_some(())).await;
    assert!(healthz(&server, &client(&new.0)).await.expect("served").contains("ok"));
    files.replace(&new.0, &new.1);
    eventually("it is right again", || (log("the certificate was read again") > 1).then_some(())).await;

    let reloads = log("the certificate was read again");
    signal(&server, "-HUP");
    let again = || (log("the certificate was read again") > reloads).then_some(());
    eventually("SIGHUP has it read again", again).await;
    assert!(exchange(&mut kept).await.contains("ok"));
}

#[tokio::test]
async fn a_handshake_that_does_not_come_delays_no_end() {
    let pair = pair();
    let server = Files::new(&pair).serve(&[]);
    let _silent = TcpStream::connect(address(&server)).await.expect("it listens");
    // Accepted after it.
    assert!(healthz(&server, &client(&pair.0)).await.expect("served").contains("ok"));
    let began = Instant::now();
    signal(&server, "-TERM");
    assert!(server.ended().await.success());
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn a_start_without_a_usable_pair_names_the_setting_and_the_file() {
    let (first, second) = (pair(), pair());
    let files = Files::new(&(first.0, second.1));
    let said = |arguments: &[(&str, &Path)]| {
        let mut command = proofbox(&["serve"]);
        for (flag, path) in arguments {
            command.arg(flag).arg(path);
        }
        let output = command.output().expect("it runs");
        assert_eq!(output.status.code(), Some(125));
        String::from_utf8(output.stderr).expect("text")
    };
    let (certificate, key) = (files.certificate(), files.key());
    let text = said(&[("--tls-cert", &certificate)]);
    assert!(text.contains("--tls-cert (PROOFBOX_TLS_CERT) is") && text.contains("PROOFBOX_TLS_KEY"), "{text}");
    let text = said(&[("--tls-key", &key)]);
    assert!(text.contains("--tls-key (PROOFBOX_TLS_KEY) is") && text.contains("PROOFBOX_TLS_CERT"), "{text}");
    let missing = files.directory.path().join("missing.pem");
    let text = said(&[("--tls-cert", &missing), ("--tls-key", &key)]);
    assert!(text.contains("--tls-cert") && text.contains("missing.pem: No such file"), "{text}");
    let text = said(&[("--tls-cert", &certificate), ("--tls-key", &certificate)]);
    assert!(text.contains("--tls-key") && text.contains("cert.pem: it has no private key"), "{text}");
    let text = said(&[("--tls-cert", &certificate), ("--tls-key", &key)]);
    assert!(text.contains("--tls-key") && text.contains("key.pem: its key is not that of"), "{text}");
}

#[test]
fn e2bs_sdk_finds_sandboxes_by_their_names_with_its_domain_alone() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (pair, data) = (pair(), tempfile::tempdir().expect("a temporary directory"));
    let key = create(data.path(), &["bot"]).replace("proofbox_", "e2b_");
    let files = Files::new(&pair);
    let server = Server::start_with(&["--workers", "1"], |command| {
        command.arg("--tls-cert").arg(files.certificate()).arg("--tls-key").arg(files.key());
        command.args(["--keyless", "never"]).env("PROOFBOX_DATA_DIR", data.path());
    });
    for domain in [DOMAIN.to_owned(), format!("{DOMAIN}:8443")] {
        let mut command = python("e2b", "domain.py", &server);
        command.env("E2B_DOMAIN", &domain).env("E2B_API_KEY", &key).env("SSL_CERT_FILE", files.certificate());
        command.env("SERVER", address(&server).to_string());
        let said = succeed(&format!("E2B's SDK with the domain {domain}"), &mut command);
        assert!(said.contains("all passed"), "{said}");
    }
}
