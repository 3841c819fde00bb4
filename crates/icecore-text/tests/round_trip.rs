//! Any text: printing the parsed columns reproduces it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should panic")]

use icecore_text::{
    Column, Escapes, Format, Hint, Layout, Style, TimeStyle, Values, View, infer_style, parse, parse_checked, print,
};
use proptest::prelude::*;

fn columns(texts: &[&[u8]], separator: u8) -> Vec<Column> {
    let mut cells: Vec<Vec<Vec<u8>>> = Vec::new();
    let mut spans = Vec::new();
    for text in texts {
        let mut at = 0;
        while let Some(end) = icecore_text::cells_of(text, at, separator, None, &mut spans) {
            cells.push(spans.iter().map(|(a, b)| text[*a..*b].to_vec()).collect());
            at = end;
        }
    }
    let width = cells.first().map_or(1, Vec::len);
    cells.retain(|row| row.len() == width);
    (0..width)
        .map(|i| {
            let sample: Vec<&[u8]> = cells.iter().map(|row| row[i].as_slice()).collect();
            infer_style(&format!("c{i}"), &sample, Hint::Any, false, None, separator)
        })
        .collect()
}

fn check(format: &Format, text: &[u8]) -> (u32, usize) {
    let format = Format::parse(&format.to_json()).unwrap();
    let parsed = parse_checked(&format, text, true).unwrap();
    assert_eq!(parsed.used, text.len());
    let (escapes, used) = Escapes::decode(&parsed.escapes.encode()).unwrap();
    assert_eq!(used, parsed.escapes.encode().len());
    assert_eq!(escapes, parsed.escapes);
    let again = print(&format, &views(&parsed.columns), &escapes).unwrap().concat();
    assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(text));
    assert_eq!(again, text);
    (escapes.rows, escapes.cells.len())
}

fn views(columns: &[Values]) -> Vec<View<'_>> {
    columns.iter().map(Values::view).collect()
}

fn delimited(sample: &[u8]) -> Format {
    let layout = Layout::Delimited { separator: ',', quotes: true, multiline: false };
    Format { layout, columns: columns(&[sample], b',') }
}

/// The same with quotes that may span lines.
fn spanning(sample: &[u8]) -> Format {
    Format { layout: Layout::Delimited { separator: ',', quotes: true, multiline: true }, ..delimited(sample) }
}

fn texts(values: &Values) -> Vec<String> {
    let Values::Text { width, bytes } = values else { panic!("no text: {values:?}") };
    bytes.chunks(*width).map(|cell| String::from_utf8_lossy(cell).trim_end_matches('\0').to_owned()).collect()
}

#[test]
fn diviner_rows_have_no_escapes() {
    let rows = b" \"09-Apr-2013\", \"03:00:00.117\", 2456391.625001352, 17271, 0.99911, 0387169200.07077, -15.37966,    56.2600,   1, 012\r\n\
                 \x20\"09-Apr-2013\", \"03:00:00.245\", 2456391.625002833, 17271, 0.99911, 0387169200.15465,   5.37966, -9999.0000,  21, 000\r\n";
    assert_eq!(check(&delimited(rows), rows), (2, 0));
}

#[test]
fn what_does_not_fit_is_kept() {
    let sample = b"a,b,c\n1,2.50,x\n2,3.50,\"y,z\"\n3,-4.25,w\n";
    let format = delimited(&sample[6..]);
    assert_eq!(check(&format, sample), (4, 2)); // the names are stored as a line of text
    for text in [
        &b""[..],
        b"\n",
        b"1,2.50,x",
        b"1,2.5,x\n1,-0.00,x\n01,1.00,x\n,,\n1,2\n1,2,3,4\n\n",
        b"1,2.50,\"a\"\"b\"\n1,2.50,\"a\"b\n1,2.50,\"open\n1,2.50,\"\"\"\n",
        b"1,2.50,x\r\n1,2.50,y\n 1,2.50 ,\n",
        b"1,2.50,x\n99999999999999999999,1e5,nan\n-,+,.\n1,2.500000000000000000001,x\0\n",
    ] {
        check(&format, text);
    }
}

