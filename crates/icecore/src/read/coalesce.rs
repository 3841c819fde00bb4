//! coalesce: spans → requests, by each store's cost. Pure; the rules are in `icecore_grid::coalesce`.

use icecore_grid::{Merge, Request, Span, coalesce as merge_spans};

/// Requests for `spans`; `merges` gives the rule of each source. Spans of all sources with the same rule are merged
/// together.
pub(crate) fn requests(spans: &[Span], merges: &[Merge]) -> Vec<Request> {
    let mut rules: Vec<&Merge> = Vec::new();
    for rule in merges {
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    if let [rule] = rules.as_slice() {
        return merge_spans(spans, rule);
    }
    let mut all = Vec::new();
    for rule in rules {
        let numbers: Vec<u32> = (0..spans.len() as u32)
            .filter(|i| spans.get(*i as usize).and_then(|s| merges.get(s.object as usize)) == Some(rule))
            .collect();
        let group: Vec<Span> = numbers.iter().filter_map(|i| spans.get(*i as usize).cloned()).collect();
        for mut request in merge_spans(&group, rule) {
            for span in &mut request.spans {
                *span = numbers.get(*span as usize).copied().unwrap_or(u32::MAX);
            }
            all.push(request);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_source_merges_by_its_own_rule() {
        let near = Merge { gap: 0, max_request: 1 << 20, split: 1 << 20 };
        let far = Merge { gap: 1000, max_request: 1 << 20, split: 1 << 20 };
        let span = |object, offset, tag| Span { object, offset, length: 10, tag };
        let spans = [span(0, 0, 0), span(1, 0, 1), span(0, 100, 2), span(1, 100, 3)];
        let requests = requests(&spans, &[near, far]);
        assert_eq!(requests.len(), 3);
        let merged = requests.iter().find(|r| r.object == 1).unwrap();
        assert_eq!((merged.offset, merged.length, &merged.spans), (0, 110, &vec![1, 3]));
    }
}
