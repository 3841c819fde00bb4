//! Who asks: a user by name, or any user.

/// A request's user.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Caller {
    pub name: String,
    /// Access control lists count; else everybody may do everything that the service does.
    pub is_checked: bool,
}

/// The user that access control lists name for everybody.
pub(crate) const DEFAULT: &str = "default";
/// The user that may do everything.
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
