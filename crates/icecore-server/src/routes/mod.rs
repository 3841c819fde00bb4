//! What surrounds the two interfaces: checks of each request, health, description, page, delegated routes.

pub(crate) mod delegated;
pub(crate) mod health;
pub(crate) mod identify;
pub(crate) mod openapi;
pub(crate) mod origin;
pub(crate) mod page;
pub(crate) mod receive;
pub(crate) mod schemas;
