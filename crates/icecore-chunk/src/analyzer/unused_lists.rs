//! Faster search over many codec lists: omit lists that no chunk used.

use serde_json::Value;

use crate::analyzer::candidates::Candidate;
use crate::analyzer::measurement::Measurement;

const PREDICT: &str = "icecore.predict";

/// The candidate reduced to the lists that its blocks used, and the first one, which distinguishes good predictions
/// from others. `None` if all were used, or the candidate has no choice of lists.
pub(crate) fn without_unused_lists(measured: &Measurement) -> Option<Candidate> {
    let mut codecs = measured.candidate.codecs.clone();
    let first = codecs.get_mut(0).filter(|codec| codec["name"] == PREDICT)?;
    let lists = first["configuration"]["codecs"].as_array_mut().filter(|lists| lists.len() > 1)?;
    let all = lists.len();
    let mut number = 0..;
    let taken =
        |number: usize| number == 0 || measured.figures.iter().any(|figure| usize::from(figure.first) == number);
    lists.retain(|_| number.next().is_some_and(taken));
    if lists.len() == all {
        return None;
    }
    let names: Vec<String> = lists.iter().map(name).collect();
    let (mode, _) = measured.candidate.label.split_once('+')?;
    let label = format!("{mode}+{}", names.join("|"));
    Some(Candidate { label, codecs, ..measured.candidate.clone() })
}

/// Label of such a list in other candidates.
fn name(list: &Value) -> String {
    let codecs = list.as_array().map_or(&[] as &[Value], Vec::as_slice);
    codecs.iter().filter_map(part).collect::<Vec<_>>().join("+")
}

fn part(codec: &Value) -> Option<String> {
    let (name, own) = (codec["name"].as_str()?, &codec["configuration"]);
    match name {
        "bytes" => None,
        "numcodecs.shuffle" => Some("shuffle".to_owned()),
        "numcodecs.pcodec" => Some(format!("pco-{}", own["level"])),
        "numcodecs.lzma" => Some(format!("lzma-{}", own["preset"])),
        "blosc" => Some(format!("{} {}-{}", own["shuffle"].as_str()?, own["cname"].as_str()?, own["clevel"])),
        _ => Some(format!("{}-{}", name.trim_start_matches("numcodecs."), own["level"])),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::analyzer::cost_class::CostClass;
    use crate::analyzer::measurement::{Figure, State};

    fn measured(lists: Value, taken: &[u8]) -> Measurement {
        let codecs = json!([
            {"name": PREDICT, "configuration": {"modes": ["auto"], "codecs": lists}},
            {"name": "crc32c"},
        ]);
        let label = "predict auto+pco|zstd|lzma".to_owned();
        let candidate = Candidate { label, codecs, class: CostClass::Slow, short: false, kin: None };
        let figure = |first: &u8| Figure { raw: 9, stored: 3, encode: 1.0, decode: 1.0, first: *first };
        Measurement { candidate, figures: taken.iter().map(figure).collect(), state: State::Measured }
    }

    fn lists() -> Value {
        json!([
            [{"name": "numcodecs.pcodec", "configuration": {"level": 8}}],
            [{"name": "numcodecs.pcodec", "configuration": {"level": 12}}],
            [{"name": "bytes"}, {"name": "blosc", "configuration": {"cname": "zstd", "clevel": 9, "shuffle": "bitshuffle"}}],
            [{"name": "bytes"}, {"name": "numcodecs.shuffle"}, {"name": "numcodecs.lzma", "configuration": {"preset": 9}}],
        ])
    }

    #[test]
    fn lists_that_no_block_took_are_left_out_but_the_first() {
        let found = without_unused_lists(&measured(lists(), &[3, 2, 3])).unwrap();
        assert_eq!(found.label, "predict auto+pco-8|bitshuffle zstd-9|shuffle+lzma-9");
        let kept = &found.codecs[0]["configuration"]["codecs"];
        assert_eq!(*kept, json!([lists()[0], lists()[2], lists()[3]]));
        assert_eq!(found.codecs[1]["name"], "crc32c");
    }

    #[test]
    fn nothing_to_leave_out() {
        assert_eq!(without_unused_lists(&measured(lists(), &[1, 2, 3])), None);
        assert_eq!(without_unused_lists(&measured(json!([lists()[0]]), &[0])), None);
        let mut other = measured(lists(), &[1]);
        other.candidate.codecs = json!([{"name": "zstd", "configuration": {"level": 3}}]);
        assert_eq!(without_unused_lists(&other), None);
    }
}
