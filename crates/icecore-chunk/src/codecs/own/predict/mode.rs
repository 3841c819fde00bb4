//! The configured modes; each becomes a recipe once the shape of the chunk is known.

use icecore_grid::{Error, ErrorKind, Result};
use serde_json::Value;

use super::differences::{Kind, Step};
use super::values::Space;
use crate::errors::bad_config;
use crate::extension::{Extension, config_i64_or, only_keys, u64_list};

/// An element of `modes`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Mode {
    /// All modes that decode fast; with `slow`, also floating-point predictions, which are decoded one by one.
    Auto { slow: bool },
    /// Unpredicted elements.
    None,
    /// A difference or XOR along one axis.
    Along { kind: Kind, step: Step, space: Space },
    /// Differences along each of these axes, all of them by default.
    Lorenzo { axes: Option<Vec<usize>>, space: Space },
    /// Floats from preceding floats: Lorenzo's stencil, or one fitted to the chunk.
    Stencil { axes: Option<Vec<usize>>, fitted: bool },
    /// Floats from this many preceding floats along the last axis.
    Lpc { taps: usize },
}

/// The prediction of one chunk.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recipe {
    pub space: Space,
    pub plan: Plan,
    /// Whether a very frequent value is masked, if there is one.
    pub mask: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Plan {
    None,
    Steps(Kind, Vec<Step>),
    Stencil { axes: Vec<usize>, fitted: bool },
    Lpc { taps: usize },
}

/// Maximum number of axes of an array: Lorenzo's stencil doubles with each axis.
const MAX_AXES: usize = 8;

/// Parses the list `modes`; the default is `["auto"]`.
pub(super) fn parse_modes(ext: &Extension, float: bool) -> Result<Vec<Mode>> {
    let Some(list) = ext.get("modes") else { return Ok(vec![Mode::Auto { slow: true }]) };
    let list = list.as_array().filter(|l| (1..=64).contains(&l.len()));
    let list = list.ok_or_else(|| bad_config(ext, "modes", "1 to 64 modes"))?;
    list.iter().map(|value| parse_mode(value, float)).collect()
}

fn parse_mode(value: &Value, float: bool) -> Result<Mode> {
    // A name, or an object with the name under `mode`.
    let name = value.as_str().or_else(|| value.get("mode").and_then(Value::as_str));
    let name = name.ok_or_else(|| Error::new(ErrorKind::Format, format!("icecore.predict: unknown mode {value}")))?;
    let ext = Extension { name: "icecore.predict", configuration: value.as_object(), must_understand: true };
    only_keys(&ext, settings(name))?;
    let mode = match name {
        "auto" => Mode::Auto { slow: true },
        "fast" => Mode::Auto { slow: false },
        "none" => Mode::None,
        "xor" => Mode::Along { kind: Kind::Xor, step: parse_step(&ext)?, space: Space::Raw },
        "lag" => {
            Mode::Along { kind: Kind::Difference, step: parse_step(&ext)?, space: parse_space(&ext, Space::Bits)? }
        }
        "lorenzo" => Mode::Lorenzo { axes: parse_axes(&ext)?, space: parse_space(&ext, Space::Bits)? },
        "lattice" => Mode::Lorenzo { axes: parse_axes(&ext)?, space: Space::Lattice },
        "rank" => Mode::Lorenzo { axes: parse_axes(&ext)?, space: Space::Rank },
        "float_lorenzo" if float => Mode::Stencil { axes: parse_axes(&ext)?, fitted: false },
        "least_squares" if float => Mode::Stencil { axes: parse_axes(&ext)?, fitted: true },
        "lpc" if float => match config_i64_or(&ext, "taps", 32)? {
            taps @ 1..=128 => Mode::Lpc { taps: taps as usize },
            _ => return Err(bad_config(&ext, "taps", "1 to 128")),
        },
        "float_lorenzo" | "least_squares" | "lpc" => {
            return Err(Error::new(ErrorKind::Unsupported, format!("icecore.predict: mode {name:?} of integers"))
                .hint("`lorenzo`, `lag` and `rank` take integers"));
        }
        other => {
            let known = "auto, fast, none, xor, lag, lorenzo, lattice, rank, float_lorenzo, least_squares, lpc";
            return Err(Error::new(ErrorKind::Format, format!("icecore.predict: mode {other:?}, allowed: {known}")));
        }
    };
    Ok(mode)
}

