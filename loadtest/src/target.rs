//! Where the load goes: this machine, and nowhere else.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use anyhow::{Context, ensure};
use hyper::Uri;

const HTTP_PORT: u16 = 80;

/// A service on a loopback address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    address: SocketAddr,
}

impl Target {
    /// Address to connect to.
    pub(crate) fn address(self) -> SocketAddr {
        self.address
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "http://{}", self.address)
    }
}

impl FromStr for Target {
    type Err = anyhow::Error;

    /// No name is looked up: `localhost` is 127.0.0.1, every other host is an address.
    fn from_str(url: &str) -> anyhow::Result<Self> {
        let uri: Uri = url.parse().with_context(|| format!("{url:?} is not a URL"))?;
        ensure!(uri.scheme_str() == Some("http"), "{url:?} does not begin with http://");
        ensure!(
            matches!(uri.path(), "" | "/") && uri.query().is_none(),
            "{url:?} has a path; give the service's address alone"
        );
        let host = uri.host().unwrap_or_default();
        let address = match host {
            "localhost" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            _ => host.trim_start_matches('[').trim_end_matches(']').parse().ok().filter(IpAddr::is_loopback),
        };
        let address = address.with_context(|| {
            format!(
                "{host:?} is not a loopback address: load is sent to this machine only (127.0.0.1, [::1] or localhost)"
            )
        })?;
        Ok(Self { address: SocketAddr::new(address, uri.port_u16().unwrap_or(HTTP_PORT)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_addresses_are_taken() {
        let address =
            |url: &str| url.parse::<Target>().map(|target| target.to_string()).map_err(|error| error.to_string());
        assert_eq!(address("http://127.0.0.1:8080"), Ok("http://127.0.0.1:8080".to_owned()));
        assert_eq!(address("http://127.8.0.1/"), Ok("http://127.8.0.1:80".to_owned()));
        assert_eq!(address("http://[::1]:1"), Ok("http://[::1]:1".to_owned()));
        assert_eq!(address("http://localhost:8080"), Ok("http://127.0.0.1:8080".to_owned()));
    }

    #[test]
    fn every_other_host_is_refused() {
        for url in [
            "http://example.com",
            "http://10.0.0.1:8080",
            "http://0.0.0.0",
            "http://[::ffff:127.0.0.1]",
            "http://localhost.example.com",
        ] {
            let error = url.parse::<Target>().expect_err(url).to_string();
            assert!(error.contains("is not a loopback address"), "{url}: {error}");
        }
        for url in
            ["https://127.0.0.1", "127.0.0.1:8080", "http://127.0.0.1/v1", "http://127.0.0.1?a=b", "http://a@10.0.0.1"]
        {
            url.parse::<Target>().expect_err(url);
        }
    }
}