#[test]
fn decimal_commas() {
    let rows = b"1,5;-0,25;\"1,0\";12:00:01,5;7;x,y\r\n-2,5;10,00;\"2,5\";12:00:02,0;8;z\r\n";
    let mut format = delimited(b"");
    format.layout = Layout::Delimited { separator: ';', quotes: true, multiline: true };
    let columns: [[&[u8]; 2]; 6] = [
        [b"1,5", b"-2,5"],
        [b"-0,25", b"10,00"],
        [b"\"1,0\"", b"\"2,5\""],
        [b"12:00:01,5", b"12:00:02,0"],
        [b"7", b"8"],
        [b"x,y\r", b"z\r"],
    ];
    format.columns = columns.iter().map(|cells| infer_style("c", cells, Hint::Comma, false, None, b';')).collect();
    assert_eq!(check(&format, rows), (2, 0));
    let parsed = parse(&format, rows, true).unwrap();
    assert_eq!(parsed.columns[0], Values::Real(vec![1.5, -2.5]));
    assert_eq!(parsed.columns[1], Values::Real(vec![-0.25, 10.0]));
    assert_eq!(parsed.columns[2], Values::Real(vec![1.0, 2.5]));
    assert_eq!(texts(&parsed.columns[5]), ["x,y", "z"]);
    // The point is not a decimal mark here, except in text.
    let odd = b"1.5;-,25;1,0;12:00:01.5;7,0;x.y\n1,50;+3;\"1\";;;\n";
    assert_eq!(check(&format, odd).0, 2);
    let parsed = parse(&format, odd, true).unwrap();
    let Values::Real(first) = &parsed.columns[0] else { panic!() };
    assert!(first[0].is_nan() && first[1] == 1.5);
    assert_eq!(parsed.junk[0].count, 1);
    assert_eq!(parsed.columns[4], Values::Int(vec![7, i64::MIN]));
}

#[test]
fn runs_of_blanks() {
    let cells: [[&[u8]; 3]; 3] =
        [[b"   1", b"  10", b"7"], [b"1.50", b"-0.25", b"  3.00"], [b"  ab", b"\"c  d\"", b"e"]];
    let columns = cells.iter().map(|cells| infer_style("c", cells, Hint::Any, false, None, b' ')).collect();
    let format = Format { layout: Layout::Delimited { separator: ' ', quotes: true, multiline: true }, columns };
    let text = b"   1 1.50   ab\n  10 -0.25 \"c  d\"\n7   3.00 e   \r\n8 4 \n 9  5.5   f g\n\n   \n 1 2 x";
    assert_eq!(check(&format, text).0, 4);
    let parsed = parse(&format, text, true).unwrap();
    assert_eq!(parsed.columns[0], Values::Int(vec![1, 10, 7, 1]));
    assert_eq!(parsed.columns[1], Values::Real(vec![1.5, -0.25, 3.0, 2.0]));
    assert_eq!(texts(&parsed.columns[2]), ["ab", "c  d", "e", "x"]);
    let lines: Vec<&[u8]> = parsed.escapes.lines.iter().map(|(_, line)| line.as_slice()).collect();
    assert_eq!(lines, [&b"8 4 \n"[..], b" 9  5.5   f g\n", b"\n", b"   \n"]);
}

#[test]
fn fixed_rows() {
    let layout = Layout::Fixed {
        template: b"     ,      \r\n".to_vec(),
        cells: vec![(0, 5), (6, 6)],
        trimmed: false,
        characters: Vec::new(),
    };
    let sample: [&[u8]; 2] = [b"    1", b"12345"];
    let reals: [&[u8]; 2] = [b" 12.50", b"- 1.25"];
    let columns = vec![
        infer_style("a", &sample, Hint::Number, true, None, b','),
        infer_style("b", &reals, Hint::Number, true, None, b','),
    ];
    let format = Format { layout, columns };
    assert_eq!(check(&format, b"    1, 12.50\r\n    1, 12.50\r\n   -2,  0.00\r\n"), (3, 0));
    check(&format, b"header\r\n    1, 12.50\r\n\r\n    1; 12.50\r\n    1,      \r\n    2, -0.00\r\nxx");
    check(&format, b"    1, 12.50\r\n    1, 12.50\r");
    check(&format, b"    1, 12.50\r\n    1, 12.5");
    check(&format, b"    1, 12.50\r\n    1, 12.50");
}

