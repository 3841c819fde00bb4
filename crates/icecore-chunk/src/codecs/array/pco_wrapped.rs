//! Pages of pco's wrapped format: each can be decoded alone, over the statistics of their chunk.

use icecore_grid::{Error, ErrorKind, Result};
use pco::data_types::Number;
use pco::errors::PcoError;
use pco::metadata::DeltaEncoding;
use pco::wrapped::{ChunkDecompressor, FileCompressor, FileDecompressor};
use pco::{ChunkConfig, DeltaSpec, PagingSpec};

#[cfg(target_arch = "x86_64")]
use super::pco::page;
#[cfg(target_arch = "x86_64")]
use super::pco_page::Page;
#[cfg(target_arch = "x86_64")]
use crate::codecs::word::Word;
use crate::errors::corrupt;

/// The statistics of a chunk, ready to decode its pages.
pub(in crate::codecs) struct PageReader<T: Number> {
    chunk: ChunkDecompressor<T>,
    #[cfg(target_arch = "x86_64")]
    four: Option<Page<u32>>,
    #[cfg(target_arch = "x86_64")]
    eight: Option<Page<u64>>,
}

impl<T: Number> PageReader<T> {
    pub fn new(statistics: &[u8]) -> Result<PageReader<T>> {
        let (file, rest) = FileDecompressor::new(statistics).map_err(refused)?;
        let (chunk, rest) = file.chunk_decompressor::<T, _>(rest).map_err(refused)?;
        if !rest.is_empty() {
            return Err(corrupt("pcodec", format!("{} bytes after the statistics", rest.len())));
        }
        Ok(PageReader {
            #[cfg(target_arch = "x86_64")]
            four: if size_of::<T>() == 4 { page::<T, u32>(chunk.meta()) } else { None },
            #[cfg(target_arch = "x86_64")]
            eight: if size_of::<T>() == 8 { page::<T, u64>(chunk.meta()) } else { None },
            chunk,
        })
    }

    /// Fills `numbers` from one page, which has exactly as many.
    pub fn read(&mut self, stored: &[u8], numbers: &mut [T]) -> Result<()> {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(page) = &self.four {
                return quick(page, stored, numbers);
            }
            if let Some(page) = &self.eight {
                return quick(page, stored, numbers);
            }
        }
        let mut page = self.chunk.page_decompressor(stored, numbers.len()).map_err(refused)?;
        let progress = page.read(numbers).map_err(refused)?;
        match (progress.finished, page.into_src().len()) {
            (true, 0) => Ok(()),
            (true, more) => Err(after(more)),
            (false, _) => Err(corrupt("pcodec", "a page with more numbers than expected")),
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn quick<T: Number, W: Word + pco::data_types::Latent>(page: &Page<W>, stored: &[u8], numbers: &mut [T]) -> Result<()> {
    let (head, body) = stored
        .split_at_checked(page.head_len())
        .ok_or_else(|| corrupt("pcodec", format!("a page of {} bytes without its head", stored.len())))?;
    // SAFETY: both are numbers of one size and alignment, and every bit pattern is one.
    let words = unsafe { numbers.align_to_mut::<W>() }.1;
    match body.len() - page.read(head, body, words)?.min(body.len()) {
        0 => Ok(()),
        more => Err(after(more)),
    }
}

fn refused(error: PcoError) -> Error {
    corrupt("pcodec", error.to_string())
}

fn after(more: usize) -> Error {
    corrupt("pcodec", format!("{more} bytes after the end of a page"))
}

/// A chunk in parts: its statistics and the pages, each as long as its entry of `lengths`.
pub(in crate::codecs) struct Paged {
    pub statistics: Vec<u8>,
    pub pages: Vec<u8>,
    pub lengths: Vec<usize>,
}

impl Paged {
    fn len(&self) -> usize {
        self.statistics.len() + self.pages.len()
    }
}

/// Compresses `numbers` in pages of `page` numbers; the last one may be shorter.
pub(in crate::codecs) fn write_pages<T: Number>(numbers: &[T], page: usize, level: usize) -> Result<Paged> {
    let failed = |e: PcoError| Error::new(ErrorKind::Codec, format!("pcodec: {e}"));
    let (found, differences) = with_delta(numbers, page, level, DeltaSpec::Auto).map_err(failed)?;
    if !differences {
        return Ok(found);
    }
    // What differences need at the start of each page may cost more than they save, which pco does not weigh.
    let (other, _) = with_delta(numbers, page, level, DeltaSpec::NoOp).map_err(failed)?;
    Ok(if other.len() < found.len() { other } else { found })
}

fn with_delta<T: Number>(
    numbers: &[T],
    page: usize,
    level: usize,
    delta: DeltaSpec,
) -> std::result::Result<(Paged, bool), PcoError> {
    let sizes: Vec<usize> = numbers.chunks(page).map(<[T]>::len).collect();
    let count = sizes.len();
    let config = ChunkConfig::default()
        .with_compression_level(level)
        .with_delta_spec(delta)
        .with_paging_spec(PagingSpec::Exact(sizes))
        .with_enable_8_bit(true);
    let file = FileCompressor::default();
    let mut chunk = file.chunk_compressor(numbers, &config)?;
    let mut made = Paged { statistics: Vec::new(), pages: Vec::new(), lengths: Vec::with_capacity(count) };
    file.write_header(&mut made.statistics)?;
    chunk.write_meta(&mut made.statistics)?;
    for nth in 0..count {
        let start = made.pages.len();
        chunk.write_page(nth, &mut made.pages)?;
        made.lengths.push(made.pages.len() - start);
    }
    let differences = !matches!(chunk.meta().delta_encoding, DeltaEncoding::NoOp);
    Ok((made, differences))
}
