//! TLS: the certificate and the key of the service, read from files and read again when they change, and the handshakes
//! of clients, bounded in time and number.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, SystemTime};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::pace::Paced;
use crate::config::TlsFiles;

/// A connection to a client, without TLS: bounded in the time that the client may take.
pub(super) type PlainStream = Paced<Pin<Box<TimeoutStream<TcpStream>>>>;

/// Longest time from the connection to the end of the handshake.
const MAX_HANDSHAKE: Duration = Duration::from_secs(10);
/// Longest time that the request of a client without TLS is read on, for it to read why it is refused.
const MAX_DISCARD: Duration = Duration::from_secs(1);
/// Size of the largest file of certificates or of a key, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// Pause between two looks at the files.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// First byte of a client that speaks TLS: the type of a record, handshake.
const HANDSHAKE_RECORD: u8 = 22;

/// Answer to a client that speaks HTTP without TLS.
const WITHOUT_TLS: &str = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n\
    content-length: 79\r\n\r\n{\"error\":{\"code\":\"tls_required\",\"message\":\"this port speaks HTTPS: use https\"}}";

/// File that is no certificate or key of this service.
#[derive(Debug, thiserror::Error)]
#[error("{setting} names {}: {reason}", path.display())]
pub struct TlsError {
    setting: &'static str,
    path: PathBuf,
    reason: String,
}

impl TlsError {
    fn certificate(files: &TlsFiles, reason: impl Into<String>) -> Self {
        Self { setting: "--tls-cert (PROOFBOX_TLS_CERT)", path: files.certificate.clone(), reason: reason.into() }
    }

    fn key(files: &TlsFiles, reason: impl Into<String>) -> Self {
        Self { setting: "--tls-key (PROOFBOX_TLS_KEY)", path: files.key.clone(), reason: reason.into() }
    }
}

/// State of a file, by which a change is noticed: device, inode, size, and times of change.
type FileState = (u64, u64, u64, Option<SystemTime>, i64, i64);

/// Certificate and key in force.
#[derive(Debug)]
pub struct Tls {
    files: TlsFiles,
    current: RwLock<Arc<ServerConfig>>,
    /// State of the files when they were last read; none where a file was not there.
    read: Mutex<[Option<FileState>; 2]>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// Returns an error that names the setting and the file that can't be used.
    pub fn load(files: TlsFiles) -> Result<Arc<Self>, TlsError> {
        let state = files_state(&files);
        let current = RwLock::new(config_of(&files)?);
        Ok(Arc::new(Self { files, current, read: Mutex::new(state) }))
    }

    /// Reads the files again. Connections go on with what they began with, and new ones get what was read.
    ///
    /// # Errors
    /// Returns an error where the files can't be used; what was in force stays so.
    pub fn reload(&self) -> Result<(), TlsError> {
        // Noted first: what changes while it is read is read once more.
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = files_state(&self.files);
        let config = config_of(&self.files)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// Reads the files again whenever they change, until nobody uses them. Must be called in a runtime.
    pub fn follow(self: &Arc<Self>) {
        let weak = Arc::downgrade(self);
        // Ends with the runtime, or with the certificate.
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                let look = Weak::clone(&weak);
                match tokio::task::spawn_blocking(move || look.upgrade().map(|tls| tls.reload_changed())).await {
                    Ok(Some(Some(Ok(())))) => tracing::info!("the certificate was read again"),
                    Ok(Some(Some(Err(error)))) => tracing::error!(%error, "the certificate stays as it was"),
                    Ok(Some(None)) => {}
                    Ok(None) => return,
                    Err(_) => tracing::error!("reading the certificate failed; it stays as it was"),
                }
            }
        });
    }

    /// Reads the files again if they are others than those last read.
    fn reload_changed(&self) -> Option<Result<(), TlsError>> {
        let seen = *self.read.lock().unwrap_or_else(PoisonError::into_inner);
        (files_state(&self.files) != seen).then(|| self.reload())
    }

    fn acceptor(&self) -> TlsAcceptor {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

fn files_state(files: &TlsFiles) -> [Option<FileState>; 2] {
    let state = |metadata: Metadata| {
        let modified = metadata.modified().ok();
        (metadata.dev(), metadata.ino(), metadata.len(), modified, metadata.ctime(), metadata.ctime_nsec())
    };
    [&files.certificate, &files.key].map(|path| std::fs::metadata(path).ok().map(state))
}

/// Reads a file that has a reasonable size.
fn content(path: &Path) -> Result<Vec<u8>, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is no file".to_owned());
    }
    if metadata.len() > MAX_FILE {
        return Err(format!("it has {} bytes; at most {MAX_FILE} are read", metadata.len()));
    }
    std::fs::read(path).map_err(|error| error.to_string())
}

