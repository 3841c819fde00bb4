mod attributes;
mod text;
mod types;
mod wire;
