//! Addresses without their secrets, for messages and for anything else that is shown or stored.

use std::borrow::Cow;

const HIDDEN: &str = "***";
/// Names of query parameters that give access: presigned URLs of S3, Google and Azure, CDNs and API keys.
const SECRETS: [&str; 26] = [
    "x-amz-signature",
    "x-amz-security-token",
    "x-amz-credential",
    "x-goog-signature",
    "x-goog-credential",
    "sig",
    "signature",
    "awsaccesskeyid",
    "googleaccessid",
    "key-pair-id",
    "policy",
    "token",
    "access_token",
    "id_token",
    "refresh_token",
    "session_token",
    "sessiontoken",
    "key",
    "api_key",
    "api-key",
    "apikey",
    "password",
    "passwd",
    "secret",
    "auth",
    "jwt",
];

/// The text with names, passwords and signatures of the addresses in it replaced by `***`.
#[must_use]
pub fn redact(text: &str) -> Cow<'_, str> {
    if !text.contains("://") && !text.contains(['?', '&']) {
        return Cow::Borrowed(text);
    }
    let mut cuts: Vec<(usize, usize)> = logins(text).chain(values(text)).collect();
    if cuts.is_empty() {
        return Cow::Borrowed(text);
    }
    cuts.sort_unstable();
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (from, to) in cuts {
        if from >= at {
            out.push_str(text.get(at..from).unwrap_or_default());
            out.push_str(HIDDEN);
            at = to;
        }
    }
    out.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(out)
}

/// `name:password` between `://` and `@`.
fn logins(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    text.match_indices("://").filter_map(|(at, _)| {
        let start = at + 3;
        let rest = text.get(start..)?;
        let end = rest.find(|c: char| "/?#\"'<>`".contains(c) || c.is_whitespace()).unwrap_or(rest.len());
        let login = rest.get(..end)?.rfind('@')?;
        Some((start, start + login))
    })
}

/// The values of secret parameters.
fn values(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    text.match_indices(['?', '&', ';']).filter_map(|(at, _)| {
        let rest = text.get(at + 1..)?;
        let name = rest.get(..rest.find('=')?)?;
        let is_secret = SECRETS.iter().any(|secret| secret.eq_ignore_ascii_case(name));
        let start = at + 1 + name.len() + 1;
        let value = text.get(start..).filter(|_| is_secret)?;
        let end = value.find(|c: char| "&#\"'<>`;,)".contains(c) || c.is_whitespace()).unwrap_or(value.len());
        Some((start, start + end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_and_the_rest_stays() {
        for (text, shown) in [
            ("no address: a?b", "no address: a?b"),
            ("https://h/f.h5?x=1&y=2 failed", "https://h/f.h5?x=1&y=2 failed"),
            (
                "https://h/f.h5?X-Amz-Expires=9&X-Amz-Signature=abc, why",
                "https://h/f.h5?X-Amz-Expires=9&X-Amz-Signature=***, why",
            ),
            ("GET https://ann:p@ss@h:80/f (ann)", "GET https://***@h:80/f (ann)"),
            ("s3://b/user@host/f", "s3://b/user@host/f"),
            ("'https://h/f?sv=1&SIG=a%2Bb%3D'", "'https://h/f?sv=1&SIG=***'"),
            ("/f?token=é\nnext", "/f?token=***\nnext"),
            ("a://b@c?key=1&key=2", "a://***@c?key=***&key=***"),
        ] {
            assert_eq!(redact(text), shown);
        }
    }
}
