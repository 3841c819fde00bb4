//! Coalescing: merges byte ranges into requests.

/// A requested byte range of one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// Which object (file, bucket key); the caller's numbering.
    pub object: u32,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
    /// The caller's own mark; ignored here.
    pub tag: u32,
}

/// Limits for merging ranges into requests, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    /// Largest gap that is read rather than skipped: latency × bandwidth of the store.
    pub gap: u64,
    /// Maximum length of a request, unless a single span is longer.
    pub max_request: u64,
    /// Requests longer than this are split between spans that do not overlap, so that several run at once; 0 never
    /// splits.
    pub split: u64,
}

/// One request: a byte range of one object, and the spans that are wholly inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Which object.
    pub object: u32,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
    /// Indexes into the spans given to [`coalesce`], by ascending offset.
    pub spans: Vec<u32>,
}

/// A run of spans in order, with gaps smaller than the limit; its bytes run from `start` to `end`. Ends are kept in 128
/// bits: offsets and lengths come from files and their sums may overflow 64 bits.
struct Stretch {
    start: u64,
    end: u128,
}

impl Stretch {
    fn of(span: &Span) -> Self {
        Self { start: span.offset, end: end(span) }
    }

    fn length(&self) -> u128 {
        self.end - u128::from(self.start)
    }

    fn length_with(&self, span: &Span) -> u128 {
        self.end.max(end(span)) - u128::from(self.start)
    }

    fn add(&mut self, span: &Span) {
        self.end = self.end.max(end(span));
    }
}

fn end(span: &Span) -> u128 {
    u128::from(span.offset) + u128::from(span.length)
}

/// Merges spans into requests, sorted by object and offset. Each span is inside exactly one request. At most `gap` unneeded
/// bytes are read per merged neighbour. At most `u32::MAX` spans are supported; later ones
/// are ignored, which no plan that fits in memory reaches.
#[must_use]
pub fn coalesce(spans: &[Span], merge: &Merge) -> Vec<Request> {
    let key = |&at: &u32| {
        let span = &spans[at as usize];
        (span.object, span.offset, span.length, at)
    };
    let mut order: Vec<u32> = (0..u32::try_from(spans.len()).unwrap_or(u32::MAX)).collect();
    if !order.is_sorted_by_key(key) {
        order.sort_unstable_by_key(key);
    }
    let mut requests = Vec::new();
    let mut rest = &order[..];
    while !rest.is_empty() {
        let (n, length) = cluster(spans, rest, merge.gap);
        divide(spans, &rest[..n], length, merge, &mut requests);
        rest = &rest[n..];
    }
    requests
}

/// Number of leading spans without a gap larger than `gap` between them, and the bytes they cover.
fn cluster(spans: &[Span], order: &[u32], gap: u64) -> (usize, u128) {
    let mut spans = order.iter().map(|&at| &spans[at as usize]);
    let Some(first) = spans.next() else { return (0, 0) };
    let mut stretch = Stretch::of(first);
    let mut n = 1;
    for span in spans {
        if span.object != first.object || u128::from(span.offset) > stretch.end + u128::from(gap) {
            break;
        }
        stretch.add(span);
        n += 1;
    }
    (n, stretch.length())
}

/// Divides a cluster of close spans into requests of about equal length.
fn divide(spans: &[Span], cluster: &[u32], length: u128, merge: &Merge, requests: &mut Vec<Request>) {
    let most = u128::from(merge.max_request);
    let soft = match merge.split {
        0 => most,
        split => most.min(u128::from(split)),
    };
    // Equal shares, rather than full requests and a short remainder, finish at about the same time.
    let share = if soft == 0 { 0 } else { length.div_ceil(length.div_ceil(soft).max(1)) };
    let mut from = 0;
    while from < cluster.len() {
        let mut stretch = Stretch::of(&spans[cluster[from] as usize]);
        let mut to = from + 1;
        while let Some(&next) = cluster.get(to) {
            let span = &spans[next as usize];
            let (grown, apart) = (stretch.length_with(span), u128::from(span.offset) >= stretch.end);
            let grows = grown > stretch.length();
            if grows && (grown > most || apart && (grown > soft || stretch.length() >= share)) {
                break;
            }
            stretch.add(span);
            to += 1;
        }
        requests.push(Request {
            object: spans[cluster[from] as usize].object,
            offset: stretch.start,
            // One span's length, or at most `max_request`: it fits.
            length: u64::try_from(stretch.length()).unwrap_or(u64::MAX),
            spans: cluster[from..to].to_vec(),
        });
        from = to;
    }
}