#[test]
fn bytes_of_no_column_are_kept_with_their_row() {
    // Two columns; the varying bytes before, between and after them belong to none.
    let cells = vec![(2, 4), (10, 6), (0, 2), (6, 1), (17, 2)];
    let row =
        |i: usize| format!("{:02}{:>4}{}, ,{:>6.2};{:02}\r\n", i % 7, i, ["x", "y"][i / 5 % 2], i as f64 / 4.0, i % 11);
    let text: String = (0..100).map(row).collect();
    let (template, length) = (row(0).into_bytes(), row(0).len());
    let lines: Vec<&[u8]> = text.as_bytes().chunks(length).collect();
    let column = |name: &str, (start, length): (u32, u32)| {
        let sample: Vec<&[u8]> = lines.iter().map(|line| &line[start as usize..(start + length) as usize]).collect();
        infer_style(name, &sample, Hint::Number, true, None, b',')
    };
    let columns = vec![column("n", cells[0]), column("x", cells[1])];
    let format = Format { layout: Layout::Fixed { template, cells, trimmed: false, characters: Vec::new() }, columns };
    let (count, escaped) = check(&format, text.as_bytes());
    assert_eq!(count, 100);
    assert!(escaped > 100, "{escaped}");
    let parsed = parse(&format, text.as_bytes(), true).unwrap();
    assert_eq!(parsed.columns[0], Values::Int((0..100).collect()));
    check(&format, &text.as_bytes()[..text.len() - 1]);
    check(&format, &text.as_bytes()[..text.len() - 3]);
    check(&format, &[text.as_bytes(), b"12345\n", text.as_bytes()].concat());
}

#[test]
fn a_cell_that_takes_the_line_end_is_not_cut() {
    let column = infer_style("c", &[&b"a\r"[..]], Hint::Words, true, None, b',');
    let layout =
        Layout::Fixed { template: b" \r\n".to_vec(), cells: vec![(0, 2)], trimmed: false, characters: Vec::new() };
    let format = Format { layout, columns: vec![column] };
    for text in [&b"a\r\nb\r\nc"[..], b"a\r\nb\r\nc\r", b"a\r\n", b"\r", b""] {
        check(&format, text);
    }
}

#[test]
fn columns_inside_of_others_are_read_too() {
    let row = |i: i64| format!("2020-01-{:02} {:>6}\r\n", i % 28 + 1, i * 37);
    let text: String = (0..60).map(row).collect();
    let cells = vec![(0, 10), (0, 4), (5, 2), (8, 5), (11, 6)];
    let lines: Vec<&[u8]> = text.as_bytes().chunks(row(0).len()).collect();
    let column = |(start, length): &(u32, u32)| {
        let sample: Vec<&[u8]> = lines.iter().map(|line| &line[*start as usize..(*start + *length) as usize]).collect();
        infer_style(&format!("c{start}"), &sample, Hint::Any, true, None, b',')
    };
    let columns: Vec<Column> = cells.iter().map(column).collect();
    let mut template = row(0).into_bytes();
    template[..10].fill(b' ');
    template[11..17].fill(b' ');
    let format = Format { layout: Layout::Fixed { template, cells, trimmed: false, characters: Vec::new() }, columns };
    assert_eq!(check(&format, text.as_bytes()), (60, 0));
    let parsed = parse(&format, text.as_bytes(), true).unwrap().columns;
    assert_eq!(parsed[1], Values::Int(vec![2020; 60]));
    assert_eq!(parsed[4], Values::Int((0..60).map(|i| i * 37).collect()));
    check(&format, text.replace("2020-01-05", "????-01-05").as_bytes());
    let overlapping = Format {
        layout: Layout::Fixed {
            template: b"      \n".to_vec(),
            cells: vec![(0, 3), (2, 2)],
            trimmed: false,
            characters: Vec::new(),
        },
        columns: vec![format.columns[1].clone()],
    };
    assert!(Format::parse(&overlapping.to_json()).is_err(), "what belongs to no column lies in one");
}

