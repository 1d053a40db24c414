//! `GET /v2/sandboxes`, and the older `GET /sandboxes`

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::super::E2b;
use super::super::body::parameter;
use super::super::error::{E2bError, Kind};
use super::listed_json;
use crate::service::{SessionInfo, SessionState};
use proofbox_types::caller::Caller;

/// Maximum number of sandboxes on one page, and the number where the client gives none.
pub(crate) const PAGE: usize = 100;

/// Conditions that a client sets for a list.
#[derive(Debug, Default)]
struct Filter {
    metadata: BTreeMap<String, String>,
    /// State to list, paused or running; none for both.
    paused: Option<bool>,
    started_after: Option<jiff::Timestamp>,
    template: Option<String>,
}

impl Filter {
    fn of(uri: &Uri) -> Result<Self, E2bError> {
        let metadata = parameter(uri, "metadata").map(|text| metadata_of(&text)).unwrap_or_default();
        let bad = |message: &str| E2bError::new(Kind::Bad, message);
        let (mut running, mut paused) = (false, false);
        for state in parameter(uri, "state").unwrap_or_default().split(',').filter(|state| !state.is_empty()) {
            match state {
                "running" => running = true,
                "paused" => paused = true,
                _ => return Err(bad("state is running, paused, or both with a comma between them")),
            }
        }
        let started_after = parameter(uri, "startedAfter").filter(|text| !text.is_empty());
        let started_after = started_after.map(|text| text.parse()).transpose();
        Ok(Self {
            metadata,
            paused: (running != paused).then_some(paused),
            started_after: started_after.map_err(|_| bad("startedAfter is a time, as RFC 3339 has it"))?,
            template: parameter(uri, "template").filter(|text| !text.is_empty()),
        })
    }

    fn lets(&self, info: &SessionInfo) -> bool {
        let is_paused = info.state == SessionState::Paused;
        self.paused.is_none_or(|paused| paused == is_paused)
            && self.started_after.is_none_or(|after| info.spec.created > after)
            && self.template.as_ref().is_none_or(|template| *template == info.spec.template)
            && self.metadata.iter().all(|(name, value)| info.spec.labels.get(name) == Some(value))
    }
}

/// The filter by metadata: a query in the query, whose names and values are encoded once more.
fn metadata_of(text: &str) -> BTreeMap<String, String> {
    let decoded = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
    let pairs = url::form_urlencoded::parse(text.as_bytes());
    pairs.map(|(name, value)| (decoded(&name), decoded(&value))).collect()
}

/// Lists sandboxes that run or are paused, page by page.
pub(crate) async fn list(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
) -> Result<Response, E2bError> {
    let filter = Filter::of(&uri)?;
    let ascending = match parameter(&uri, "order").as_deref() {
        None | Some("" | "desc") => false,
        Some("asc") => true,
        Some(_) => return Err(E2bError::new(Kind::Bad, "order is asc or desc")),
    };
    let mut all = e2b.shared.service.sessions.list(&caller, None, usize::MAX);
    let of_builds = e2b.state.builds.sessions();
    all.retain(|info| filter.lets(info) && !of_builds.contains(&info.id));
    // By the time when they were made: names tell it.
    if !ascending {
        all.reverse();
    }
    let running = all.iter().filter(|info| info.state != SessionState::Paused).count();
    let (page, next) = page_of(&uri, &all, |info| info.id.simple())?;
    let mut response = with_next(Json(page.iter().map(listed_json).collect::<Vec<Value>>()).into_response(), next);
    response.headers_mut().insert(HeaderName::from_static("x-total-running"), HeaderValue::from(running));
    Ok(response)
}

/// Lists the sandboxes that run, in one answer.
pub(crate) async fn list_running(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
) -> Result<Json<Vec<Value>>, E2bError> {
    let filter = Filter { paused: Some(false), ..Filter::of(&uri)? };
    let all = e2b.shared.service.sessions.list(&caller, None, usize::MAX);
    let of_builds = e2b.state.builds.sessions();
    let is_listed = |info: &&SessionInfo| filter.lets(info) && !of_builds.contains(&info.id);
    Ok(Json(all.iter().rev().filter(is_listed).map(listed_json).collect()))
}

