//! Random clauses: no text makes the parser panic, and a zone's verdict holds for each of its rows.

use icecore_chunk::{DType, summarise};
use icecore_grid::ErrorKind;
use icecore_where::{ColumnType, Ranges, Rows, Values, Verdict, Zone, filter};
use proptest::prelude::*;

const NULL: i32 = -999;

fn columns() -> Vec<ColumnType> {
    let column = |name: &str, dtype| ColumnType { name: name.to_owned(), dtype, epoch: None };
    vec![
        column("lon", DType::Float64),
        column("n", DType::Int32),
        column("tb", DType::Float32),
        column("name", DType::Bytes(4)),
        column("when", DType::DateTime64 { unit: "s".to_owned(), scale: 1 }),
    ]
}

/// Words of the language in random order: these get further than random characters.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "lon",
        "n",
        "tb",
        "name",
        "when",
        "\"lon\"",
        "nothing",
        "and",
        "or",
        "not",
        "between",
        "in",
        "is",
        "null",
        "like",
        "true",
        "false",
        "wrap",
        "abs",
        "(",
        ")",
        ",",
        "<",
        "<=",
        "=",
        "!=",
        "<>",
        ">=",
        ">",
        "+",
        "-",
        "*",
        "/",
        "%",
        "1",
        "2.5",
        "1e308",
        "1e999",
        "-0",
        "9223372036854775808",
        "'x%'",
        "'2020-01-01'",
        "'00:05:00'",
        "'",
        "\"",
        "é",
        "\0",
        "&&",
        "||",
    ]);
    prop::collection::vec(word, 0..24).prop_map(|words| words.join(" "))
}

/// Valid clauses on the three columns of numbers.
fn right() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        (-20i32..20).prop_map(|n| n.to_string()),
        (-200i32..200).prop_map(|n| format!("{}", f64::from(n) / 10.0)),
        Just("1e300".to_owned()),
        Just(NULL.to_string()),
    ];
    let column = prop::sample::select(vec!["lon", "n", "tb"]);
    let op = prop::sample::select(vec!["<", "<=", "=", "!=", ">=", ">"]);
    let value = prop_oneof![
        3 => column.clone().prop_map(str::to_owned),
        1 => (column.clone(), prop::sample::select(vec!["+", "-", "*", "/", "%"]), number.clone())
            .prop_map(|(c, o, n)| format!("({c} {o} {n})")),
        1 => column.clone().prop_map(|c| format!("abs({c})")),
        1 => column.clone().prop_map(|c| format!("-{c}")),
    ];
    let leaf = prop_oneof![
        (value.clone(), op.clone(), number.clone()).prop_map(|(a, o, b)| format!("{a} {o} {b}")),
        (value.clone(), op, value.clone()).prop_map(|(a, o, b)| format!("{a} {o} {b}")),
        (value.clone(), number.clone(), number.clone()).prop_map(|(v, a, b)| format!("{v} between {a} and {b}")),
        (column.clone(), number.clone(), number.clone()).prop_map(|(c, a, b)| format!("{c} in ({a}, {b})")),
        (column.clone(), -400i32..400, -400i32..400).prop_map(|(c, a, b)| format!("wrap({c}, {a}, {b})")),
        value.prop_map(|v| format!("{v} is null")),
        column.prop_map(|c| format!("{c} is not null")),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|a| format!("not ({a})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) and ({b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("({a}) or ({b})")),
        ]
    })
}

/// Summary of a column: its intervals, and whether there are nulls.
fn zone<T: icecore_chunk::Number>(bytes: &[u8], nulls: &[T], rows: usize) -> Zone {
    let s = summarise::<T>(bytes, nulls);
    let mut intervals = if s.covers { s.intervals.to_vec() } else { Vec::new() };
    intervals.dedup();
    let values = if T::FLOAT {
        Ranges::Float(intervals.iter().map(|(a, b)| (a.float(), b.float())).collect())
    } else {
        Ranges::Int(intervals.iter().map(|(a, b)| (a.int(), b.int())).collect())
    };
    Zone { values, nulls: (s.count as usize) < rows }
}

