//! The table that lists the histories of a corpus.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use crate::args::Keys;

/// One history. Format and specification are still texts, so that a wrong one spoils only its row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) path: String,
    pub(super) format: String,
    pub(super) spec: String,
    pub(super) keys: Keys,
    /// `linearizable`, `violation`, or nothing where none is stated.
    pub(super) verdict: Option<String>,
}

impl Row {
    /// The first folders and the specification: `jepsen/knossos cas-register`.
    pub(super) fn group(&self) -> String {
        let parts: Vec<&str> = self.path.split('/').collect();
        let folders = &parts[..parts.len().saturating_sub(1).min(2)];
        format!("{} {}", folders.join("/"), self.spec).trim().to_string()
    }
}

/// Reads a manifest: tabs between the columns, whose names stand in the first line.
pub(super) fn read(file: &Path) -> anyhow::Result<Vec<Row>> {
    let name = file.display();
    let bytes = fs::read(file).with_context(|| name.to_string())?;
    let text = String::from_utf8(bytes).map_err(|e| {
        anyhow::anyhow!("{name}: found bytes that are not UTF-8: {}", e.utf8_error())
    })?;
    parse(&text, &name.to_string())
}

fn parse(text: &str, name: &str) -> anyhow::Result<Vec<Row>> {
    let mut lines = text.lines().enumerate();
    let Some((_, header)) = lines.next() else {
        bail!("{name}: the manifest is empty: expected a header line with path, format and spec");
    };
    let columns: Vec<&str> =
        header.trim_start_matches('\u{feff}').split('\t').map(str::trim).collect();
    let column = |wanted: &str| columns.iter().position(|c| *c == wanted);
    let needed = |wanted: &str| {
        column(wanted).with_context(|| {
            format!(
                "{name}:1:1: found the columns {}: expected one called {wanted}",
                columns.join(", ")
            )
        })
    };
    let (path, format, spec) = (needed("path")?, needed("format")?, needed("spec")?);
    let (keys, verdict) = (column("independent_keys"), column("verdict"));
    let mut rows = Vec::new();
    for (n, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
        let cell = |column: Option<usize>| column.and_then(|c| cells.get(c)).copied().unwrap_or("");
        let at = format!("{name}:{}:1", n + 1);
        if cell(Some(path)).is_empty() {
            bail!("{at}: found a row without a path");
        }
        let keys = match cell(keys) {
            "" => Keys::Auto,
            "yes" => Keys::Yes,
            "no" => Keys::No,
            other => bail!("{at}: found independent_keys {other}: expected yes or no"),
        };
        let verdict = match cell(verdict) {
            "" => None,
            known @ ("linearizable" | "violation") => Some(known.to_string()),
            other => bail!(
                "{at}: found the verdict {other}: expected linearizable, violation or nothing"
            ),
        };
        let [path, format, spec] = [path, format, spec].map(|c| cell(Some(c)).to_string());
        rows.push(Row { path, format, spec, keys, verdict });
    }
    // A manifest that lost its rows must not pass.
    if rows.is_empty() {
        bail!("{name}: the manifest has no rows: expected one a history");
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name() {
        let rows =
            parse("spec\tpath\tformat\tverdict\nqueue\ta/b/c/d\tedn\tviolation\n\n", "m").unwrap();
        assert_eq!((rows.len(), rows[0].group().as_str()), (1, "a/b queue"));
        assert_eq!(rows[0].verdict.as_deref(), Some("violation"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let wrong = |text| parse(text, "m").unwrap_err().to_string();
        assert_eq!(
            wrong("path\tspec\n"),
            "m:1:1: found the columns path, spec: expected one called format"
        );
        assert_eq!(
            wrong("path\tformat\tspec\n\n"),
            "m: the manifest has no rows: expected one a history"
        );
        assert_eq!(
            wrong("path\tformat\tspec\tverdict\nx\tedn\tqueue\tmaybe\n"),
            "m:2:1: found the verdict maybe: expected linearizable, violation or nothing"
        );
    }
}
