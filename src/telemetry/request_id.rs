//! The name of a request in the log.

use uuid::Uuid;

/// Maximum length of a client's own id, in bytes.
const MAX_LENGTH: usize = 128;

/// The name of one request: the client's own, or a UUID version 7. Visible ASCII only, so that no line of the log can
/// be forged with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    /// The client's own, where it gave one that can be used; else a new one.
    pub fn of(given: Option<&[u8]>) -> Self {
        let usable = |given: &&[u8]| (1..=MAX_LENGTH).contains(&given.len()) && given.iter().all(u8::is_ascii_graphic);
        match given.filter(usable).and_then(|given| std::str::from_utf8(given).ok()) {
            Some(given) => Self(given.to_owned()),
            None => Self(Uuid::now_v7().to_string()),
        }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_can_be_used_is_kept() {
        assert_eq!(RequestId::of(Some(b"order-17/a")).as_str(), "order-17/a");
        assert_eq!(RequestId::of(Some(&[b'x'; MAX_LENGTH])).as_str().len(), MAX_LENGTH);
    }

    #[test]
    fn any_other_is_replaced_by_a_new_one() {
        for given in [
            None,
            Some(&b""[..]),
            Some(b"two words"),
            Some(b"a\nb"),
            Some(b"\x1b[31m"),
            Some("ä".as_bytes()),
            Some(&[b'x'; MAX_LENGTH + 1]),
        ] {
            let id = RequestId::of(given);
            assert_eq!(Uuid::try_parse(id.as_str()).map(|id| id.get_version_num()), Ok(7), "{given:?}");
        }
    }
}
