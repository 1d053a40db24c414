//! Signs receipts. The key is the operator's: a file, made at first use where there is none.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ed25519_dalek::SigningKey;
use ed25519_dalek::ed25519::pkcs8::KeypairBytes;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, EncodePrivateKey};
use serde_json::{Map, Value as Json, json};
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use super::Execution;
use proofbox_grading::receipt::{Receipt, sha256};
use proofbox_types::canonical_json::to_canonical_json;
use proofbox_types::submission::Submission;

/// The key can't be had.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// No directory for the key is known.
    #[error("no directory for the receipt key is known (HOME is not set): set PROOFBOX_RECEIPT_KEY")]
    NoPlace,
    /// The file can't be read or written.
    #[error("receipt key {path}: {source}")]
    Io {
        /// Path of the file.
        path: String,
        /// Cause of the failure.
        source: std::io::Error,
    },
    /// File that holds something else.
    #[error(
        "receipt key {path}: it is no Ed25519 key in PEM (PKCS #8), as `openssl genpkey -algorithm ed25519` makes it"
    )]
    NoKey {
        /// Path of the file.
        path: String,
    },
    /// Failure of the system's source of random bytes.
    #[error("making a receipt key: {0}")]
    Random(getrandom::Error),
}

/// The key that receipts are signed with.
pub struct Receipts {
    path: Option<PathBuf>,
    /// Signing key, zeroed when the service ends.
    key: OnceCell<Arc<SigningKey>>,
}

impl Receipts {
    /// Opens the key at `path`: read now when the file exists, else made when it is first needed.
    ///
    /// # Errors
    /// Returns an error when the file exists and holds no key.
    pub fn open(path: Option<PathBuf>) -> Result<Self, KeyError> {
        let key = match path.as_deref().map(read).transpose()?.flatten() {
            Some(key) => OnceCell::new_with(Some(Arc::new(key))),
            None => OnceCell::new(),
        };
        Ok(Self { path, key })
    }

    /// Returns the key, which is made when there is none yet.
    ///
    /// # Errors
    /// Returns an error when the key can't be made or saved.
    pub async fn key(&self) -> Result<Arc<SigningKey>, KeyError> {
        let make = async || {
            let path = self.path.clone().ok_or(KeyError::NoPlace)?;
            let made = tokio::task::spawn_blocking(move || make(&path)).await;
            made.expect("making a key does not panic, and nobody aborts it").map(Arc::new)
        };
        self.key.get_or_try_init(make).await.cloned()
    }
}

fn io(path: &Path) -> impl Fn(std::io::Error) -> KeyError {
    let path = path.display().to_string();
    move |source| KeyError::Io { path: path.clone(), source }
}

/// The key at `path`; none when there is no such file.
fn read(path: &Path) -> Result<Option<SigningKey>, KeyError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => Zeroizing::new(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(path)(error)),
    };
    let mode = std::fs::metadata(path).map_err(io(path))?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(path = %path.display(), mode = format!("{:o}", mode & 0o777), "others may read the receipt key");
    }
    let key = SigningKey::from_pkcs8_pem(text.trim());
    key.map(Some).map_err(|_| KeyError::NoKey { path: path.display().to_string() })
}

/// Makes a key at `path`, readable for its owner only; returns the one that exists when another process was faster.
fn make(path: &Path) -> Result<SigningKey, KeyError> {
    if let Some(key) = read(path)? {
        return Ok(key);
    }
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(seed.as_mut_slice()).map_err(KeyError::Random)?;
    let key = SigningKey::from_bytes(&seed);
    // Without its public half: OpenSSL reads no other.
    let pair = KeypairBytes { secret_key: *seed, public_key: None };
    let text = pair.to_pkcs8_pem(LineEnding::LF).expect("an Ed25519 key has a form in PKCS #8");
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory).map_err(io(directory))?;
    // tempfile makes files with mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(io(path))?;
    file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(io(path))?;
    match file.persist_noclobber(path) {
        Ok(_) => {
            tracing::info!(path = %path.display(), "made a key for receipts");
            Ok(key)
        }
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
            read(path)?.ok_or_else(|| io(path)(std::io::Error::from(std::io::ErrorKind::NotFound)))
        }
        Err(error) => Err(io(path)(error.error)),
    }
}