#[test]
fn quotes_span_lines_where_that_makes_a_row() {
    let text = b"id,note\n1,3.5\" disk\n2,\"line one\nline two, with comma\"\n3,\"stray\n4,end\n5,\"two\n\n\"\"lines\"\"\"\n6,\"cut";
    let format = spanning(b"1,\"a, much longer text than all of them together\"\n2,\"b\"\n");
    check(&format, text);
    let parsed = parse(&format, &text[8..], true).unwrap();
    assert_eq!(parsed.columns[0], Values::Int((1..7).collect()));
    let expected = ["3.5\" disk", "line one\nline two, with comma", "\"stray", "end", "two\n\n\"lines\"", "\"cut"];
    assert_eq!(texts(&parsed.columns[1]), expected);
}

#[test]
fn quotes_span_lines_across_the_parts_of_all_threads() {
    let row = |i: usize| match i % 50 {
        7 => format!("{i},\"{}\n{},\n\"\n", "x".repeat(i % 90), "y".repeat(i % 70)),
        _ => format!("{i},\"{}\"\n", "z".repeat(i % 100)),
    };
    let text: String = (0..80_000).map(row).collect();
    assert!(text.len() > 4 << 20, "{} bytes", text.len());
    let format = spanning(format!("1,\"a\"\n2,\"{}\"\n", "b".repeat(190)).as_bytes());
    for threads in [1, 2, 3, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let parsed = pool.install(|| parse_checked(&format, text.as_bytes(), true)).unwrap();
        assert_eq!(parsed.columns[0], Values::Int((0..80_000).collect()), "{threads} threads");
        let short = pool.install(|| parse_checked(&format, &text.as_bytes()[..text.len() - 5], false)).unwrap();
        assert_eq!(short.columns[0], Values::Int((0..79_999).collect()), "{threads} threads");
    }
}

#[test]
fn long_whole_numbers_are_exact_or_text() {
    let rows = b"5853498713190525697,1.5\n5853498713190525699,2.5\n-9223372036854775807,3.5\n9007199254740993,1.0\n";
    let format = delimited(rows);
    assert_eq!(check(&format, rows), (4, 0));
    let parsed = parse(&format, rows, true).unwrap();
    let expected = vec![5_853_498_713_190_525_697, 5_853_498_713_190_525_699, -i64::MAX, 9_007_199_254_740_993];
    assert_eq!(parsed.columns[0], Values::Int(expected));
    let lost = parse(&format, b"9223372036854775808,1.0\n-9223372036854775808,1.0\n", true).unwrap();
    assert_eq!((lost.lost[0].count, lost.columns[0].clone()), (2, Values::Int(vec![i64::MIN; 2])));
    let unsigned = b"18446744073709551615,1\n9223372036854775808,2\n7,3\n";
    let format = delimited(unsigned);
    assert_eq!(check(&format, unsigned), (3, 0));
    assert_eq!(parse(&format, unsigned, true).unwrap().columns[0], Values::Int(vec![-1, i64::MIN, 7]));
    let lost = parse(&format, b"18446744073709551614,1\n18446744073709551616,1\n-1,1\n", true).unwrap();
    assert_eq!((lost.lost[0].count, lost.columns[0].clone()), (3, Values::Int(vec![-2; 3])));
    let longer = b"18446744073709551615,1\n18446744073709551614,2\n";
    let format = delimited(longer);
    assert_eq!(check(&format, longer), (2, 0));
    assert_eq!(
        texts(&parse(&format, longer, true).unwrap().columns[0]),
        ["18446744073709551615", "18446744073709551614"]
    );
    check(
        &format,
        b"00000000000000000001,1\n0000000000000000000000000000000000000000000000000000000000000000000000000000,2\n",
    );
}

#[test]
fn a_few_exponents_among_decimals_are_the_nearest_doubles() {
    let mut rows: Vec<String> = (0..50).map(|i| format!("{i},{}.25\n", i)).collect();
    rows.push("1e5,-1.5e-3\n".to_owned());
    rows.push("2.5,0.1234567890123456789\n".to_owned());
    let text = rows.concat();
    let format = delimited(text.as_bytes());
    let (count, escaped) = check(&format, text.as_bytes());
    assert_eq!(count, 52);
    assert!(escaped <= 4, "{escaped} of 104 cells are escapes");
    let parsed = parse(&format, text.as_bytes(), true).unwrap();
    let Values::Real(first) = &parsed.columns[0] else { panic!("{:?}", parsed.columns[0]) };
    assert_eq!(&first[49..], [49.0, 1e5, 2.5]);
    let Values::Real(second) = &parsed.columns[1] else { panic!("{:?}", parsed.columns[1]) };
    assert_eq!(&second[49..], [49.25, -1.5e-3, 0.123_456_789_012_345_68]);
}

