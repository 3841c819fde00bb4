//! Paths of this machine, which responses must not show: they are replaced by names of domains.

use std::path::Path;
use std::sync::{PoisonError, RwLock};

use crate::http::percent::encoded;

/// (path, what is shown instead), the longest path first.
static PLACES: RwLock<Vec<(String, String)>> = RwLock::new(Vec::new());

/// Hides a directory or file; its members are shown below `shown`.
pub(crate) fn hide(path: &Path, shown: &str) {
    let path = path.to_string_lossy().trim_end_matches('/').to_owned();
    if path.is_empty() {
        return;
    }
    let mut places = PLACES.write().unwrap_or_else(PoisonError::into_inner);
    for path in [encoded(&path), path] {
        if !places.iter().any(|(known, _)| *known == path) {
            places.push((path, shown.to_owned()));
        }
    }
    places.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
}

/// The text without hidden paths.
pub(crate) fn hidden(text: &str) -> String {
    let places = PLACES.read().unwrap_or_else(PoisonError::into_inner);
    let mut text = text.to_owned();
    for (path, shown) in places.iter().filter(|(path, _)| path.len() > 1) {
        if text.contains(path.as_str()) {
            text = text.replace(path.as_str(), shown);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_names() {
        hide(Path::new("/srv/a b"), "");
        hide(Path::new("/srv/a b/cache"), "(index)");
        assert_eq!(hidden("/srv/a b/x.h5: no"), "/x.h5: no");
        assert_eq!(hidden("file:///srv/a%20b/x.h5"), "file:///x.h5");
        assert_eq!(hidden("/srv/a b/cache/1.icecore has none"), "(index)/1.icecore has none");
    }
}
