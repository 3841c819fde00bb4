//! Names of domains: `/directory/repository@version/group`.

use icecore::grid::{Error, ErrorKind, Result};

/// The rule for names, for messages.
pub const NAME_RULE: &str = "a domain is /REPOSITORY, /DIRECTORY/REPOSITORY or /REPOSITORY@VERSION, where VERSION is a branch, tag, \
                             snapshot or time; a group's path may follow";

/// A parsed name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Address {
    /// The parts before the version; all parts if there is no version.
    pub parts: Vec<String>,
    pub version: Option<String>,
    /// The group's parts after the version.
    pub group: Vec<String>,
}

impl Address {
    /// # Errors
    /// `invalid` for a part that is empty, `.` or `..`, or has a NUL or backslash.
    pub fn parse(name: &str) -> Result<Self> {
        let trimmed = name.trim_start_matches("hdf5:/").trim_matches('/');
        let bad =
            |what: &str| Error::new(ErrorKind::Invalid, format!("the domain {name:?} has {what}")).hint(NAME_RULE);
        let mut address = Self { parts: Vec::new(), version: None, group: Vec::new() };
        for part in trimmed.split('/').filter(|_| !trimmed.is_empty()) {
            if part.is_empty() || part == "." || part == ".." || part.contains(['\0', '\\']) {
                return Err(bad(&format!("the part {part:?}")));
            }
            match (address.version.is_some(), part.split_once('@')) {
                (true, _) => address.group.push(part.to_owned()),
                (false, None) => address.parts.push(part.to_owned()),
                (false, Some(("", _) | (_, ""))) => return Err(bad("an '@' without text before or after it")),
                (false, Some((repository, version))) => {
                    address.parts.push(repository.to_owned());
                    address.version = Some(version.to_owned());
                }
            }
        }
        Ok(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        let parse = |name: &str| Address::parse(name).map(|a| (a.parts.join("/"), a.version, a.group.join("/")));
        assert_eq!(parse("/a/moon@v1/x/y").unwrap(), ("a/moon".into(), Some("v1".into()), "x/y".into()));
        assert_eq!(parse("moon/").unwrap(), ("moon".into(), None, String::new()));
        assert_eq!(parse("/").unwrap(), (String::new(), None, String::new()));
        assert_eq!(parse("/m@2024-01-01").unwrap().1.unwrap(), "2024-01-01");
        for bad in ["/a/../b", "/a//b", "/./a", "/a@", "/@v1", "/a\0", "/a\\b"] {
            assert_eq!(parse(bad).unwrap_err().kind, ErrorKind::Invalid, "{bad}");
        }
    }
}