#[test]
fn a_fraction_of_zero_may_be_left_away() {
    let rows =
        b"2020-01-01T00:00:00,00:00:01.5Z\n2020-01-01T00:00:00.123456,00:00:01.25Z\n2020-01-01T00:00:02.5,00:00:02Z\n";
    let format = spanning(rows);
    check(&format, rows);
    let parsed = parse(&format, rows, true).unwrap();
    let Values::Int(ticks) = &parsed.columns[0] else { panic!("{:?}", parsed.columns[0]) };
    assert_eq!([ticks[1] - ticks[0], ticks[2] - ticks[0]], [123_456, 2_500_000]);
}

#[test]
fn a_rare_fraction_leaves_the_others_their_pattern() {
    let rows = b"2020-01-01T00:00:00Z\n2020-01-01T00:00:01Z\n2020-01-01T00:00:02.25Z\n2020-01-01T00:00:03Z\n";
    let format = delimited(rows);
    assert_eq!(check(&format, rows), (4, 1));
    let Values::Int(ticks) = &parse(&format, rows, true).unwrap().columns[0] else { panic!("no times") };
    assert_eq!([ticks[1] - ticks[0], ticks[2] - ticks[0]], [1000, 2250]);
    // A format without fractions stores those of zero, and reports the others.
    let format = delimited(b"2020-01-01T00:00:00+01:00\n2020-01-01T00:00:01+01:00\n");
    let text = b"2020-01-01T00:00:01.000+01:00\n2020-01-01T01:00:02.00+02:00\n2020-01-01T00:00:03.5+01:00\n";
    check(&format, text);
    let parsed = parse(&format, text, true).unwrap();
    let Values::Int(ticks) = &parsed.columns[0] else { panic!("no times") };
    assert_eq!((ticks[1] - ticks[0], ticks[2]), (1, i64::MIN));
    assert_eq!((parsed.lost[0].count, parsed.junk[0].count), (1, 0));
}

#[test]
fn times_and_reals() {
    let rows = b"1997-12-16T11:42:56.312Z,16:00:59,2000-366,1.5E-03,0.1,3EE9\n\
                 2000-02-29T23:59:59.999Z,23:59:60,1999-001,-2.5E+10,12.125,00FF\n";
    let format = delimited(rows);
    assert_eq!(check(&format, rows), (2, 0));
    check(&format, b"2001-02-29T00:00:00.000Z,24:00:00,2001-366,1.50E-03,1e-5,3ee9\n");
    check(&format, b"2016-12-31T23:59:60.500Z,12:00:60,0000-000,inf,NaN,\n");
}

/// The ticks of the only column, if it has times.
fn ticks(text: &[u8]) -> Option<Vec<i64>> {
    let format = delimited(text);
    assert_eq!(check(&format, text).1, 0, "{}", String::from_utf8_lossy(text));
    match &parse(&format, text, true).unwrap().columns[0] {
        Values::Int(ticks) => Some(ticks.clone()),
        _ => None,
    }
}

#[test]
fn dates_of_all_customs() {
    let days = Some(vec![18_632, 18_992, 18_724]); // 2021-01-05, 2021-12-31, 2021-04-07
    for text in [
        "2021-01-05\n2021-12-31\n2021-04-07\n",
        "2021-1-5\n2021-12-31\n2021-4-7\n",
        "2021/1/5\n2021/12/31\n2021/4/7\n",
        "05/01/2021\n31/12/2021\n07/04/2021\n",
        "5/1/2021\n31/12/2021\n7/4/2021\n",
        "01/05/2021\n12/31/2021\n04/07/2021\n",
        "1/5/2021\n12/31/2021\n4/7/2021\n",
        "1-5-2021\n12-31-2021\n4-7-2021\n",
        "05-01-2021\n31-12-2021\n07-04-2021\n",
        "5.1.2021\n31.12.2021\n7.4.2021\n",
        "\"05.01.2021\"\n\"31.12.2021\"\n\"07.04.2021\"\n",
    ] {
        assert_eq!(ticks(text.as_bytes()), days, "{text}");
    }
    assert_eq!(ticks(b"5.1.2021\n7.4.2021\n"), Some(vec![18_632, 18_724]), "points: the day is first");
    let seconds = |day: i64, hour: i64, minute: i64| day * 86_400 + hour * 3600 + minute * 60;
    let moments = Some(vec![seconds(18_632, 3, 7), seconds(18_992, 15, 20)]);
    assert_eq!(ticks(b"1/5/2021 3:07\n12/31/2021 15:20\n"), moments);
    assert_eq!(ticks(b"2021-01-05T3:07:00\n2021-12-31T15:20:00\n"), moments);
}