fn config_of(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let pem = content(&files.certificate).map_err(|reason| TlsError::certificate(files, reason))?;
    let chain = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| TlsError::certificate(files, format!("it is no PEM: {error}")))?;
    if chain.is_empty() {
        return Err(TlsError::certificate(files, "it has no certificate (-----BEGIN CERTIFICATE-----)"));
    }
    let pem = content(&files.key).map_err(|reason| TlsError::key(files, reason))?;
    let key = PrivateKeyDer::from_pem_slice(&pem).map_err(|error| TlsError::key(files, no_key(&pem, &error)))?;
    let provider = Arc::new(ring::default_provider());
    let key = provider.key_provider.load_private_key(key).map_err(|_| {
        TlsError::key(files, "its key can't be used: it is RSA of 2048 to 4096 bits, ECDSA P-256 or P-384, or Ed25519")
    })?;
    let pair = rustls::sign::CertifiedKey::new(chain, key);
    match pair.keys_match() {
        Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {}
        Err(rustls::Error::InconsistentKeys(_)) => {
            let reason = format!("its key is not that of the first certificate in {}", files.certificate.display());
            return Err(TlsError::key(files, reason));
        }
        Err(error) => return Err(TlsError::certificate(files, format!("its first certificate is none: {error}"))),
    }
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| TlsError::certificate(files, error.to_string()))?;
    let resolver = Arc::new(rustls::sign::SingleCertAndKey::from(pair));
    let mut config = builder.with_no_client_auth().with_cert_resolver(resolver);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Returns the reason why a file holds no key, without a word of its content.
fn no_key(pem: &[u8], error: &pem::Error) -> String {
    if pem.windows(9).any(|window| window == b"ENCRYPTED") {
        return "its key is encrypted; only keys without a password can be used".to_owned();
    }
    match error {
        pem::Error::NoItemsFound => "it has no private key (-----BEGIN PRIVATE KEY-----)".to_owned(),
        _ => "it is no PEM".to_owned(),
    }
}

/// Handshakes that are under way. Beyond the maximum the oldest ends, so that clients who say nothing keep nobody out.
#[derive(Debug)]
pub(super) struct Handshakes {
    under_way: Mutex<(u64, BTreeMap<u64, oneshot::Sender<()>>)>,
    most: usize,
    timeout: Duration,
}

impl Handshakes {
    /// Bounds handshakes, by the bounds on connections: half of those may be in handshakes.
    pub(super) fn new(most_connections: usize, idle_timeout: Duration) -> Arc<Self> {
        let most = most_connections.div_ceil(2);
        Arc::new(Self { under_way: Mutex::default(), most, timeout: idle_timeout.min(MAX_HANDSHAKE) })
    }

    fn begin(self: &Arc<Self>) -> (Handshake, oneshot::Receiver<()>) {
        let (sender, ended) = oneshot::channel();
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, table) = &mut *under_way;
        let number = *next;
        *next += 1;
        if table.len() >= self.most
            && let Some((_, oldest)) = table.pop_first()
        {
            // It may have ended meanwhile.
            let _ = oldest.send(());
        }
        table.insert(number, sender);
        drop(under_way);
        (Handshake { of: Arc::clone(self), number }, ended)
    }

    /// Makes the handshake with a client. Returns nothing if there is none, whatever the reason: that is the client's
    /// affair.
    pub(super) async fn accept(
        self: &Arc<Self>,
        tls: &Tls,
        mut stream: TcpStream,
        bounded: impl FnOnce(TcpStream) -> PlainStream,
    ) -> Option<TlsStream<PlainStream>> {
        let (_handshake, ended) = self.begin();
        let accept = async {
            match first_byte(&stream).await.ok()? {
                HANDSHAKE_RECORD => tls.acceptor().accept(bounded(stream)).await.ok(),
                // A method begins with a letter.
                b'A'..=b'Z' => {
                    refuse(&mut stream).await;
                    None
                }
                _ => None,
            }
        };
        tokio::select! {
            accepted = tokio::time::timeout(self.timeout, accept) => accepted.ok().flatten(),
            // An error says that the sender is gone, which it is with the table only.
            _ = ended => None,
        }
    }
}

