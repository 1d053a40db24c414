//! A secret in text.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

/// Bearer secret: zeroed when it is dropped, and never shown.
#[derive(Clone)]
pub struct Token(Zeroizing<String>);

impl Token {
    /// Makes a token of this text.
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl Deref for Token {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Serialize for Token {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_told_only_where_it_is_meant_to_be() {
        let token = Token::new("secret".to_owned());
        assert_eq!(format!("{token:?}"), "Token");
        let bytes = postcard::to_stdvec(&token).expect("plain data");
        assert_eq!(bytes, postcard::to_stdvec("secret").expect("plain data"));
        assert_eq!(&*postcard::from_bytes::<Token>(&bytes).expect("it was written by us"), "secret");
    }
}
