//! Users: a file of names and password hashes, checked by Basic and Bearer credentials.
//!
//! A line is `NAME:HASH` with an Argon2 hash, or `NAME:token:SHA256` with a token's digest in hexadecimal digits.
//! Argon2 is slow on purpose, so checked passwords are cached as digests with a key of this process: right and wrong ones.
//! An unknown name takes as long as a wrong password, so that times don't reveal which names exist.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use argon2::{Config, hash_encoded, verify_encoded};
use icecore::grid::{Error, ErrorKind, Result};
use sha2::{Digest, Sha256};

use crate::http::base64::unbase64;
use crate::http::caller::DEFAULT;
use crate::unique::random;

/// Maximum number of cached passwords.
const KEPT: usize = 4096;

/// The users of a service.
#[derive(Debug)]
pub struct Users {
    passwords: HashMap<String, String>,
    tokens: HashMap<String, String>,
    /// The hash of no password, for names that do not exist.
    absent: String,
    key: u64,
    checked: Mutex<HashMap<Vec<u8>, bool>>,
}

impl Users {
    /// Reads a file of users.
    ///
    /// # Errors
    /// `io`; `format` for a line that is neither empty, a comment, nor a user.
    pub fn load(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).map_err(|e| {
            Error::new(ErrorKind::Io, format!("the users' file {shown} cannot be read: {e}"))
                .hint("name a readable file")
        })?;
        let (mut passwords, mut tokens) = (HashMap::new(), HashMap::new());
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            // The message omits the line, which is a secret.
            let bad = || {
                Error::new(ErrorKind::Format, format!("{shown}: line {} is not a user", number + 1))
                    .hint("NAME:$argon2id$…, or NAME:token:SHA256; icecore serve --add-user NAME makes one")
            };
            let (name, rest) = line.split_once(':').filter(|(name, _)| is_name(name)).ok_or_else(bad)?;
            match rest.strip_prefix("token:") {
                Some(digest) if digest.len() == 64 => {
                    tokens.insert(digest.to_ascii_lowercase(), name.to_owned());
                }
                Some(_) => return Err(bad()),
                None => {
                    // Only the syntax is checked here.
                    verify_encoded(rest, b"").map_err(|_| bad())?;
                    passwords.insert(name.to_owned(), rest.to_owned());
                }
            }
        }
        let absent = passwords.values().next().cloned().unwrap_or_default();
        Ok(Self { passwords, tokens, absent, key: random(), checked: Mutex::default() })
    }

    /// The line for a user.
    ///
    /// # Errors
    /// `invalid` for a name with other characters than letters, digits, `_`, `-`, `.` and `@`.
    pub fn line(name: &str, password: &str) -> Result<String> {
        if !is_name(name) {
            return Err(Error::new(ErrorKind::Invalid, format!("the user's name {name:?}"))
                .hint("letters, digits, '_', '-', '.' and '@'; not \"default\""));
        }
        let salt: Vec<u8> = [random(), random()].iter().flat_map(|n| n.to_le_bytes()).collect();
        let hash = hash_encoded(password.as_bytes(), &salt, &Config::default())
            .map_err(|e| Error::new(ErrorKind::Internal, format!("a password: {e}")))?;
        Ok(format!("{name}:{hash}"))
    }

    fn digest(&self, name: &str, password: &str) -> Vec<u8> {
        let mut hasher = Sha256::new();
        hasher.update(self.key.to_le_bytes());
        hasher.update((name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
        hasher.update(password.as_bytes());
        hasher.finalize().to_vec()
    }

    fn checked(&self) -> MutexGuard<'_, HashMap<Vec<u8>, bool>> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_password(&self, name: &str, password: &str) -> bool {
        let digest = self.digest(name, password);
        if let Some(is_right) = self.checked().get(&digest) {
            return *is_right;
        }
        let hash = self.passwords.get(name);
        let is_right =
            verify_encoded(hash.unwrap_or(&self.absent), password.as_bytes()).unwrap_or(false) && hash.is_some();
        let mut checked = self.checked();
        if checked.len() >= KEPT {
            checked.retain(|_, is_right| *is_right);
        }
        if checked.len() >= KEPT {
            checked.clear();
        }
        checked.insert(digest, is_right);
        is_right
    }

    /// The user of credentials that need no slow check: the outer `None` means that they do.
    pub(crate) fn known(&self, given: &str) -> Option<Option<String>> {
        if let Some(token) = given.strip_prefix("Bearer ") {
            return Some(self.of_token(token.trim()));
        }
        let Some((name, password)) = given.strip_prefix("Basic ").and_then(basic) else { return Some(None) };
        let is_right = *self.checked().get(&self.digest(&name, &password))?;
        Some(is_right.then_some(name))
    }

    fn of_token(&self, token: &str) -> Option<String> {
        let digest: String = Sha256::digest(token.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        self.tokens.get(&digest).cloned()
    }
}

pub(crate) fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '@');
    !name.is_empty() && name != DEFAULT && name.chars().all(plain)
}

/// Name and password of Basic credentials.
pub(crate) fn basic(text: &str) -> Option<(String, String)> {
    let decoded = String::from_utf8(unbase64(text.trim())?).ok()?;
    let (name, password) = decoded.split_once(':')?;
    Some((name.to_owned(), password.to_owned()))
}

/// The user, if the credentials are valid.
pub(crate) fn named(users: &Users, given: &str) -> Option<String> {
    if let Some(token) = given.strip_prefix("Bearer ") {
        return users.of_token(token.trim());
    }
    let (name, password) = basic(given.strip_prefix("Basic ")?)?;
    users.is_password(&name, &password).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_tokens() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("users");
        let token: String = Sha256::digest(b"secret").iter().map(|b| format!("{b:02x}")).collect();
        std::fs::write(&file, format!("# users\n{}\nbot:token:{token}\n", Users::line("ann", "pw:1").unwrap()))
            .unwrap();
        let users = Users::load(&file).unwrap();
        for _ in 0..2 {
            assert!(users.is_password("ann", "pw:1"));
            assert!(!users.is_password("ann", "pw"));
            assert!(!users.is_password("bob", "pw:1"));
        }
        assert_eq!(named(&users, "Bearer secret").as_deref(), Some("bot"));
        assert_eq!(named(&users, "Basic YW5uOnB3OjE=").as_deref(), Some("ann"));
        assert_eq!(named(&users, "Basic YW5uOnB3"), None);
        std::fs::write(&file, "ann:plain\n").unwrap();
        let error = Users::load(&file).unwrap_err();
        assert_eq!((error.kind, error.message.contains("plain")), (ErrorKind::Format, false));
        assert!(Users::line("default", "x").is_err() && Users::line("a:b", "x").is_err());
    }
}
