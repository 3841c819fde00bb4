//! FrAdcData, FrProcData and FrSimData: the fields before a channel's data vector.

use icecore_grid::Result;

use crate::cursor::{Cursor, Pointer};
use crate::problem::corrupt;
use crate::toc::Kind;

/// Fields of a channel's structure in one frame.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChannelHead {
    pub name: String,
    pub unit: String,
    /// Samples per second; 0 if the structure has no rate (FrProcData from version 6 on).
    pub rate: f64,
    /// Seconds between the start of the frame and the first sample.
    pub offset: f64,
    pub valid: u16,
    /// Slope and bias of an ADC channel.
    pub slope: f32,
    pub bias: f32,
    /// Frequency (Hz) and phase (radians) of the signal that the samples were mixed with; 0 for none.
    pub shift: f64,
    pub phase: f32,
    /// FrProcData: 1 time series, 2 frequency series, others by the specification; 1 for the other kinds.
    pub series: u16,
    pub data: Pointer,
    pub aux: Option<Pointer>,
}

/// Parses the whole structure, its header skipped by `cursor`.
pub(crate) fn parse(cursor: &mut Cursor, kind: Kind) -> Result<ChannelHead> {
    let head = match kind {
        Kind::Adc => adc(cursor)?,
        Kind::Proc => process(cursor)?,
        Kind::Sim => return simulated(cursor),
    };
    finish(cursor, kind)?;
    Ok(head)
}

fn finish(cursor: &Cursor, kind: Kind) -> Result<()> {
    let expected = if cursor.format.version >= 8 { 4 } else { 0 };
    if cursor.left() == expected {
        return Ok(());
    }
    Err(corrupt(format!("{}: {} bytes behind the last field, expected {expected}", kind.class_name(), cursor.left())))
}

fn empty(name: String) -> ChannelHead {
    let none = Pointer { class: 0, instance: 0 };
    ChannelHead {
        name,
        unit: String::new(),
        rate: 0.0,
        offset: 0.0,
        valid: 0,
        slope: 1.0,
        bias: 0.0,
        shift: 0.0,
        phase: 0.0,
        series: 1,
        data: none,
        aux: None,
    }
}

/// Version 4 stores offsets as seconds and nanoseconds.
fn time_offset(cursor: &mut Cursor) -> Result<f64> {
    if cursor.format.version >= 6 {
        return cursor.f64();
    }
    let (seconds, nanoseconds) = (cursor.i32()?, cursor.u32()?);
    Ok(f64::from(seconds) + 1e-9 * f64::from(nanoseconds))
}

fn adc(cursor: &mut Cursor) -> Result<ChannelHead> {
    let mut head = empty(cursor.string()?);
    cursor.skip_string()?;
    cursor.take(12)?; // group, number, bits
    (head.bias, head.slope) = (cursor.f32()?, cursor.f32()?);
    head.unit = cursor.string()?;
    head.rate = cursor.f64()?;
    head.offset = time_offset(cursor)?;
    head.shift = cursor.f64()?;
    if cursor.format.version > 4 {
        head.phase = cursor.f32()?;
    }
    head.valid = cursor.u16()?;
    head.data = cursor.pointer()?;
    head.aux = cursor.pointer()?.some();
    cursor.pointer()?;
    Ok(head)
}

fn process(cursor: &mut Cursor) -> Result<ChannelHead> {
    let mut head = empty(cursor.string()?);
    cursor.skip_string()?;
    if cursor.format.version < 6 {
        head.rate = cursor.f64()?;
        head.offset = time_offset(cursor)?;
        head.shift = cursor.f64()?;
    } else {
        head.series = cursor.u16()?;
        cursor.u16()?;
        head.offset = cursor.f64()?;
        cursor.f64()?; // range
        (head.shift, head.phase) = (cursor.f64()?, cursor.f32()?);
        cursor.take(8 + 8)?; // frequency range, bandwidth
        let n = cursor.u16()?;
        cursor.take(8 * usize::from(n))?;
        (0..n).try_for_each(|_| cursor.skip_string())?;
    }
    head.data = cursor.pointer()?;
    head.aux = cursor.pointer()?.some();
    cursor.pointer()?; // table
    if cursor.format.version >= 6 {
        cursor.pointer()?; // history
    }
    cursor.pointer()?;
    Ok(head)
}

/// FrameL writes version 6's rate in 4 bytes, other writers in 8: the length of the structure decides.
fn simulated(cursor: &mut Cursor) -> Result<ChannelHead> {
    let widths: &[bool] = match cursor.format.version {
        4 => &[false],
        6 => &[false, true],
        _ => &[true],
    };
    let mut last = Err(corrupt("FrSimData: no layout fits"));
    for wide in widths {
        let mut trial = cursor.clone();
        last = simulated_as(&mut trial, *wide).and_then(|head| finish(&trial, Kind::Sim).map(|()| head));
        if last.is_ok() {
            *cursor = trial;
            break;
        }
    }
    last
}

fn simulated_as(cursor: &mut Cursor, wide: bool) -> Result<ChannelHead> {
    let mut head = empty(cursor.string()?);
    cursor.skip_string()?;
    head.rate = if wide { cursor.f64()? } else { f64::from(cursor.f32()?) };
    if cursor.format.version >= 6 {
        head.offset = cursor.f64()?;
        (head.shift, head.phase) = (cursor.f64()?, cursor.f32()?);
    }
    head.data = cursor.pointer()?;
    cursor.take(if cursor.format.version < 6 { 12 } else { 18 })?; // input, table, next
    Ok(head)
}
