//! Byte ranges, as `Range` names them (RFC 9110, section 14): at most one per request.

/// Part of a file that a client asks for. Requests for several ranges get the whole file, as the standard allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteRange {
    /// Range from the first to the last of these offsets, or to the end.
    From(u64, Option<u64>),
    /// Last so many bytes of the file.
    Last(u64),
}

impl ByteRange {
    /// Parses the header; none where it has no meaning, in which case it is ignored.
    pub(super) fn parse(header: &str) -> Option<Self> {
        let (first, last) = header.trim().strip_prefix("bytes=")?.split_once('-')?;
        let number = |text: &str| if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None };
        match (first, last) {
            ("", "") => None,
            ("", last) => number(last).map(Self::Last),
            (first, "") => Some(Self::From(number(first)?, None)),
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(Self::From(first, Some(last)))
            }
        }
    }

    /// First and last byte of it in a file of this length; none where it lies beyond.
    pub(super) fn within(self, length: u64) -> Option<(u64, u64)> {
        let (first, last) = match self {
            Self::From(first, last) => (first, last.unwrap_or(u64::MAX)),
            Self::Last(0) => return None,
            Self::Last(count) => (length.saturating_sub(count), u64::MAX),
        };
        (first < length).then(|| (first, last.min(length - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_as_the_rfc_has_them() {
        let within = |header: &str, length| ByteRange::parse(header).and_then(|range| range.within(length));
        assert_eq!(within("bytes=0-3", 10), Some((0, 3)));
        assert_eq!(within("bytes=4-", 10), Some((4, 9)));
        assert_eq!(within("bytes=-3", 10), Some((7, 9)));
        assert_eq!(within("bytes=-30", 10), Some((0, 9)));
        assert_eq!(within("bytes=8-99", 10), Some((8, 9)));
        for none in ["bytes=10-", "bytes=-0", "bytes=3-2", "bytes=-", "items=0-1", "bytes=0-1,3-4", "bytes=+1-2"] {
            assert_eq!(within(none, 10), None, "{none}");
        }
    }
}