#[test]
fn where_day_and_month_cant_be_told_apart_dates_stay_text() {
    for text in ["05/06/2021\n07/12/2021\n", "5/6/2021 3:07\n7/12/2021 14:07\n", "5-6-2021\n7-12-2021\n"] {
        assert_eq!(ticks(text.as_bytes()), None, "{text}");
    }
    assert_eq!(ticks(b"4:13\n11:07\n9:59\n"), None, "verses");
    assert_eq!(ticks(b"1/5/2021\n13/13/2021\n"), None);
}

#[test]
fn what_another_custom_writes_comes_back_as_it_was() {
    let format = delimited(b"1/5/2021 3:07\n12/31/2021 15:20\n");
    assert_eq!(
        check(
            &format,
            b"01/05/2021 3:07\n1/5/2021 03:07\n31/12/2021 3:07\n/5/2021 3:07\n1/5/2021 :07\n1/5/2021 24:00\n1/5/2021\n"
        ),
        (7, 7)
    );
}

fn join((a, b): (Values, Values)) -> Values {
    match (a, b) {
        (Values::Text { width, bytes }, Values::Text { bytes: more, .. }) => {
            Values::Text { width, bytes: [bytes, more].concat() }
        }
        (Values::Int(a), Values::Int(b)) => Values::Int([a, b].concat()),
        (Values::Real(a), Values::Real(b)) => Values::Real([a, b].concat()),
        (a, _) => a,
    }
}

/// The format of lines with cells of 5, 10, 6 and 20 bytes.
fn fixed_like(lines: &[Vec<u8>]) -> Format {
    let cells: Vec<(u32, u32)> = vec![(0, 5), (6, 10), (17, 6), (24, 20)];
    let mut template = lines[0].clone();
    let mut columns = Vec::new();
    for (i, (start, length)) in cells.iter().enumerate() {
        let (start, end) = (*start as usize, (*start + *length) as usize);
        template[start..end].fill(b' ');
        let sample: Vec<&[u8]> = lines.iter().map(|line| &line[start..end]).collect();
        columns.push(infer_style(&format!("c{i}"), &sample, Hint::Any, true, None, b','));
    }
    Format { layout: Layout::Fixed { template, cells, trimmed: false, characters: Vec::new() }, columns }
}

