//! Codecs that icecore defines: `icecore.byteplanes`, `icecore.choice`, `icecore.decimal`, `icecore.fpc`, `icecore.gwf_vect`,
//! `icecore.offset`, `icecore.pages`, `icecore.predict`, `icecore.root_basket`, `icecore.root_page`,
//! `icecore.text_part`.

pub(super) mod byteplanes;
mod byteplanes_escape;
mod byteplanes_float;
mod byteplanes_head;
mod byteplanes_noise;
pub(super) mod choice;
pub(super) mod decimal;
mod decimal_number;
pub(super) mod fpc;
pub(super) mod gwf_vect;
pub(super) mod offset;
pub(super) mod pages;
mod pages_bytes;
mod pages_runs;
mod pages_table;
pub(super) mod predict;
pub(super) mod root_basket;
pub(super) mod root_page;
pub(super) mod text_part;
