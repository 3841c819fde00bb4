//! prune: which zones of rows can have any that are wanted, from the summaries of the where-clause's columns alone.

use std::sync::Arc;

use icecore_grid::Result;
use icecore_where::{Filter, Verdict, Zone};

use super::options::{ScanOptions, ScanReport};
use super::table::Table;
use super::window::Run;
use super::zones::Zones;

/// The runs of rows that are left. Nothing but summaries is read.
pub(crate) fn prune(table: &Table, options: &ScanOptions, report: &mut ScanReport) -> Result<Vec<Run>> {
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

/// The summaries of the where-clause's columns, as far as there are any.
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
