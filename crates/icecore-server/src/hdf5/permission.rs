//! Access control lists: permissions of users for a domain or folder.

use icecore::grid::{Error, ErrorKind};
use serde_json::{Map, Value, json};

use crate::domains::Model;
use crate::http::caller::{Caller, DEFAULT};
use crate::http::error::Failure;

/// The actions of an access control list.
pub(crate) const ACTIONS: [&str; 6] = ["create", "read", "update", "delete", "readACL", "updateACL"];

/// The owner's list.
pub(crate) fn full() -> Value {
    ACTIONS.iter().map(|action| ((*action).to_owned(), json!(true))).collect::<Map<_, _>>().into()
}

/// Whether the lists permit a user an action.
pub(crate) fn allows(owner: &str, acls: &Map<String, Value>, caller: &Caller, action: &str) -> bool {
    if !caller.is_checked || caller.is_admin() || caller.name == owner && caller.name != DEFAULT {
        return true;
    }
    let list = acls.get(&caller.name).or_else(|| acls.get(DEFAULT));
    match list {
        Some(list) => list.get(action).and_then(Value::as_bool) == Some(true),
        // Everybody may read domains that were created without users.
        None => acls.is_empty() && action.starts_with("read"),
    }
}

/// # Errors
/// `permission`.
pub(crate) fn check(model: &Model, caller: &Caller, action: &str, name: &str) -> Result<(), Failure> {
    if allows(&model.owner, &model.acls, caller, action) { Ok(()) } else { Err(refused(caller, action, name)) }
}

pub(crate) fn refused(caller: &Caller, action: &str, name: &str) -> Failure {
    Error::new(ErrorKind::Permission, format!("{}: the user {:?} has no permission to {action}", name, caller.name))
        .hint("ask its owner for an entry in the access control list")
        .into()
}
