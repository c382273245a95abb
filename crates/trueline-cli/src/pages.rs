//! `--html`: the report as a page, or a folder of pages with an index.

use std::fs;
use std::path::{Path, PathBuf};

use trueline_report::{IndexRow, Report, index_page};

/// Where pages go, and which of them are written.
pub(crate) struct Pages {
    target: Option<PathBuf>,
    several: bool,
    rows: Vec<IndexRow>,
}

impl Pages {
    /// Pages go to this file, or, if there are several reports, into this folder.
    pub(crate) fn new(target: Option<&Path>, several: bool) -> Pages {
        Pages { target: target.map(Path::to_owned), several, rows: Vec::new() }
    }

    /// Whether a page was asked for.
    pub(crate) fn wanted(&self) -> bool {
        self.target.is_some()
    }

    /// From now on there are several reports: a page that was already written becomes the first of
    /// the folder.
    pub(crate) fn expect_several(&mut self) {
        self.several = true;
    }

    /// Writes the page of a report, which then names it. The error explains why it could not be
    /// written.
    pub(crate) fn add(&mut self, report: &mut Report) -> Result<(), String> {
        let Some(target) = &self.target else { return Ok(()) };
        let path = if self.several {
            fs::create_dir_all(target).map_err(|e| format!("--html: {}: {e}", target.display()))?;
            let file = format!("{}.html", self.rows.len() + 1);
            let (subject, words) = (report.subject.clone(), report.verdict.words().to_string());
            let summary = report.summary.clone();
            let (note, page) = (String::new(), Some(file.clone()));
            self.rows.push(IndexRow { subject, words, summary, note, file: page });
            write(&target.join("index.html"), &index_page("trueline", &self.rows))?;
            target.join(file)
        } else {
            target.clone()
        };
        write(&path, &report.page())?;
        report.page = Some(path.display().to_string());
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("--html: {}: {error}", path.display()))
}