#[test]
fn halves_of_days_and_names_in_capitals() {
    let rows = b"1/31/2020 3:07:15.5 PM,03:07 am,31-JAN-2020\n12/1/2020 12:00:00.0 AM,12:30 pm,01-FEB-2020\n";
    let format = delimited(rows);
    assert_eq!(check(&format, rows), (2, 0));
    let parsed = parse(&format, rows, true).unwrap();
    assert_eq!(parsed.columns[0], Values::Int(vec![1_580_483_235_500, 1_606_780_800_000]));
    assert_eq!(parsed.columns[1], Values::Int(vec![11_220, 45_000]));
    assert_eq!(parsed.columns[2], Values::Int(vec![18_292, 18_293]));
    // No 12-hour clock; names in another case have a value.
    let odd = b"1/31/2020 0:07:15.5 PM,13:07 am,31-Jan-2020\n1/31/2020 3:07:15.5 pm,3:07 am,31-JAM-2020\n";
    assert_eq!(check(&format, odd).0, 2);
    let parsed = parse(&format, odd, true).unwrap();
    assert_eq!(parsed.columns[0], Values::Int(vec![i64::MIN, 1_580_483_235_500]));
    assert_eq!(parsed.columns[1], Values::Int(vec![i64::MIN, i64::MIN]));
    assert_eq!(parsed.columns[2], Values::Int(vec![18_292, i64::MIN]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_decimals(
        rows in prop::collection::vec((any::<i32>(), 0usize..7, 0usize..14, any::<bool>()), 1..40),
        uniform in any::<bool>(),
    ) {
        let mut text = String::new();
        for (value, places, width, left) in &rows {
            let (places, width, left) = if uniform { (rows[0].1, rows[0].2, rows[0].3) } else { (*places, *width, *left) };
            let number = f64::from(*value) / 10f64.powi(places as i32);
            let cell = format!("{number:.places$}");
            text += &if left { format!("{cell:<width$},x\n") } else { format!("{cell:>width$},x\n") };
        }
        let (count, escaped) = check(&delimited(text.as_bytes()), text.as_bytes());
        prop_assert_eq!(count as usize, rows.len());
        if uniform && rows[0].1 == 0 {
            prop_assert_eq!(escaped, 0);
        }
    }

    #[test]
    fn any_bytes_by_any_format(sample in "[ -~\n]{0,80}", text in prop::collection::vec(
        prop::sample::select(b"0123456789.,-+\"eE \n\r\0xT:AaPpMm/".to_vec()), 0..300)) {
        check(&delimited(sample.as_bytes()), &text);
        check(&spanning(sample.as_bytes()), &text);
        let columns = columns(&[sample.as_bytes()], b' ');
        let layout = Layout::Delimited { separator: ' ', quotes: true, multiline: true };
        if !columns.is_empty() {
            check(&Format { layout, columns }, &text);
        }
    }

    #[test]
    fn any_times(
        seconds in prop::collection::vec(-62_000_000_000i64..250_000_000_000, 1..30),
        (year, clock) in (prop::sample::select(vec!["%m/%d/%Y", "%n/%e/%Y", "%d-%B-%Y", "%Y %b %d", "%Y%m%d", "%Y-%j"]),
            prop::sample::select(vec![" %I:%M:%S %p", " %l:%M:%S %P", ":%H:%M:%S", "T%H%M%SZ", " %k:%M:%S UTC"])),
        text in "([0-9]{1,4}[-/ :.TAaPpMmJjNnZ]{0,2}){0,9}\n",
    ) {
        let style = TimeStyle { pattern: format!("{year}{clock}") };
        let mut column = columns(&[b"x\n"], b',').remove(0);
        column.style = Style::Time(style.clone());
        let layout = Layout::Delimited { separator: ',', quotes: true, multiline: true };
        let format = Format { layout, columns: vec![column] };
        let mut rows = Vec::new();
        for tick in &seconds {
            prop_assert!(style.print(*tick, &mut rows));
            rows.push(b'\n');
        }
        prop_assert_eq!(check(&format, &rows), (seconds.len() as u32, 0));
        prop_assert_eq!(&parse(&format, &rows, true).unwrap().columns[0], &Values::Int(seconds));
        check(&format, text.as_bytes());
        check(&delimited(&rows), &[rows.as_slice(), text.as_bytes()].concat());
    }

    #[test]
    fn rows_of_one_length_are_what_they_are_alone(
        rows in prop::collection::vec((-99_999i32..99_999, -20i64..2_000, "[a-c ]{3}", 0usize..3), 20..200),
        damage in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"07 -.,\"x".to_vec())), 0..6),
        stray in any::<prop::sample::Index>(),
        fixed in any::<bool>(),
    ) {
        let mut lines: Vec<Vec<u8>> = Vec::new();
        for (number, whole, word, times) in &rows {
            let line = format!("\"{word}\",{:>10.3},{whole:>6},{:>20.5}\r\n", f64::from(*number) / 1e3, f64::from(*number));
            lines.extend(std::iter::repeat_n(line.into_bytes(), times + 1));
        }
        let sample = lines.concat();
        let format = if fixed { fixed_like(&lines) } else { delimited(&sample) };
        prop_assert_eq!(check(&format, &sample), (lines.len() as u32, 0));
        for (which, byte) in damage {
            let line = which.index(lines.len());
            let at = which.index(lines[line].len() - 2);
            lines[line][at] = byte;
        }
        let at = stray.index(lines.len());
        lines.insert(at, b"12,,\n".to_vec());
        let text = lines.concat();
        check(&format, &text);
        let mut alone: Option<Vec<Values>> = None;
        for line in &lines {
            let one = parse(&format, line, true).unwrap().columns;
            alone = Some(match alone {
                Some(all) => all.into_iter().zip(one).map(join).collect(),
                None => one,
            });
        }
        let together = parse(&format, &text, true).unwrap().columns;
        prop_assert_eq!(format!("{:?}", alone.unwrap()), format!("{together:?}")); // `Debug` compares NaN as equal
    }

    #[test]
    fn rows_are_what_they_are_alone(lines in prop::collection::vec("[ab\",]{0,7}", 1..30)) {
        let format = delimited(b"a,b,c\nb,\"a\",a\n");
        let text = lines.join("\n") + "\n";
        let together = parse(&format, text.as_bytes(), true).unwrap();
        check(&format, text.as_bytes());
        let mut alone: Option<Vec<Values>> = None;
        for line in &lines {
            let one = parse(&format, (line.clone() + "\n").as_bytes(), true).unwrap().columns;
            alone = Some(alone.map_or_else(|| one.clone(), |all| all.into_iter().zip(one.clone()).map(join).collect()));
        }
        prop_assert_eq!(alone.unwrap(), together.columns);
    }

    #[test]
    fn damaged_escapes_never_panic(mut stored in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..200) {
        let _ = Escapes::decode(&stored);
        if let Some(byte) = stored.get_mut(at) { *byte ^= 0x55; }
        let _ = Escapes::decode(&stored);
    }
}

