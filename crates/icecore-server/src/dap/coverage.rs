//! Where and when a group's data are: the bounds of its longitudes, latitudes and times, for catalogs.

use std::fmt::Write;

use icecore::chunk::DType;
use icecore::session::Picks;

use super::model::{Dataset, Variable};
use super::page::escaped;
use crate::domains::Domain;

/// Maximum number of elements of a coordinate that is read for a catalog.
const READ: u64 = 1 << 18;

/// Bounds, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    /// South and north, west and east, in degrees.
    latitude: Option<(f64, f64)>,
    longitude: Option<(f64, f64)>,
    /// ISO 8601.
    time: Option<(String, String)>,
}

impl Coverage {
    /// From the attributes of ACDD, else from CF's coordinate variables.
    pub fn of(domain: &Domain, dataset: &Dataset, group: usize) -> Self {
        let attribute = |name: &str| {
            let found = dataset.group(group)?.attributes.iter().find(|each| each.name == name)?;
            found.values.first().cloned()
        };
        let pair = |low: &str, high: &str| Some((attribute(low)?.as_f64()?, attribute(high)?.as_f64()?));
        let text = |name: &str| Some(attribute(name)?.as_str()?.to_owned());
        let bounds = |is_wanted: &dyn Fn(&str) -> bool| {
            let mut all = dataset.variables_of(group).map(|(_, variable)| variable);
            let found = all.find(|each| each.is_coordinate() && units(each).is_some_and(is_wanted))?;
            Some((extremes(domain, found)?, units(found)?.to_owned()))
        };
        let degrees = |sign: &'static str| {
            bounds(&move |units| units.starts_with("degree") && units.ends_with(sign)).map(|(bounds, _)| bounds)
        };
        let times = || {
            let ((first, last), units) = bounds(&|units| units.contains(" since "))?;
            Some((date(first, &units)?, date(last, &units)?))
        };
        Self {
            latitude: pair("geospatial_lat_min", "geospatial_lat_max").or_else(|| degrees("north")),
            longitude: pair("geospatial_lon_min", "geospatial_lon_max").or_else(|| degrees("east")),
            time: text("time_coverage_start").zip(text("time_coverage_end")).or_else(times),
        }
    }

    /// The elements of a catalog's entry.
    pub fn xml(&self) -> String {
        let mut out = String::new();
        let range = |name: &str, (low, high): (f64, f64), units: &str| {
            let size = high - low;
            format!("<{name}><start>{low}</start><size>{size}</size><units>{units}</units></{name}>")
        };
        if let (Some(latitude), Some(longitude)) = (self.latitude, self.longitude) {
            let (y, x) = (range("northsouth", latitude, "degrees_north"), range("eastwest", longitude, "degrees_east"));
            let _ = writeln!(out, "    <geospatialCoverage>{y}{x}</geospatialCoverage>");
        }
        if let Some((first, last)) = &self.time {
            let (first, last) = (escaped(first), escaped(last));
            let _ = writeln!(out, "    <timeCoverage><start>{first}</start><end>{last}</end></timeCoverage>");
        }
        out
    }
}

fn text<'a>(variable: &'a Variable, name: &str) -> Option<&'a str> {
    variable.attributes.iter().find(|each| each.name == name)?.values.first()?.as_str()
}

/// Units; of times only in the calendar of dates.
fn units(variable: &Variable) -> Option<&str> {
    let units = text(variable, "units")?;
    let calendar = text(variable, "calendar").unwrap_or("standard");
    let is_known = !units.contains(" since ") || matches!(calendar, "standard" | "gregorian" | "proleptic_gregorian");
    is_known.then_some(units)
}

/// The smallest and the largest finite element.
fn extremes(domain: &Domain, variable: &Variable) -> Option<(f64, f64)> {
    let length = variable.axes.first()?.length;
    if length == 0 || length > READ {
        return None;
    }
    let view = domain.session.array(&variable.path).ok()?;
    let values = domain.session.read(&view, &Picks::all(&[length])).ok()?;
    let numbers: Vec<f64> = match values.dtype {
        DType::Float32 => each(&values.bytes, |bytes| f64::from(f32::from_ne_bytes(bytes))),
        DType::Float64 => each(&values.bytes, f64::from_ne_bytes),
        DType::Int16 => each(&values.bytes, |bytes| f64::from(i16::from_ne_bytes(bytes))),
        DType::Int32 => each(&values.bytes, |bytes| f64::from(i32::from_ne_bytes(bytes))),
        DType::Int64 => each(&values.bytes, |bytes| i64::from_ne_bytes(bytes) as f64),
        _ => return None,
    };
    let finite = || numbers.iter().copied().filter(|number| number.is_finite());
    finite().reduce(f64::min).zip(finite().reduce(f64::max))
}

fn each<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f64) -> Vec<f64> {
    bytes.as_chunks::<N>().0.iter().map(|element| number(*element)).collect()
}

/// A count of `UNIT since DATE` as a time in UTC, to seconds.
fn date(count: f64, units: &str) -> Option<String> {
    let (unit, since) = units.split_once(" since ")?;
    let seconds = match unit.trim().to_ascii_lowercase().trim_end_matches('s') {
        "day" | "d" => 86_400.0,
        "hour" | "hr" | "h" => 3600.0,
        "minute" | "min" => 60.0,
        "second" | "sec" | "" => 1.0,
        "millisecond" | "msec" | "m" => 1e-3,
        _ => return None,
    };
    let since = since.trim().replace('T', " ");
    let (day, time) = since.split_once(' ').unwrap_or((&since, ""));
    let day: Vec<i64> = day.split('-').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [year, month, day] = *day.as_slice() else { return None };
    let time = time.trim().trim_end_matches('Z').trim_end_matches("UTC").trim();
    let mut clock = 0.0;
    for (part, length) in time.split(':').filter(|part| !part.is_empty()).zip([3600.0, 60.0, 1.0]) {
        clock += part.parse::<f64>().ok()? * length;
    }
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(-9999..=9999).contains(&year) {
        return None;
    }
    let total = days(year, month, day) as f64 * 86_400.0 + clock + count * seconds;
    (total.abs() < 1e12).then(|| spelled(total.floor() as i64))
}

/// Days since 1970-01-01 of a date of the Gregorian calendar (eras of 400 years that begin in March).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn spelled(seconds: i64) -> String {
    let (day, clock) = (seconds.div_euclid(86_400) + 719_468, seconds.rem_euclid(86_400));
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", clock / 3600, clock / 60 % 60, clock % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (count, units, wanted) in [
            (0.0, "days since 1970-01-01", "1970-01-01T00:00:00Z"),
            (59.5, "days since 2000-01-01 00:00:00", "2000-02-29T12:00:00Z"),
            (25.0, "hours since 1999-12-31T00:00:00Z", "2000-01-01T01:00:00Z"),
            (-1.0, "seconds since 1900-3-1", "1900-02-28T23:59:59Z"),
            (1_451_606_400.0, "seconds since 1970-01-01 00:00:0.0", "2016-01-01T00:00:00Z"),
        ] {
            assert_eq!(date(count, units).as_deref(), Some(wanted), "{count} {units}");
        }
        for bad in ["days since", "months since 2000-01-01", "days since 2000-13-01", "days since tomorrow", "K"] {
            assert_eq!(date(1.0, bad), None, "{bad}");
        }
        assert_eq!(date(f64::NAN, "days since 1970-01-01"), None);
    }
}