/// A handshake under way, which leaves the table when it ends.
struct Handshake {
    of: Arc<Handshakes>,
    number: u64,
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.of.under_way.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&self.number);
    }
}

async fn first_byte(stream: &TcpStream) -> io::Result<u8> {
    let mut byte = [0];
    match stream.peek(&mut byte).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(byte[0]),
    }
}

/// Tells a client without TLS what it did, and reads on for a while: a connection that is closed with unread bytes takes
/// the answer with it.
async fn refuse(stream: &mut TcpStream) {
    let answer = async {
        stream.write_all(WITHOUT_TLS.as_bytes()).await?;
        stream.shutdown().await?;
        let mut bytes = [0; 4096];
        while stream.read(&mut bytes).await? > 0 {}
        io::Result::Ok(())
    };
    // Who does not read it does without.
    let _ = tokio::time::timeout(MAX_DISCARD, answer).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(certificate: &[u8], key: &[u8]) -> (tempfile::TempDir, TlsFiles) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let files = TlsFiles { certificate: directory.path().join("cert.pem"), key: directory.path().join("key.pem") };
        std::fs::write(&files.certificate, certificate).expect("it can be written");
        std::fs::write(&files.key, key).expect("it can be written");
        (directory, files)
    }

    #[test]
    fn the_answer_to_plain_http_is_as_long_as_it_says() {
        let (head, body) = WITHOUT_TLS.split_once("\r\n\r\n").expect("a head");
        assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
        assert!(serde_json::from_str::<serde_json::Value>(body).is_ok());
    }

    #[test]
    fn errors_name_the_setting_the_file_and_the_reason() {
        let said = |certificate: &[u8], key: &[u8]| {
            let (_directory, files) = files(certificate, key);
            Tls::load(files).expect_err("it is none").to_string()
        };
        let certificate = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let text = said(b"nothing", b"");
        assert!(
            text.starts_with("--tls-cert (PROOFBOX_TLS_CERT) names /") && text.contains("no certificate"),
            "{text}"
        );
        let text = said(certificate, b"nothing");
        assert!(text.starts_with("--tls-key (PROOFBOX_TLS_KEY) names /") && text.contains("no private key"), "{text}");
        let text =
            said(certificate, b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n");
        assert!(text.contains("key.pem") && text.contains("encrypted"), "{text}");
        let secret = b"-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n";
        let text = said(certificate, secret);
        assert!(text.contains("--tls-key") && text.contains("can't be used") && !text.contains("c2Vj"), "{text}");
        let (directory, files) = files(certificate, secret);
        std::fs::remove_file(&files.certificate).expect("it is there");
        let text = Tls::load(files.clone()).expect_err("it is gone").to_string();
        assert!(text.contains("No such file"), "{text}");
        std::fs::create_dir(&files.certificate).expect("it can be made");
        assert!(Tls::load(files).expect_err("a directory").to_string().contains("no file"));
        drop(directory);
    }

    #[tokio::test]
    async fn the_oldest_handshake_makes_room() {
        let handshakes = Handshakes::new(4, Duration::from_secs(30));
        let (first, mut first_ended) = handshakes.begin();
        let (second, mut second_ended) = handshakes.begin();
        assert!(first_ended.try_recv().is_err());
        let (_third, mut third_ended) = handshakes.begin();
        assert_eq!(first_ended.try_recv(), Ok(()));
        // What has ended takes no room.
        drop((first, second));
        let (_fourth, _) = handshakes.begin();
        assert_eq!(second_ended.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        assert_eq!(third_ended.try_recv(), Err(oneshot::error::TryRecvError::Empty));
        assert_eq!(handshakes.timeout, MAX_HANDSHAKE);
    }
}
