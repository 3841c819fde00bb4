//! parts: requests are divided between chunks. Pure.

use icecore_grid::{Request, Span};

/// Divides a request at ends of its spans: each span is inside one part, and each part but the last has at least
/// `least` bytes.
pub(crate) fn parts(request: &Request, spans: &[Span], least: u64) -> Vec<Request> {
    let all = request.offset.saturating_add(request.length);
    let part =
        |start: u64, end: u64, spans| Request { object: request.object, offset: start, length: end - start, spans };
    let mut found = Vec::new();
    let (mut start, mut end, mut inside) = (request.offset, request.offset, Vec::new());
    for number in &request.spans {
        let Some(span) = spans.get(*number as usize) else { continue };
        if span.offset >= end && end - start >= least && end < all {
            found.push(part(start, end, std::mem::take(&mut inside)));
            start = end;
        }
        inside.push(*number);
        end = end.max(span.offset.saturating_add(span.length)).min(all);
    }
    found.push(part(start, all, inside));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LEAST: u64 = 128 << 10;

    proptest! {
        #[test]
        fn each_span_is_in_one_part(lengths in prop::collection::vec((0..300_000u64, 0..70_000i64), 1..20)) {
            let mut at = 1000i64;
            let mut spans: Vec<Span> = Vec::new();
            for (tag, (length, gap)) in (0u32..).zip(lengths) {
                at += gap - 5_000; // some overlap
                spans.push(Span { object: 3, offset: at.max(0) as u64, length, tag });
                at = at.max(0) + length as i64;
            }
            spans.sort_by_key(|span| (span.offset, span.length));
            let offset = spans[0].offset;
            let end = spans.iter().map(|span| span.offset + span.length).max().unwrap();
            let numbers = (0..spans.len() as u32).collect();
            let request = Request { object: 3, offset, length: end - offset, spans: numbers };
            let parts = parts(&request, &spans, LEAST);
            let mut next = offset;
            for (i, part) in parts.iter().enumerate() {
                prop_assert_eq!(part.offset, next);
                next += part.length;
                prop_assert!(part.length >= LEAST || i + 1 == parts.len());
                for number in &part.spans {
                    let span = &spans[*number as usize];
                    prop_assert!(span.offset >= part.offset && span.offset + span.length <= next);
                }
            }
            prop_assert_eq!(next, end);
            prop_assert_eq!(parts.iter().flat_map(|part| part.spans.clone()).collect::<Vec<_>>(), request.spans);
        }
    }
}