/// Allowed members of a mode's object.
fn settings(mode: &str) -> &'static [&'static str] {
    match mode {
        "xor" => &["mode", "axis", "lag"],
        "lag" => &["mode", "axis", "lag", "values"],
        "lorenzo" => &["mode", "axes", "values"],
        "lattice" | "rank" | "float_lorenzo" | "least_squares" => &["mode", "axes"],
        "lpc" => &["mode", "taps"],
        _ => &["mode"],
    }
}

fn parse_step(ext: &Extension) -> Result<Step> {
    let axis = match config_i64_or(ext, "axis", 0)? {
        axis @ 0..=63 => axis as usize,
        _ => return Err(bad_config(ext, "axis", "an axis of the array")),
    };
    match config_i64_or(ext, "lag", 1)? {
        lag @ 1.. => Ok(Step { axis, lag: lag as u64 }),
        _ => Err(bad_config(ext, "lag", "at least 1")),
    }
}

fn parse_space(ext: &Extension, default: Space) -> Result<Space> {
    match ext.get("values").map(|v| v.as_str().unwrap_or_default()) {
        None => Ok(default),
        Some("bits") => Ok(Space::Bits),
        Some("lattice") => Ok(Space::Lattice),
        Some("rank") => Ok(Space::Rank),
        Some(_) => Err(bad_config(ext, "values", "bits, lattice, rank")),
    }
}

fn parse_axes(ext: &Extension) -> Result<Option<Vec<usize>>> {
    let Some(value) = ext.get("axes") else { return Ok(None) };
    let axes = u64_list(value)
        .filter(|axes| axes.len() <= MAX_AXES && axes.iter().all(|a| *a < 64) && axes.is_sorted_by(|a, b| a < b));
    let axes = axes.ok_or_else(|| bad_config(ext, "axes", "up to 8 axes of the array, ascending"))?;
    Ok(Some(axes.into_iter().map(|a| a as usize).collect()))
}

/// One step along each axis.
pub(super) fn lorenzo(axes: &[usize]) -> Plan {
    Plan::Steps(Kind::Difference, axes.iter().map(|axis| Step { axis: *axis, lag: 1 }).collect())
}

impl Mode {
    /// The recipe for a chunk of `shape`; `None` if the chunk lacks the axis. `Auto` has many recipes instead of one.
    pub fn recipe(&self, shape: &[u64], mask: bool) -> Option<Recipe> {
        let chosen = |axes: &Option<Vec<usize>>| {
            let axes = axes.clone().unwrap_or_else(|| long_axes(shape));
            axes.iter().all(|a| *a < shape.len()).then_some(axes)
        };
        let plain = |space, plan| Some(Recipe { space, plan, mask });
        match self {
            Mode::Auto { .. } => None,
            Mode::None => Some(Recipe { space: Space::Raw, plan: Plan::None, mask: false }),
            Mode::Along { kind, step, space } if step.axis < shape.len() => {
                plain(*space, Plan::Steps(*kind, vec![*step]))
            }
            Mode::Along { .. } => None,
            Mode::Lorenzo { axes, space } => plain(*space, lorenzo(&chosen(axes)?)),
            Mode::Stencil { axes, fitted } => Some(Recipe {
                space: Space::Bits,
                plan: Plan::Stencil { axes: chosen(axes)?, fitted: *fitted },
                mask: false,
            }),
            Mode::Lpc { taps } if !shape.is_empty() => {
                Some(Recipe { space: Space::Bits, plan: Plan::Lpc { taps: *taps }, mask: false })
            }
            Mode::Lpc { .. } => None,
        }
    }
}

/// The axes longer than 1, at most the last eight of them.
pub(super) fn long_axes(shape: &[u64]) -> Vec<usize> {
    let axes: Vec<usize> = (0..shape.len()).filter(|a| shape[*a] > 1).collect();
    axes[axes.len().saturating_sub(MAX_AXES)..].to_vec()
}
