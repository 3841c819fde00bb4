//! Writing of gravitational-wave frame files: vectors are compressed on all cores, structures are written in order.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use icecore::grid::{Error, ErrorKind, Result};
use icecore_gwf::{
    ChannelFields, Compress, Counts, EncodedVect, FrameFields, FrameWriter, History, Kind, VectType, encode_vect,
};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::error::OrRaise;

/// Buffer of the file.
const BUFFER: usize = 1 << 20;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<GwfWriter>()
}

/// A frame file that is written in one pass.
#[pyclass(name = "GwfWriter")]
struct GwfWriter {
    writer: Option<FrameWriter<BufWriter<File>>>,
}

/// The fields of a frame: name, run, number, quality, start (ns), length (ns), leap seconds.
type FrameArgs = (String, i32, u32, u32, i64, i64, u16);
/// Name, unit, type, seconds between samples, samples as bytes.
type VectArgs<'py> = (String, String, String, f64, PyReadonlyArray1<'py, u8>);

/// A channel: kind, offset (s), slope, bias, frequency shift, phase, validity; its vector and auxiliary vectors.
#[derive(FromPyObject)]
struct ChannelArgs<'py> {
    kind: String,
    offset: f64,
    slope: f32,
    bias: f32,
    shift: f64,
    phase: f32,
    valid: u16,
    data: VectArgs<'py>,
    aux: Vec<VectArgs<'py>>,
}

#[pymethods]
impl GwfWriter {
    /// Creates the file at `path`.
    #[new]
    fn new(py: Python<'_>, path: &str) -> PyResult<GwfWriter> {
        let writer = py.detach(|| {
            let file = File::create(path).map_err(|e| io_error(path, &e))?;
            FrameWriter::new(BufWriter::with_capacity(BUFFER, file))
        });
        Ok(GwfWriter { writer: Some(writer.or_raise()?) })
    }

    /// Begins a frame; `history` are name, GPS seconds and comment, `counts` the numbers of ADC, processed and simulated
    /// channels.
    fn begin(
        &mut self,
        frame: FrameArgs,
        history: Vec<(String, u32, String)>,
        counts: (u32, u32, u32),
    ) -> PyResult<()> {
        let (name, run, number, quality, start_ns, duration_ns, leap) = frame;
        let frame = FrameFields { name, run, number, quality, start_ns, duration_ns, leap };
        let history: Vec<History> =
            history.into_iter().map(|(name, time, comment)| History { name, time, comment }).collect();
        let counts = Counts { adc: counts.0, process: counts.1, sim: counts.2 };
        self.open()?.begin(frame, &history, counts).or_raise()
    }

    /// Compresses and writes channels of the frame; returns the compression and stored bytes of each one's data.
    fn channels(
        &mut self,
        py: Python<'_>,
        channels: Vec<ChannelArgs<'_>>,
        compress: &str,
        threads: usize,
    ) -> PyResult<Vec<(u16, usize)>> {
        let mode = Compress::parse(compress)
            .ok_or_else(|| Error::new(ErrorKind::Invalid, format!("unknown compression {compress}")))
            .or_raise()?;
        let mut vectors = Vec::new();
        for channel in &channels {
            for (name, unit, dtype, dx, bytes) in std::iter::once(&channel.data).chain(&channel.aux) {
                let bytes = bytes.as_slice()?;
                vectors.push(Work { name, unit, dtype: parse_type(dtype).or_raise()?, dx: *dx, bytes });
            }
        }
        let fields: Vec<(ChannelFields, usize)> =
            channels.iter().map(|c| Ok((fields(c)?, c.aux.len()))).collect::<Result<_>>().or_raise()?;
        let writer = self.open()?;
        py.detach(|| {
            let mut encoded = encode_all(&vectors, mode, threads)?.into_iter();
            let mut told = Vec::with_capacity(fields.len());
            for (fields, n_aux) in &fields {
                let data = encoded.next().ok_or_else(|| Error::new(ErrorKind::Internal, "a vector is missing"))?;
                let aux: Vec<EncodedVect> = encoded.by_ref().take(*n_aux).collect();
                writer.channel(fields, &data, &aux)?;
                told.push((data.compress, data.data.len()));
            }
            Ok::<_, Error>(told)
        })
        .or_raise()
    }

    /// Ends the frame.
    fn end(&mut self) -> PyResult<()> {
        self.open()?.end().or_raise()
    }

    /// Writes table of contents and end of the file, and closes it; returns its size in bytes.
    fn finish(&mut self, py: Python<'_>) -> PyResult<u64> {
        let writer = self.writer.take().ok_or_else(closed).or_raise()?;
        py.detach(|| {
            let file = writer.finish()?.into_inner().map_err(|e| io_error("the frame file", e.error()))?;
            file.metadata().map(|m| m.len()).map_err(|e| io_error("the frame file", &e))
        })
        .or_raise()
    }
}

impl GwfWriter {
    fn open(&mut self) -> PyResult<&mut FrameWriter<BufWriter<File>>> {
        self.writer.as_mut().ok_or_else(closed).or_raise()
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Invalid, "the frame file is closed")
}

fn io_error(path: &str, e: &std::io::Error) -> Error {
    let kind = match e.kind() {
        std::io::ErrorKind::NotFound => ErrorKind::NotFound,
        std::io::ErrorKind::PermissionDenied => ErrorKind::Permission,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("{path} can't be written: {e}")).hint("free some space, or name another directory")
}

/// A vector to compress.
struct Work<'a> {
    name: &'a str,
    unit: &'a str,
    dtype: VectType,
    dx: f64,
    bytes: &'a [u8],
}

fn encode_all(vectors: &[Work<'_>], mode: Compress, threads: usize) -> Result<Vec<EncodedVect>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(vectors.len()));
    let work = || {
        while let Some((i, v)) = {
            let i = next.fetch_add(1, Ordering::Relaxed);
            vectors.get(i).map(|v| (i, v))
        } {
            let found = encode_vect(v.name, v.dtype, v.bytes, v.dx, v.unit, mode);
            done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((i, found));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.clamp(1, 64).min(vectors.len().max(1)) {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_unstable_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, found)| found).collect()
}

fn fields(c: &ChannelArgs<'_>) -> Result<ChannelFields> {
    let (name, unit, dtype, dx, _) = &c.data;
    let kind = match c.kind.as_str() {
        "adc" => Kind::Adc,
        "proc" => Kind::Proc,
        "sim" => Kind::Sim,
        other => return Err(Error::new(ErrorKind::Invalid, format!("unknown kind of channel {other}"))),
    };
    Ok(ChannelFields {
        name: name.clone(),
        kind,
        unit: unit.clone(),
        rate: 1.0 / dx,
        offset: c.offset,
        slope: c.slope,
        bias: c.bias,
        shift: c.shift,
        phase: c.phase,
        valid: c.valid,
        bits: 8 * parse_type(dtype)?.word() as u32,
    })
}

fn parse_type(name: &str) -> Result<VectType> {
    (0..13)
        .filter(|code| *code != 8)
        .filter_map(|code| VectType::parse(code).ok())
        .find(|t| t.name() == name)
        .ok_or_else(|| {
            Error::new(ErrorKind::Dtype, format!("frame files hold no {name}"))
                .hint("integers, float32, float64, complex64 and complex128 can be written")
        })
}
