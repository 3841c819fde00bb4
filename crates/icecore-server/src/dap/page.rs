//! Pages for people: `.html` lists the variables with links to their elements, `.info` shows the documents.

use std::fmt::Write;

use super::das::{das, left_out};
use super::dds::{dds, identifier};
use super::model::{Dataset, Variable};
use super::project::Item;

/// The list of variables.
pub(super) fn html(dataset: &Dataset) -> String {
    let name = escaped(dataset.name.trim_start_matches('/'));
    let base = escaped(&crate::http::percent::encoded(dataset.name.rsplit('/').next().unwrap_or_default()));
    let mut out = begin(&name);
    let _ = write!(
        out,
        "<p>Open this address without <code>.html</code> in any program that reads OPeNDAP. Documents: \
         <a href=\"{base}.dds\">DDS</a>, <a href=\"{base}.das\">DAS</a>, <a href=\"{base}.dmr\">DMR</a>, \
         <a href=\"{base}.info\">info</a>.</p>\n<table><tr><th>variable</th><th>type</th><th>axes</th><th>values</th></tr>\n"
    );
    let mut open = vec![(0, String::new(), String::new())];
    while let Some((number, path, shown)) = open.pop() {
        for (_, variable) in dataset.variables_of(number) {
            row(variable, &base, &path, &shown, &mut out);
        }
        let inner = dataset.group(number).into_iter().flat_map(|group| group.groups.iter().rev());
        open.extend(inner.filter_map(|each| {
            let name = &dataset.group(*each)?.name;
            Some((*each, format!("{path}{}.", identifier(name)), format!("{shown}{name}/")))
        }));
    }
    out.push_str("</table>\n");
    let left_out = left_out(dataset);
    if !left_out.is_empty() {
        out.push_str("<h2>Not served by DAP2</h2>\n<ul>\n");
        for (name, why) in left_out {
            let _ = writeln!(out, "<li><code>{}</code>: {}</li>", escaped(&name), escaped(why));
        }
        out.push_str("</ul>\n");
    }
    out.push_str("</body></html>\n");
    out
}

fn row(variable: &Variable, base: &str, path: &str, shown: &str, out: &mut String) {
    let mut axes = String::new();
    for axis in &variable.axes {
        let name = axis.name.as_ref().map(|name| format!("{name}=")).unwrap_or_default();
        let _ = write!(axes, "[{name}{}]", axis.length);
    }
    // The escapes of identifiers are escaped once more in a URL.
    let constraint = format!("{path}{}", identifier(&variable.name)).replace('%', "%25");
    let links = match variable.kind2 {
        Some(_) => {
            format!("<a href=\"{base}.ascii?{constraint}\">ascii</a> <a href=\"{base}.dods?{constraint}\">dods</a>")
        }
        None => "DAP4 only".to_owned(),
    };
    let name = escaped(&format!("{shown}{}", variable.name));
    let _ = writeln!(
        out,
        "<tr><td>{name}</td><td>{}</td><td>{}</td><td>{links}</td></tr>",
        variable.kind.dap4(),
        escaped(&axes)
    );
}

/// Declarations and attributes as one page.
pub(super) fn info(dataset: &Dataset, items: &[Item]) -> String {
    let mut out = begin(&escaped(dataset.name.trim_start_matches('/')));
    let (variables, attributes) = (dds(dataset, items), das(dataset));
    let _ = write!(
        out,
        "<h2>Variables</h2>\n<pre>{}</pre>\n<h2>Attributes</h2>\n<pre>{}</pre>\n</body></html>\n",
        escaped(&variables),
        escaped(&attributes)
    );
    out
}

fn begin(name: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{name}</title></head>\n<body><h1>{name}</h1>\n"
    )
}

/// A text in HTML or XML, also as an attribute's value.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Line ends of attribute values become spaces unless they are escaped.
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\t' => out.push_str("&#9;"),
            // XML has no way to write them.
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
