//! Native half of the Python package: converts between Python's values and the engine's.

mod array;
mod assay;
mod codecs;
mod copies;
mod delegate;
mod error;
mod forks;
mod group;
mod gwf;
mod gwf_write;
mod index;
mod inflate;
mod interrupt;
mod memory;
mod modules;
mod plan;
mod products;
mod read;
mod remote;
mod repo;
mod restore;
mod root;
mod root_json;
mod rows;
mod scan;
mod serve;
mod table;
mod text;
mod writer;

use pyo3::prelude::*;

#[pymodule]
fn _icecore(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<repo::Repo>()?;
    module.add_class::<array::Array>()?;
    module.add_class::<writer::Writer>()?;
    codecs::register(module)?;
    assay::register(module)?;
    text::register(module)?;
    memory::register(module)?;
    module.add_class::<inflate::Inflate>()?;
    gwf::register(module)?;
    gwf_write::register(module)?;
    remote::register(module)?;
    restore::register(module)?;
    products::register(module)?;
    root::register(module)?;
    rows::register(module)?;
    serve::register(module)?;
    copies::register(module)?;
    forks::register(module)?;
    module.add_class::<table::Table>()?;
    module.add_class::<scan::Scan>()?;
    group::register(module)?;
    plan::register(module)
}