/// The page of a list that a client asks for, and what stands for the next one. What is new or gone meanwhile moves
/// nothing: a page begins after the last of the one before, or where that would be.
pub(crate) fn page_of<'a, T>(
    uri: &Uri,
    all: &'a [T],
    name: impl Fn(&T) -> String,
) -> Result<(&'a [T], Option<String>), E2bError> {
    let bad = |message: String| E2bError::new(Kind::Bad, message);
    let limit = match parameter(uri, "limit").filter(|text| !text.is_empty()) {
        None => PAGE,
        Some(text) => match text.parse() {
            Ok(limit @ 1..=PAGE) => limit,
            _ => return Err(bad(format!("limit is a number from 1 to {PAGE}"))),
        },
    };
    let start = match parameter(uri, "nextToken").filter(|text| !text.is_empty()) {
        None => 0,
        Some(token) => {
            let is_ascending = all.first().map(&name) < all.last().map(&name);
            let passed = |item: &T| if is_ascending { name(item) <= token } else { name(item) >= token };
            all.partition_point(passed)
        }
    };
    let end = (start + limit).min(all.len());
    let next = (end < all.len()).then(|| all[start..end].last().map(name)).flatten();
    Ok((&all[start..end], next))
}

/// Adds the header that holds the cursor of the next page, if there is one.
pub(crate) fn with_next(mut response: Response, next: Option<String>) -> Response {
    if let Some(next) = next.and_then(|next| HeaderValue::from_str(&next).ok()) {
        response.headers_mut().insert(HeaderName::from_static("x-next-token"), next);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_encoded_twice() {
        // {"grp": "x", "k y": "v&=ä+%"} as SDKs send it, after the first decoding.
        let map = metadata_of("grp=x&k%2520y=v%2526%253D%25C3%25A4%252B%2525");
        assert_eq!(map.get("grp").map(String::as_str), Some("x"));
        assert_eq!(map.get("k y").map(String::as_str), Some("v&=ä+%"));
        assert!(metadata_of("").is_empty());
    }

    #[test]
    fn pages_follow_each_other_whatever_goes_meanwhile() {
        let uri = |query: &str| format!("/x?{query}").parse::<Uri>().expect("a query");
        let mut all = vec!["e", "d", "c", "b", "a"];
        let page = |all: &[&'static str], query: &str| {
            let (page, next) = page_of(&uri(query), all, |name| (*name).to_owned()).expect("right");
            (page.to_vec(), next)
        };
        assert_eq!(page(&all, "limit=2"), (vec!["e", "d"], Some("d".to_owned())));
        all.retain(|name| *name != "d");
        assert_eq!(page(&all, "limit=2&nextToken=d"), (vec!["c", "b"], Some("b".to_owned())));
        assert_eq!(page(&all, "limit=2&nextToken=b"), (vec!["a"], None));
        assert_eq!(page(&all, "nextToken=a"), (vec![], None));
        all.reverse();
        assert_eq!(page(&all, "limit=2&nextToken=b"), (vec!["c", "e"], None));
        assert!(page_of(&uri("limit=0"), &all, |name| (*name).to_owned()).is_err());
        assert!(page_of(&uri("limit=101"), &all, |name| (*name).to_owned()).is_err());
    }

    #[test]
    fn both_states_are_no_filter() {
        let filter = |query: &str| Filter::of(&format!("/x?{query}").parse().expect("a query")).map(|f| f.paused);
        assert_eq!(filter("").expect("right"), None);
        assert_eq!(filter("state=running%2Cpaused").expect("right"), None);
        assert_eq!(filter("state=paused").expect("right"), Some(true));
        assert_eq!(filter("state=running").expect("right"), Some(false));
        assert!(filter("state=dead").is_err());
    }
}
