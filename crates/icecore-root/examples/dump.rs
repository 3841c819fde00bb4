//! Writes the content of a ROOT file to a directory: `index.json`, and the values of each branch and column.
//!
//! `tools/compare_root.py` compares it with uproot. With `--open`, prints the time to open each tree instead.

use std::path::{Path, PathBuf};
use std::time::Instant;

use icecore_grid::{Error, ErrorKind, Result};
use icecore_root::ntuple::NTuple;
use icecore_root::{Branch, File, Interpretation, Tree};
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

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| Error::new(ErrorKind::Io, format!("{}: {e}", path.display())))
}

fn time(path: &Path) -> Result<()> {
    let bytes = read(path)?;
    for _ in 0..5 {
        let copy = bytes.clone();
        let start = Instant::now();
        let file = File::open(copy)?;
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
    let file = File::open(read(path)?)?;
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

fn tree_values(file: &File<Vec<u8>>, tree: &Tree, key: &str, folder: &Path, written: &mut usize) -> Value {
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
        Interpretation::Nested => json!({"kind": "nested"}),
        Interpretation::String { skip } => json!({"kind": "string", "skip": skip}),
        Interpretation::Unsupported(name) => json!({"kind": "unsupported", "type": name}),
        _ => json!({"kind": "group"}),
    };
    let mut out = about;
    out["path"] = json!(branch.path);
    out["title"] = json!(branch.title);
    out["baskets"] = json!(branch.baskets.len());
    let parts = branch.form.iter().flat_map(|form| form.column().parts());
    out["parts"] = json!(parts.map(|p| json!([p.path, format!("{:?}", p.kind)])).collect::<Vec<_>>());
    out["embedded"] = json!(branch.embedded.len());
    out["class"] = json!([branch.class_name, branch.parent_class, branch.clones_class]);
    out["types"] = json!([branch.element_type, branch.streamer_type]);
    out["leaves"] = json!(branch.leaves.iter().map(|l| json!([l.class, l.title, l.len, l.code])).collect::<Vec<_>>());
    out
}

/// Content, and counts if the entries have different lengths.
fn values(file: &File<Vec<u8>>, tree: &Tree, branch: &Branch) -> Result<Vec<Vec<u8>>> {
    if branch.form.is_some() {
        let parts = file.columns(tree, branch)?.parts();
        return Ok(parts
            .into_iter()
            .flat_map(|p| [p.bytes, p.lengths.iter().flat_map(|n| n.to_le_bytes()).collect()])
            .collect());
    }
    let members = match &branch.interpretation {
        Interpretation::Group | Interpretation::Unsupported(_) => return Ok(Vec::new()),
        Interpretation::Record { fields, .. } => fields.len(),
        _ => 1,
    };
    let mut parts = Vec::new();
    for member in 0..members {
        let read = file.values(tree, branch, member)?;
        parts.push(read.content);
        parts.extend(read.counts.map(|counts| counts.iter().flat_map(|n| n.to_le_bytes()).collect()));
    }
    Ok(parts)
}

fn ntuple_values(file: &File<Vec<u8>>, ntuple: &NTuple, key: &str, folder: &Path, written: &mut usize) -> Value {
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
