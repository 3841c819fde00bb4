//! prune: skip zones of rows that can't match, using only the summaries of the where-clause's columns.

use std::ops::Range;
use std::sync::Arc;

use icecore_grid::Result;
use icecore_where::{Filter, Verdict, Zone};

use super::options::{ScanOptions, ScanReport};
use super::table::Table;
use super::window::{PIECE, Run};
use super::zones::Zones;

/// The remaining runs of rows. Reads only summaries.
pub(crate) fn prune(table: &Table, options: &ScanOptions, report: &mut ScanReport) -> Result<Vec<Run>> {
    let runs = zones(table, options, report)?;
    Ok(match &options.rows {
        Some(rows) => runs.iter().flat_map(|run| rows.iter().flat_map(|rows| overlap(run, rows))).collect(),
        None => runs,
    })
}

/// The part of a run in `rows`. A partial zone becomes a separate run, because the zone's summary
/// does not apply to a part of it.
fn overlap(run: &Run, rows: &Range<u64>) -> Vec<Run> {
    let (start, end) = (run.rows.start.max(rows.start), run.rows.end.min(rows.end));
    if start >= end {
        return Vec::new();
    }
    let (first, last) = (start.next_multiple_of(PIECE).min(end), (end - end % PIECE).max(start));
    let whole = if end == run.rows.end { first..end } else { first..last.max(first) };
    let parts = [start..whole.start, whole.clone(), whole.end..end];
    parts.into_iter().filter(|rows| rows.start < rows.end).map(|rows| Run { rows, sure: run.sure }).collect()
}

fn zones(table: &Table, options: &ScanOptions, report: &mut ScanReport) -> Result<Vec<Run>> {
    let everything = |sure| vec![Run { rows: 0..table.rows(), sure }];
    let Some(filter) = &options.filter else { return Ok(everything(true)) };
    let known = if options.prune { known(table, filter, options, report)? } else { Vec::new() };
    let Some(size) = known.iter().map(|(_, zones)| zones.rows).min() else { return Ok(everything(false)) };
    let zones = table.rows().div_ceil(size);
    report.zones = zones;
    let mut runs: Vec<Run> = Vec::new();
    for zone in 0..zones {
        let rows = zone * size..((zone + 1) * size).min(table.rows());
        let about = |column: usize| -> Option<Zone> {
            let (_, zones) = known.iter().find(|(c, _)| *c == column)?;
            zones.zone(rows.start, rows.end)
        };
        let sure = match filter.verdict(&about) {
            Verdict::None => {
                report.zones_pruned += 1;
                continue;
            }
            Verdict::Some => false,
            Verdict::All => true,
        };
        report.zones_whole += u64::from(sure);
        match runs.last_mut() {
            Some(last) if last.rows.end == rows.start && last.sure == sure => last.rows.end = rows.end,
            _ => runs.push(Run { rows, sure }),
        }
    }
    Ok(runs)
}

/// The available summaries of the where-clause's columns.
fn known(
    table: &Table,
    filter: &Filter,
    options: &ScanOptions,
    report: &mut ScanReport,
) -> Result<Vec<(usize, Arc<Zones>)>> {
    let mut known = Vec::new();
    for number in &filter.columns {
        if let Some(zones) = table.zones(*number, &options.read)? {
            report.summaries += zones.read;
            known.push((*number, zones));
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(clippy::single_range_in_vec_init)] // a list of one stretch is meant
    #[test]
    fn parts_of_zones_are_runs_of_their_own() {
        let run = Run { rows: 4096..20_000, sure: true };
        let cut = |rows| overlap(&run, &rows).into_iter().map(|run| run.rows).collect::<Vec<_>>();
        assert_eq!(cut(0..4096), []);
        assert_eq!(cut(0..30_000), [4096..20_000]);
        assert_eq!(cut(5000..6000), [5000..6000]);
        assert_eq!(cut(5000..9000), [5000..8192, 8192..9000]);
        assert_eq!(cut(5000..13_000), [5000..8192, 8192..12_288, 12_288..13_000]);
        assert_eq!(cut(8192..19_999), [8192..16_384, 16_384..19_999]);
        assert_eq!(cut(16_384..20_000), [16_384..20_000]);
    }
}
