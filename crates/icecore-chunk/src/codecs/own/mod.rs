//! Codecs that icecore defines: `icecore.byteplanes`, `icecore.choice`, `icecore.decimal`, `icecore.fpc`, `icecore.predict`.

pub(super) mod byteplanes;
mod byteplanes_escape;
mod byteplanes_float;
mod byteplanes_head;
mod byteplanes_noise;
pub(super) mod choice;
pub(super) mod decimal;
mod decimal_number;
pub(super) mod fpc;
pub(super) mod predict;
