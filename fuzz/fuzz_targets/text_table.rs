//! Any text by any print format that is inferred from other text: what was parsed is printed again, byte for byte; and any
//! bytes as a format or as escapes: an error, or something that prints without a panic.
#![no_main]

use icecore_text::{Column, Escapes, Format, Hint, Layout, Values, View, cells_of, infer_style, parse, print};
use libfuzzer_sys::fuzz_target;

type Input<'a> = (u8, &'a [u8], &'a [u8]);

fn cells(sample: &[u8], separator: u8) -> Vec<Vec<&[u8]>> {
    let (mut rows, mut spans, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(end) = cells_of(sample, at, separator, None, &mut spans) {
        rows.push(spans.iter().map(|(a, b)| &sample[*a..*b]).collect());
        at = end;
    }
    rows
}

/// The format of delimited rows, or with `fixed` of rows as long as the first.
fn inferred(choices: u8, sample: &[u8]) -> Option<Format> {
    let separator = [b',', b'\t', b'|', b' '][usize::from(choices & 3)];
    let (multiline, fixed) = (choices & 4 != 0, choices & 8 != 0);
    let hint = [Hint::Any, Hint::Number, Hint::Hex, Hint::Words][usize::from(choices >> 4 & 3)];
    let mut rows = cells(sample, separator);
    let first: Vec<usize> = rows.first()?.iter().map(|cell| cell.len()).collect();
    rows.retain(|row| if fixed { row.iter().map(|c| c.len()).eq(first.iter().copied()) } else { row.len() == first.len() });
    let column = |i: usize| -> Column {
        let sample: Vec<&[u8]> = rows.iter().map(|row| row[i]).collect();
        infer_style(&format!("c{i}"), &sample, hint, fixed, None, separator)
    };
    let columns = (0..first.len()).map(column).collect();
    let layout = if fixed {
        let mut start = 0;
        let places = first.iter().map(|length| {
            let cell = (start, *length as u32);
            start += *length as u32 + 1;
            cell
        });
        let mut cells: Vec<(u32, u32)> = places.collect();
        // Bytes between the cells that belong to none, and now and then a column inside of the first.
        let between: Vec<(u32, u32)> = cells.iter().skip(1).map(|(start, _)| (*start - 1, 1)).collect();
        if choices & 128 != 0 {
            cells.extend(between);
        }
        Layout::Fixed { template: sample[..=sample.iter().position(|b| *b == b'\n')?].to_vec(), cells, trimmed: false }
    } else {
        Layout::Delimited { separator: char::from(separator), quotes: true, multiline }
    };
    Format::parse(&Format { layout, columns }.to_json()).ok()
}

fuzz_target!(|input: Input<'_>| {
    let (choices, sample, text) = input;
    if choices & 64 != 0 {
        let _any_format = std::str::from_utf8(sample).map(Format::parse);
        let _any_escapes = Escapes::decode(text);
    }
    let Some(format) = inferred(choices, sample) else { return };
    for text in [sample, text] {
        let parsed = parse(&format, text, true).expect("blocks are short");
        assert_eq!(parsed.used, text.len());
        let (escapes, _) = Escapes::decode(&parsed.escapes.encode()).expect("what was encoded");
        assert_eq!(escapes, parsed.escapes);
        let views: Vec<View<'_>> = parsed.columns.iter().map(Values::view).collect();
        let again = print(&format, &views, &escapes).expect("what was parsed").concat();
        assert!(again == text, "{:?} came back as {:?}", String::from_utf8_lossy(text), String::from_utf8_lossy(&again));
        // Escapes of another text may not fit, but they don't break anything.
        if let Ok((other, _)) = Escapes::decode(text) {
            let _fits_or_not = print(&format, &views, &other);
        }
    }
});
