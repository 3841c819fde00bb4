//! Writes what the crate reads from a ROOT file to a folder: `index.json`, and the values of each branch and column.
//!
//! `tools/compare_root.py` compares it with uproot. With `--open`, prints how long opening each tree takes instead.

use std::path::{Path, PathBuf};
use std::time::Instant;

use icecore_grid::Result;
use icecore_root::ntuple::NTuple;
use icecore_root::{Branch, Expander, File, Interpretation, LocalFile, Tree};
use serde_json::{Value, json};

fn main() {
    let mut args = std::env::args().skip(1);
    let path = PathBuf::from(args.next().unwrap_or_default());
    let done = match args.next() {
        Some(flag) if flag == "--open" => time(&path),
        Some(folder) => dump(&path, Path::new(&folder)),
        None => {
            eprintln!("usage: dump FILE.root FOLDER | FILE.root --open");
            std::process::exit(2);
        }
    };
    if let Err(error) = done {
        eprintln!("error[{}]: {}", error.kind, error);
        std::process::exit(1);
    }
}

fn time(path: &Path) -> Result<()> {
    for _ in 0..5 {
        let start = Instant::now();
        let file = File::open(LocalFile::open(path)?)?;
        let opened = start.elapsed();
        let (mut branches, mut fields) = (0, 0);
        for key in file.keys() {
            if key.is_tree() {
                branches += file.tree(key)?.branches.len();
            } else if key.is_ntuple() {
                fields += file.ntuple(key)?.fields.len();
            }
        }
        println!("keys {:?}, all {:?}: {branches} branches, {fields} fields", opened, start.elapsed());
    }
    Ok(())
}

fn dump(path: &Path, folder: &Path) -> Result<()> {
    let file = File::open(LocalFile::open(path)?)?;
    let (mut trees, mut ntuples, mut written) = (Vec::new(), Vec::new(), 0);
    for key in file.keys() {
        let name = format!("{};{}", key.path, key.cycle);
        if key.is_tree() {
            trees.push(match file.tree(key) {
                Ok(tree) => tree_values(&file, &tree, &name, folder, &mut written),
                Err(error) => json!({"key": name, "error": error.to_string()}),
            });
        } else if key.is_ntuple() {
            ntuples.push(match file.ntuple(key) {
                Ok(ntuple) => ntuple_values(&file, &ntuple, &name, folder, &mut written),
                Err(error) => json!({"key": name, "error": error.to_string()}),
            });
        }
    }
    let keys: Vec<_> = file.keys().iter().map(|k| json!([format!("{};{}", k.path, k.cycle), k.class])).collect();
    let index = json!({"keys": keys, "trees": trees, "ntuples": ntuples});
    save(folder, "index.json", index.to_string().as_bytes());
    Ok(())
}

fn save(folder: &Path, name: &str, bytes: &[u8]) {
    if let Err(error) = std::fs::write(folder.join(name), bytes) {
        eprintln!("{name}: {error}");
        std::process::exit(1);
    }
}

fn tree_values(file: &File<LocalFile>, tree: &Tree, key: &str, folder: &Path, written: &mut usize) -> Value {
    let mut branches = Vec::new();
    for branch in &tree.branches {
        let mut entry = describe(branch);
        match values(file, tree, branch) {
            Ok(parts) => {
                let mut names = Vec::new();
                for part in parts {
                    let name = format!("{written}.bin");
                    *written += 1;
                    save(folder, &name, &part);
                    names.push(name);
                }
                entry["values"] = json!(names);
            }
            Err(error) => entry["error"] = json!(error.to_string()),
        }
        branches.push(entry);
    }
    json!({"key": key, "entries": tree.entries, "branches": branches})
}

fn describe(branch: &Branch) -> Value {
    let about = match &branch.interpretation {
        Interpretation::Flat { dtype, shape } => json!({"kind": "flat", "dtype": dtype.name(), "shape": shape}),
        Interpretation::Record { fields, .. } => {
            let fields: Vec<_> = fields.iter().map(|f| json!([f.name, f.dtype.name(), f.shape])).collect();
            json!({"kind": "record", "fields": fields})
        }
        Interpretation::Jagged { dtype, inner_shape, skip, counter } => {
            json!({"kind": "jagged", "dtype": dtype.name(), "shape": inner_shape, "skip": skip, "counter": counter})
        }
        Interpretation::String { skip } => json!({"kind": "string", "skip": skip}),
        Interpretation::Unsupported(name) => json!({"kind": "unsupported", "type": name}),
        _ => json!({"kind": "group"}),
    };
    let mut out = about;
    out["path"] = json!(branch.path);
    out["title"] = json!(branch.title);
    out["baskets"] = json!(branch.baskets.len());
    out["embedded"] = json!(branch.embedded.len());
    out
}