/// Fields of a receipt that describe a submission, taken down before it is run.
pub(super) struct Subject(Map<String, Json>);

impl Subject {
    /// Describes a submission, whose tests have this hash.
    pub(super) fn of(submission: &Submission, tests_sha256: Option<&str>) -> Self {
        let program = &submission.program;
        let files: Map<String, Json> =
            program.files.iter().map(|file| (file.path.clone(), json!(sha256(&file.content)))).collect();
        let files = (!files.is_empty()).then(|| sha256(to_canonical_json(&Json::Object(files)).as_bytes()));
        let fields = json!({
            "code_sha256": sha256(program.code.as_bytes()), "tests_sha256": tests_sha256, "files_sha256": files,
        });
        let Json::Object(fields) = fields else { unreachable!("it is written as an object") };
        Self(fields)
    }

    /// Makes the receipt on a submission's result.
    pub(super) fn receipt(self, execution: &Execution, key: &SigningKey) -> Receipt {
        let Self(mut payload) = self;
        let Execution { id, verdict, cost, limits, policy, image, .. } = execution;
        let fields = json!({
            "id": id.to_string(), "time": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "image_hash": image.image_hash, "python": image.python, "packages_hash": image.packages_hash,
            "policy": policy,
            "limits": {
                "fuel": limits.fuel, "wall_seconds": limits.wall.as_secs_f64(), "memory_bytes": limits.memory_bytes,
                "output_bytes": limits.output_bytes, "files_bytes": limits.files_bytes,
                "files_count": limits.files_count,
            },
            "status": verdict.status.as_str(), "exit_code": verdict.exit_code, "stderr_class": verdict.class.as_str(),
            "tests_passed": verdict.count_passed(), "tests_total": verdict.total(), "fuel_used": cost.fuel,
            "integrity": verdict.integrity.level.as_str(),
        });
        let Json::Object(fields) = fields else { unreachable!("it is written as an object") };
        payload.extend(fields);
        Receipt::sign(payload, key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_for_its_owner_only() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a/key.pem");
        let first = make(&path).expect("there is room");
        let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(make(&path).expect("it is there").to_bytes(), first.to_bytes());
        assert_eq!(std::fs::read_dir(path.parent().expect("a directory")).expect("it is there").count(), 1);
    }

    #[test]
    fn keys_are_those_of_openssl() {
        // RFC 8410, section 10.3.
        let rfc = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("rfc.pem");
        std::fs::write(&path, rfc).expect("a file");
        let key = read(&path).expect("it can be read").expect("it is there");
        let public = [0x19, 0xbf, 0x44, 0x09, 0x69, 0x84, 0xcd, 0xfe];
        assert!(key.verifying_key().as_bytes().starts_with(&public));
        // Of the same form: version 1, without the public half.
        make(&directory.path().join("own.pem")).expect("there is room");
        let own = std::fs::read_to_string(directory.path().join("own.pem")).expect("it was made");
        assert_eq!((own.len(), &own[..49]), (rfc.len(), &rfc[..49]));
    }

    #[test]
    fn what_is_no_key_is_refused_at_the_start() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("key.pem");
        std::fs::write(&path, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n").expect("a file");
        assert!(matches!(Receipts::open(Some(path)), Err(KeyError::NoKey { .. })));
    }

    #[tokio::test]
    async fn without_a_place_there_is_no_key() {
        let receipts = Receipts::open(None).expect("nothing is read");
        assert!(matches!(receipts.key().await, Err(KeyError::NoPlace)));
    }
}
