//! Parameters of a request: case-insensitive names, domains, flags and numbers.

use std::collections::HashMap;

use axum::extract::{FromRequestParts, MatchedPath, Query};
use axum::http::Method;
use axum::http::request::Parts;

use crate::http::caller::Caller;
use crate::http::error::{Answer, Failure};

/// The query's parameters by lower-case name, and the domain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params {
    values: HashMap<String, String>,
    domain: Option<String>,
    caller: Caller,
}

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Answer<Self> {
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).map_err(|e| {
            Failure::invalid(format!("the query of the URL cannot be read: {e}"), "percent-encode names and values")
        })?;
        let values: HashMap<String, String> =
            pairs.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
        if values.contains_key("h5path") && !takes_path(parts) {
            let hint = "GET /?h5path=PATH, or GET /groups/ID?h5path=PATH, has the id of the object; name it in the URL";
            return Err(Failure::invalid("this request takes no h5path", hint));
        }
        let header = parts.headers.get("x-hdf-domain").and_then(|value| value.to_str().ok());
        let domain = values.get("domain").cloned().or_else(|| header.map(str::to_owned));
        let caller = parts.extensions.get::<Caller>().cloned().unwrap_or_default();
        Ok(Self { values, domain, caller })
    }
}

/// Whether a request names its object by `h5path`. Others are refused: they would be about another object.
fn takes_path(parts: &Parts) -> bool {
    let route = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let (collection, rest) =
        route.trim_start_matches('/').split_once('/').unwrap_or((route.trim_start_matches('/'), ""));
    match parts.method {
        Method::GET | Method::HEAD => {
            matches!((collection, rest), ("", "") | ("groups" | "datasets" | "datatypes", "" | "{id}"))
        }
        Method::POST => matches!((collection, rest), ("groups" | "datasets" | "datatypes", "")),
        _ => false,
    }
}

impl Params {
    /// The request of a user without parameters, for interfaces that read the query in their own way.
    pub fn of(caller: Caller) -> Self {
        Self { caller, ..Self::default() }
    }

    /// The request's user.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// All parameters except the domain, by name.
    pub fn all(&self) -> Vec<(String, String)> {
        let mut all: Vec<_> = self.values.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        all.retain(|(name, _)| name != "domain");
        all.sort_unstable();
        all
    }

    /// A parameter; `name` in lower case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Whether a flag is set: present, and neither `0`, `false`, `F` nor empty.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "" | "0" | "f" | "false"))
    }

    /// An integer.
    pub fn number(&self, name: &str) -> Answer<Option<u64>> {
        let parse = |text: &str| {
            text.trim()
                .parse()
                .map_err(|_| Failure::invalid(format!("{name}={text}"), "give a whole number, 0 or more"))
        };
        self.get(name).map(parse).transpose()
    }

    /// The domain as sent; `/` by default.
    pub fn domain(&self) -> &str {
        self.domain.as_deref().unwrap_or("/")
    }

    /// Applies `Limit` and `Marker` to sorted names: names after the marker, at most the limit.
    pub fn page<'a, T>(&self, items: Vec<T>, name: impl Fn(&T) -> &'a str) -> Answer<Vec<T>>
    where
        T: 'a,
    {
        let limit = self.number("limit")?.filter(|limit| *limit > 0).unwrap_or(u64::MAX);
        let marker = self.get("marker").filter(|marker| !marker.is_empty());
        let behind = items.into_iter().filter(|item| marker.is_none_or(|marker| name(item) > marker));
        Ok(behind.take(usize::try_from(limit).unwrap_or(usize::MAX)).collect())
    }
}