/// Content, and counts where the entries are of different lengths.
fn values(file: &File<LocalFile>, tree: &Tree, branch: &Branch) -> Result<Vec<Vec<u8>>> {
    let mut expander = Expander::default();
    let number = branch.baskets.len() + branch.embedded.len();
    let mut baskets = Vec::new();
    if !matches!(branch.interpretation, Interpretation::Group | Interpretation::Unsupported(_)) {
        for n in 0..number {
            baskets.push(file.basket(branch, n, &mut expander)?);
        }
    }
    match &branch.interpretation {
        Interpretation::Flat { dtype, shape } => {
            let size = dtype.size() * shape.iter().product::<u64>() as usize;
            let mut out = Vec::new();
            for basket in &baskets {
                let start = out.len();
                out.resize(start + basket.entries * size, 0);
                basket.numbers(*dtype, &mut out[start..])?;
            }
            Ok(vec![out])
        }
        Interpretation::Record { fields, size } => fields
            .iter()
            .map(|field| {
                let len = field.dtype.size() * field.shape.iter().product::<u64>() as usize;
                let mut out = Vec::new();
                for basket in &baskets {
                    let start = out.len();
                    out.resize(start + basket.entries * len, 0);
                    basket.member(field.dtype, *size, field.start, len, &mut out[start..])?;
                }
                Ok(out)
            })
            .collect(),
        Interpretation::Jagged { dtype, inner_shape, skip, counter } => {
            let element = dtype.size() * inner_shape.iter().product::<u64>() as usize;
            let (mut content, mut counts) = (Vec::new(), Vec::new());
            let mut seen = 0;
            for basket in &baskets {
                basket.elements(*dtype, *skip, element, &mut content)?;
                let counted = match counter {
                    Some(counter) if !basket.has_offsets() => {
                        let all = counter_values(file, tree, counter)?;
                        basket.counts_from(all.get(seen..seen + basket.entries).unwrap_or_default(), element)?
                    }
                    _ => basket.counts(*skip, element)?,
                };
                seen += basket.entries;
                counts.extend(counted);
            }
            Ok(vec![content, bytes(&counts)])
        }
        Interpretation::String { skip } => {
            let (mut text, mut lengths) = (Vec::new(), Vec::new());
            for basket in &baskets {
                basket.strings(*skip, &mut text, &mut lengths)?;
            }
            Ok(vec![text, bytes(&lengths)])
        }
        _ => Ok(Vec::new()),
    }
}

fn bytes(counts: &[u32]) -> Vec<u8> {
    counts.iter().flat_map(|n| n.to_le_bytes()).collect()
}

fn counter_values(file: &File<LocalFile>, tree: &Tree, path: &str) -> Result<Vec<u32>> {
    let Some(branch) = tree.branches.iter().find(|b| b.path == path) else { return Ok(Vec::new()) };
    let Interpretation::Flat { dtype, .. } = &branch.interpretation else { return Ok(Vec::new()) };
    let parts = values(file, tree, branch)?;
    let raw = parts.first().map(Vec::as_slice).unwrap_or_default();
    let integer = |b: &[u8]| b.iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b)) as u32;
    Ok(raw.chunks_exact(dtype.size()).map(integer).collect())
}

fn ntuple_values(file: &File<LocalFile>, ntuple: &NTuple, key: &str, folder: &Path, written: &mut usize) -> Value {
    let fields: Vec<_> = ntuple
        .fields
        .iter()
        .map(|f| json!({"path": f.path, "type": f.type_name, "role": format!("{:?}", f.role), "repetition": f.repetition}))
        .collect();
    let mut columns = Vec::new();
    for (id, column) in ntuple.columns.iter().enumerate() {
        let mut clusters = Vec::new();
        for (number, cluster) in ntuple.clusters.iter().enumerate() {
            let listed = cluster.columns.get(id);
            let first = listed.and_then(|l| l.first_element);
            let mut entry = json!({"first": first, "elements": listed.map(|l| l.elements)});
            if first.is_some() {
                match ntuple.read_column(file.source(), number, id) {
                    Ok(bytes) => {
                        let name = format!("{written}.bin");
                        *written += 1;
                        save(folder, &name, &bytes);
                        entry["values"] = json!(name);
                    }
                    Err(error) => entry["error"] = json!(error.to_string()),
                }
            }
            clusters.push(entry);
        }
        columns.push(json!({
            "field": column.field, "type": column.kind.name(), "bits": column.bits,
            "dtype": column.kind.dtype().map(icecore_root::DType::name),
            "representation": column.representation, "first": column.first_element, "clusters": clusters,
        }));
    }
    json!({"key": key, "entries": ntuple.entries, "fields": fields, "columns": columns})
}