fn floats() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => (-200i32..200).prop_map(|n| f64::from(n) / 10.0),
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e300]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_panics(text in ".{0,60}") {
        drop(filter(&text, &columns()));
    }

    #[test]
    fn no_words_panic_and_what_binds_can_be_evaluated(text in words(), row in prop::array::uniform28(any::<u8>())) {
        let all = columns();
        if let Ok(filter) = filter(&text, &all) {
            let mut rest = row.as_slice();
            let mut values = |column: &'_ ColumnType| {
                let (bytes, behind) = rest.split_at(column.dtype.size());
                rest = behind;
                bytes
            };
            let bytes: Vec<&[u8]> = all.iter().map(&mut values).collect();
            let held: Vec<_> = (all.iter().zip(bytes))
                .map(|(c, bytes)| Some(Values { dtype: &c.dtype, bytes, nulls: &[], blobs: &[] }))
                .collect();
            let mut hits = Vec::new();
            filter.hits(&Rows { count: 1, columns: &held }, &mut hits).unwrap();
            prop_assert!(hits.len() <= 1);
        }
    }

    #[test]
    fn a_zone_is_judged_as_its_rows_are(
        clause in right(),
        rows in prop::collection::vec((floats(), prop_oneof![9 => -20i32..20, 1 => Just(NULL)], floats()), 1..12),
    ) {
        let all = columns();
        let filter = filter(&clause, &all).unwrap();
        let lon: Vec<u8> = rows.iter().flat_map(|r| r.0.to_ne_bytes()).collect();
        let n: Vec<u8> = rows.iter().flat_map(|r| r.1.to_ne_bytes()).collect();
        let tb: Vec<u8> = rows.iter().flat_map(|r| (r.2 as f32).to_ne_bytes()).collect();
        let null = [NULL.to_ne_bytes().to_vec()];
        let values = |column: usize, bytes, nulls| Some(Values { dtype: &all[column].dtype, bytes, nulls, blobs: &[] });
        let held = [values(0, &lon[..], &[][..]), values(1, &n, &null), values(2, &tb, &[]), None, None];
        let mut hits = Vec::new();
        filter.hits(&Rows { count: rows.len(), columns: &held }, &mut hits).unwrap();
        let known = [
            zone::<f64>(&lon, &[], rows.len()),
            zone::<i32>(&n, &[NULL], rows.len()),
            zone::<f32>(&tb, &[], rows.len()),
        ];
        // With every summary, and with one of them missing.
        for missing in 0..4 {
            let about = |column: usize| known.get(column).filter(|_| column != missing).cloned();
            match filter.verdict(&about) {
                Verdict::None => prop_assert!(hits.is_empty(), "{clause}: {hits:?}"),
                Verdict::All => prop_assert_eq!(hits.len(), rows.len(), "{}", clause),
                Verdict::Some => {}
            }
        }
    }
}

#[test]
fn times_of_day_are_compared_with_durations() {
    let dtype = DType::TimeDelta64 { unit: "ms".to_owned(), scale: 1 };
    let columns = [ColumnType { name: "utc".to_owned(), dtype: dtype.clone(), epoch: None }];
    let ticks = [300_123i64, 0, -3_600_000, 86_400_000, i64::MIN];
    let bytes: Vec<u8> = ticks.iter().flat_map(|t| t.to_ne_bytes()).collect();
    for (clause, wanted) in [
        ("utc > '00:05:00'", vec![0, 3]),
        ("'0:05:00.123' = utc", vec![0]),
        ("utc != '00:05:00.123'", vec![1, 2, 3]),
        ("utc = '00:05:00.1234'", vec![]),
        ("utc < '00:05:00.1234' and utc >= '-01:00:00'", vec![0, 1, 2]),
        ("utc between '-00:30:00' and '24:00:00'", vec![0, 1, 3]),
        ("utc in ('24:00:00', '00:00:00')", vec![1, 3]),
        ("utc > 300000", vec![0, 3]),
        ("utc is null", vec![4]),
    ] {
        let held = [Some(Values { dtype: &dtype, bytes: &bytes, nulls: &[], blobs: &[] })];
        let mut hits = Vec::new();
        filter(clause, &columns).unwrap().hits(&Rows { count: ticks.len(), columns: &held }, &mut hits).unwrap();
        assert_eq!(hits, wanted, "{clause}");
    }
    for wrong in ["utc > '2020-01-01'", "utc > '05:00'", "utc = 'noon'"] {
        let error = filter(wrong, &columns).unwrap_err();
        assert!(error.to_string().contains("holds durations"), "{error}");
    }
}

/// The rows for which a clause is true.
#[allow(clippy::unwrap_used)] // a part of tests
fn hits(clause: &str, columns: &[ColumnType], bytes: &[Vec<u8>]) -> Vec<u32> {
    let held: Vec<_> = (columns.iter().zip(bytes))
        .map(|(c, bytes)| Some(Values { dtype: &c.dtype, bytes, nulls: &[], blobs: &[] }))
        .collect();
    let (mut hits, count) = (Vec::new(), bytes[0].len() / columns[0].dtype.size());
    filter(clause, columns).unwrap().hits(&Rows { count, columns: &held }, &mut hits).unwrap();
    hits
}

fn ticks(of: &[i64]) -> Vec<u8> {
    of.iter().flat_map(|t| t.to_ne_bytes()).collect()
}

