//! The table that lists the corpus. Wrong tables are the business of `trueline corpus`: here they
//! end it.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use trueline::formats::{Keys, ReadOptions};

/// One history of the corpus.
pub(super) struct Row {
    pub(super) path: String,
    pub(super) options: ReadOptions,
    pub(super) spec: String,
    /// `linearizable`, `violation`, or nothing where none is stated.
    pub(super) verdict: Option<String>,
}

/// The rows by group, in order of first appearance. A group is the first two folders and the
/// specification.
pub(super) fn groups(file: &Path) -> anyhow::Result<Vec<(String, Vec<Row>)>> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let mut groups: Vec<(String, Vec<Row>)> = Vec::new();
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let cells: Vec<&str> = line.split('\t').collect();
        let cell = |name: &str| {
            let column = header.iter().position(|h| *h == name);
            let cell = column.and_then(|c| cells.get(c)).map(|c| c.trim().to_string());
            cell.with_context(|| format!("{}: no {name} in {line:?}", file.display()))
        };
        let (path, spec) = (cell("path")?, cell("spec")?);
        let keys = match cell("independent_keys")?.as_str() {
            "" => Keys::Auto,
            "yes" => Keys::Yes,
            "no" => Keys::No,
            other => bail!("{}: found independent_keys {other}", file.display()),
        };
        let options = ReadOptions { format: Some(cell("format")?.parse()?), keys };
        let verdict = Some(cell("verdict")?).filter(|v| !v.is_empty());
        let mut folders: Vec<&str> = path.split('/').collect();
        folders.pop();
        folders.truncate(2);
        let name = format!("{} {spec}", folders.join("/"));
        let place = groups.iter().position(|g| g.0 == name).unwrap_or_else(|| {
            groups.push((name, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(Row { path, options, spec, verdict });
    }
    Ok(groups)
}
