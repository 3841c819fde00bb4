//! Names of domains: `/directory/repository@version/group`.

use icecore::grid::{Error, ErrorKind, Result};

/// The rule for names, for messages.
pub const NAME_RULE: &str = "a domain is /REPOSITORY, /DIRECTORY/REPOSITORY or /REPOSITORY@VERSION, where VERSION is a branch, tag, \
                             snapshot or time; a group's path may follow";

/// Maximum bytes of a name, and of one of its parts: the limits of file systems.
const LONGEST: usize = 4096;
const LONGEST_PART: usize = 255;

/// Names that repositories and Zarr hierarchies give to their own files and directories. A domain of such a name could turn its folder into something else.
const RESERVED: [&str; 13] = [
    "snapshots",
    "manifests",
    "chunks",
    "transactions",
    "attributes",
    "refs",
    "repo",
    "overwritten",
    "virtual",
    "config.yaml",
    "zarr.json",
    "c",
    "__hdf5__",
];

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
    /// `invalid` for a part that is empty, `.` or `..`, or has a control character or backslash; for a name that is too long.
    pub fn parse(name: &str) -> Result<Self> {
        let trimmed = name.trim_start_matches("hdf5:/").trim_matches('/');
        if name.len() > LONGEST {
            let message = format!("the domain's name has {} bytes; at most {LONGEST}", name.len());
            return Err(Error::new(ErrorKind::Invalid, message).hint(NAME_RULE));
        }
        let shown = || name.chars().take(80).collect::<String>();
        let bad =
            |what: &str| Error::new(ErrorKind::Invalid, format!("the domain {:?} has {what}", shown())).hint(NAME_RULE);
        let mut address = Self { parts: Vec::new(), version: None, group: Vec::new() };
        for part in trimmed.split('/').filter(|_| !trimmed.is_empty()) {
            if part.is_empty() || part == "." || part == ".." || part.contains(|c: char| c == '\\' || c.is_control()) {
                return Err(bad(&format!("the part {part:?}")));
            }
            if part.len() > LONGEST_PART {
                return Err(bad(&format!("a part of {} bytes; at most {LONGEST_PART}", part.len())));
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

    /// # Errors
    /// `invalid` where the last part is not a name for a new domain or folder.
    pub fn check_new(&self) -> Result<()> {
        let last = self.parts.last().map_or("", String::as_str);
        let shown: String = last.chars().take(80).collect();
        let bad = |what: &str, hint: &str| {
            Err(Error::new(ErrorKind::Invalid, format!("the name {shown:?} {what}")).hint(hint))
        };
        if last.starts_with('.') || self.version.is_some() {
            return bad("begins with '.' or has an '@'", "names do not begin with '.' and have no '@'");
        }
        if RESERVED.iter().any(|reserved| last.eq_ignore_ascii_case(reserved)) {
            return bad("is reserved for the files of repositories", "choose another name");
        }
        if last.ends_with(['.', ' ']) || last.starts_with([' ', '-', '~']) || last.contains(HIDDEN) {
            return bad("has spaces or signs that programs misread", "use letters, digits, '_', '-' and '.'");
        }
        Ok(())
    }
}

/// Characters that shells and displays of names misread: wildcards, quotes, and marks that change the order of text.
const HIDDEN: [char; 15] = [
    '*', '?', '"', '<', '>', '|', '\u{200b}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202d}', '\u{202e}',
    '\u{2066}', '\u{feff}',
];

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
        let long = format!("/{}", "a".repeat(256));
        for bad in
            [long.as_str(), &"/a".repeat(3000), "/a\r\nb", "/a/../b", "/a//b", "/./a", "/a@", "/@v1", "/a\0", "/a\\b"]
        {
            assert_eq!(parse(bad).unwrap_err().kind, ErrorKind::Invalid, "{bad}");
        }
    }

    #[test]
    fn names_that_repositories_use_are_not_for_domains() {
        let check = |name: &str| Address::parse(name).and_then(|address| address.check_new());
        for good in ["/a.h5", "/folder/Snapshot", "/réponse 1"] {
            check(good).unwrap();
        }
        for bad in RESERVED
            .iter()
            .map(|name| format!("/a/{name}"))
            .chain(["/Refs", "/.x", "/.icecore.lock", "/a@v", "/a.", "/-rf", "/a*", "/a\u{202e}b"].map(str::to_owned))
        {
            assert_eq!(check(&bad).unwrap_err().kind, ErrorKind::Invalid, "{bad}");
        }
    }
}
