//! A wheel around a program: <https://packaging.python.org/en/latest/specifications/binary-distribution-format/>.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::archive::{Entry, Time, write_zip};

/// Name of the distribution; `proofbox` is the client's.
const NAME: &str = "proofbox-server";

/// Content of a wheel.
pub(crate) struct Wheel {
    pub version: String,
    pub summary: String,
    /// Licence as an SPDX expression.
    pub licence: String,
    /// Platform, as in `manylinux_2_36_x86_64`.
    pub platform: String,
    /// Description in Markdown.
    pub description: String,
    /// Programs, by name: installed into the environment's `bin`.
    pub programs: Vec<Entry>,
    /// Files that are installed below the environment, such as `share/…`.
    pub data: Vec<Entry>,
    /// Licence texts.
    pub licences: Vec<Entry>,
    /// Software bills of materials (PEP 770).
    pub sboms: Vec<Entry>,
}

impl Wheel {
    fn tag(&self) -> String {
        format!("py3-none-{}", self.platform)
    }

    fn stem(&self) -> String {
        format!("{}-{}", NAME.replace('-', "_"), self.version)
    }

    /// Returns the name of the file.
    pub(crate) fn file_name(&self) -> String {
        format!("{}-{}.whl", self.stem(), self.tag())
    }

    /// Returns the bytes of the file.
    pub(crate) fn to_bytes(&self, time: Time) -> anyhow::Result<Vec<u8>> {
        let (data, info) = (format!("{}.data", self.stem()), format!("{}.dist-info", self.stem()));
        let mut entries = Vec::new();
        let mut put = |folder: String, files: &[Entry]| {
            entries.extend(files.iter().map(|file| Entry {
                path: format!("{folder}/{}", file.path),
                content: file.content.clone(),
                mode: file.mode,
            }));
        };
        put(format!("{data}/data"), &self.data);
        put(format!("{data}/scripts"), &self.programs);
        // Its own files come last, as the specification recommends.
        put(format!("{info}/licenses"), &self.licences);
        put(format!("{info}/sboms"), &self.sboms);
        let generated = [Entry::file("METADATA", self.metadata()), Entry::file("WHEEL", self.wheel())];
        put(info.clone(), &generated);
        let record = format!("{info}/RECORD");
        let mut lines: String = entries.iter().map(record_line).collect();
        lines += &format!("{record},,\n");
        entries.push(Entry::file(record, lines));
        write_zip(&entries, time)
    }

    fn metadata(&self) -> String {
        let licences: String = self.licences.iter().map(|file| format!("License-File: {}\n", file.path)).collect();
        format!(
            "Metadata-Version: 2.4\nName: {NAME}\nVersion: {}\nSummary: {}\nLicense-Expression: {}\n{licences}\
             Classifier: Operating System :: POSIX :: Linux\nDescription-Content-Type: text/markdown\n\n{}",
            self.version, self.summary, self.licence, self.description,
        )
    }

    fn wheel(&self) -> String {
        let generator = concat!("proofbox-xtask ", env!("CARGO_PKG_VERSION"));
        format!("Wheel-Version: 1.0\nGenerator: {generator}\nRoot-Is-Purelib: false\nTag: {}\n", self.tag())
    }
}

fn record_line(entry: &Entry) -> String {
    let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(&entry.content));
    format!("{},sha256={hash},{}\n", entry.path, entry.content.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_record_is_as_the_specification_has_it() {
        let line = record_line(&Entry::file("a", ""));
        assert_eq!(line, "a,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n");
    }
}
