//! Choice of codecs: candidates are measured on sample blocks, and the best measurement is chosen.

pub(crate) mod block;
pub(crate) mod candidates;
pub(crate) mod candidates_codecs;
pub(crate) mod candidates_predict;
pub(crate) mod choose;
pub(crate) mod clock;
pub(crate) mod cost_class;
pub(crate) mod finals;
pub(crate) mod measure;
pub(crate) mod measurement;
pub(crate) mod sample;
pub(crate) mod unused_lists;
