//! The user of a request: by name, or anonymous.

/// A request's user.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Caller {
    pub name: String,
    /// Whether access control lists apply; otherwise every user may do all that the service does.
    pub is_checked: bool,
}

/// The name in access control lists that means every user.
pub(crate) const DEFAULT: &str = "default";
/// The user with all permissions.
pub(crate) const ADMIN: &str = "admin";

impl Default for Caller {
    fn default() -> Self {
        Self { name: DEFAULT.to_owned(), is_checked: false }
    }
}

impl Caller {
    pub fn is_admin(&self) -> bool {
        self.is_checked && self.name == ADMIN
    }
}