#[test]
fn quotes_around_some_dates_leave_them_their_values() {
    let bare = b"2001-01-01,FFA0\n".repeat(40);
    let quoted = b"\"2001-01-01\",\"FFA0\"\n\"2001-01-01 \",x\n";
    let mut format = delimited(&bare);
    format.columns[1].style = Style::Hex(4);
    format.columns[1].size = 64;
    let parsed = parse(&format, quoted, true).unwrap();
    let ints = |values: &Values| match values {
        Values::Int(found) => found.clone(),
        other => panic!("no whole numbers: {other:?}"),
    };
    assert_eq!(ints(&parsed.columns[0]), [11323, 11323]);
    assert_eq!(ints(&parsed.columns[1]), [0xFFA0, i64::MIN]);
    check(&format, &[bare.as_slice(), quoted].concat());
}

#[test]
fn cells_counted_in_characters_come_back() {
    let widened = |name: &str| format!("{name}{}", " ".repeat(14 - name.len())).into_bytes();
    let names: Vec<Vec<u8>> = ["Þórshöfn", "Höfn", "x"].map(widened).to_vec();
    let samples: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    let columns = vec![
        infer_style("name", &samples, Hint::Words, true, None, b','),
        infer_style("x", &[b"   1.50", b"  12.25"], Hint::Number, true, None, b','),
    ];
    let template = format!("{}\n", " ".repeat(21)).into_bytes();
    let characters = vec![(10, 14), (7, 7)];
    let layout = Layout::Fixed { template, cells: vec![(0, 14), (14, 7)], trimmed: true, characters };
    let format = Format { layout, columns };
    let rows = ["Þórshöfn     1.50", "Höfn        12.25", "x            3.75", "Ísafjörður   4.25", "Höfn      "];
    let lines = ["", "# comment", "Þórshöfnin og    1.50", "                 9.99", "\u{1a}"];
    for end in ["", "\n"] {
        let text = format!("{}\n{}{end}", rows.join("\n"), lines.join("\n"));
        let parsed = parse_checked(&format, text.as_bytes(), true).unwrap();
        assert_eq!((parsed.escapes.rows, parsed.used), (5, text.len()), "{:?}", parsed.escapes.lines);
        let views: Vec<View<'_>> = parsed.columns.iter().map(Values::view).collect();
        assert_eq!(views[0].text(3), "Ísafjörður".as_bytes());
        assert_eq!(print(&format, &views, &parsed.escapes).unwrap().concat(), text.as_bytes());
    }
}