#[test]
fn columns_of_times_are_compared_in_one_unit() {
    let duration = |unit: &str| DType::TimeDelta64 { unit: unit.to_owned(), scale: 1 };
    let time = |unit: &str| DType::DateTime64 { unit: unit.to_owned(), scale: 1 };
    let column = |name: &str, dtype| ColumnType { name: name.to_owned(), dtype, epoch: None };
    let columns = [
        column("ms", duration("ms")),
        column("s", duration("s")),
        column("day", time("D")),
        column("ns", time("ns")),
        column("name", DType::Bytes(8)),
        column("other", DType::Utf32(2)),
        column("month", time("M")),
    ];
    let texts = b"ab\0\0\0\0\0\0b\0\0\0\0\0\0\0a\0\0\0\0\0\0\0".to_vec();
    let points = [['a', 'b'], ['a', 'b'], ['a', '\0']].as_flattened().iter().flat_map(|c| u32::from(*c).to_ne_bytes());
    let day = 86_400_000_000_000;
    let bytes = [
        ticks(&[2000, 2001, i64::MIN]),
        ticks(&[2, 2, 2]),
        ticks(&[1, 1, 1]),
        ticks(&[day, day - 1, day + 1]),
        texts,
        points.collect(),
        ticks(&[0, 0, 0]),
    ];
    for (clause, wanted) in [
        ("ms = s", vec![0]),
        ("ms > s", vec![1]),
        ("s between '00:00:01' and ms", vec![0, 1]),
        ("day <= ns", vec![0, 2]),
        ("day in ('2020-01-01', ns)", vec![0]),
        ("name = other", vec![0, 2]),
        ("name > other", vec![1]),
        ("not name >= other", vec![]),
    ] {
        assert_eq!(hits(clause, &columns, &bytes), wanted, "{clause}");
    }
    for (wrong, message) in [
        ("ms + 1 > s", "different units"),
        ("day = ms", "day holds times, ms durations"),
        ("name = ms", "name holds strings, ms durations"),
        ("day = month", "without a common unit"),
    ] {
        let error = filter(wrong, &columns).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn times_in_whole_numbers_are_found_to_the_last_digit() {
    let column = |name: &str, epoch| ColumnType { name: name.to_owned(), dtype: DType::Int64, epoch: Some(epoch) };
    // nanoseconds since 1970, microseconds since 2018-01-01
    let columns = [column("ns", (1.0, 0.0)), column("us", (1e3, 1_514_764_800e9))];
    let first = 1_555_407_551_123_457_000;
    let bytes = [ticks(&[first - 1, first, first + 1]), ticks(&[40_642_751_123_456, 40_642_751_123_457, 0])];
    for (clause, wanted) in [
        ("ns = '2019-04-16T09:39:11.123457000'", vec![1]),
        ("ns >= '2019-04-16T09:39:11.123457000'", vec![1, 2]),
        ("ns < '2019-04-16T09:39:11.123457000'", vec![0]),
        ("us = '2019-04-16T09:39:11.123457'", vec![1]),
        ("us < '2019-04-16T09:39:11.1234565'", vec![0, 2]),
        ("us = '2019-04-16T09:39:11.1234565'", vec![]),
    ] {
        assert_eq!(hits(clause, &columns, &bytes), wanted, "{clause}");
    }
    let error = filter("ns < us", &columns).unwrap_err();
    assert!(error.kind == ErrorKind::Dtype && error.message.contains("ns and us have different time units"), "{error}");
}

#[test]
fn a_remainder_of_nothing_has_the_sign_of_the_divisor() {
    let columns = [ColumnType { name: "n".to_owned(), dtype: DType::Int64, epoch: None }];
    let bytes = [ticks(&[-8, 8, 0])];
    assert_eq!(hits("1 / (n % 8) > 0", &columns, &bytes), [0, 1, 2]);
    assert_eq!(hits("1 / (n % -8) < 0", &columns, &bytes), [0, 1, 2]);
}

#[test]
fn mistakes_are_told_with_a_remedy() {
    for (clause, hint) in [
        ("lon = null", "is null"),
        ("lon = 'x'", "without quotes"),
        ("LON > 1", "did you mean lon? ("),
        ("lon = nan", "is null"),
        ("lon < inf", "1e999"),
    ] {
        let error = filter(clause, &columns()).unwrap_err();
        assert!(error.hint.contains(hint), "{error:?}");
    }
    let error = filter(&format!("{}lon > 1{}", "(".repeat(200), ")".repeat(200)), &columns()).unwrap_err();
    assert!(!error.hint.is_empty());
}

#[test]
fn longitudes_at_the_ends_of_an_arc() {
    let columns = [ColumnType { name: "lon".into(), dtype: DType::Float64, epoch: None }];
    let found = |clause: &str, lon: &str| {
        let lon: f64 = lon.parse().unwrap();
        hits(clause, &columns, &[lon.to_ne_bytes().to_vec()]) == [0]
    };
    for tenth in (1..3600).step_by(7) {
        let [here, west] = [tenth, tenth - 3600].map(|t: i32| format!("{:.1}", f64::from(t) / 10.0));
        let other = f64::from((tenth + 2000) % 3600) / 10.0;
        for end in [&here, &west] {
            for clause in [format!("wrap(lon, {other}, {end})"), format!("wrap(lon, {end}, {other})")] {
                assert!(found(&clause, &here) && found(&clause, &west), "{clause} of {here}");
            }
        }
    }
    assert!(found("wrap(lon, -10, 350)", "77") && found("wrap(lon, 5, 5)", "365") && !found("wrap(lon, 5, 5)", "5.1"));
}
