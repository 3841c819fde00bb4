//! Quote a word for a shell.

use std::borrow::Cow;

/// `word`, quoted if a shell would split or expand it.
pub(crate) fn shell_quote(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r#"'"'"'"#)))
}

#[cfg(test)]
mod tests {
    use super::shell_quote;

    #[test]
    fn a_shell_takes_it_as_one_word() {
        for word in ["a b", "it's", "$(x)", "", "ü", "https://h/a.icecore@v1"] {
            let said =
                std::process::Command::new("sh").args(["-c", &format!("printf %s {}", shell_quote(word))]).output();
            assert_eq!(said.map(|said| said.stdout).ok(), Some(word.as_bytes().to_vec()), "{word:?}");
        }
        assert_eq!(shell_quote("runs/a.icecore"), "runs/a.icecore");
    }
}
