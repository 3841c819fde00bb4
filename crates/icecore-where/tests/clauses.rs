//! Clauses at random: no text makes the parser panic, and what is said about a zone holds for each of its rows.

use icecore_chunk::{DType, summarise};
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

/// Words of the language in any order: these get further than any characters do.
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

/// Clauses that are right, on the three columns of numbers.
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

/// What a summary keeps of a column: the intervals, and whether there are nulls.
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
