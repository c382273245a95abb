//! The command line that reproduces a report.

use std::time::Duration;

/// A command line under construction, quoted for a shell.
pub(crate) struct Again(String);

impl Again {
    pub(crate) fn new(command: &str) -> Again {
        Again(format!("trueline {command}"))
    }

    /// Adds a flag with its value.
    pub(crate) fn flag(mut self, name: &str, value: impl AsRef<str>) -> Again {
        self.0 += &format!(" --{name} {}", quote(value.as_ref()));
        self
    }

    /// Adds a flag without a value.
    pub(crate) fn switch(mut self, name: &str) -> Again {
        self.0 += &format!(" --{name}");
        self
    }

    /// Adds a flag if it has a value.
    pub(crate) fn maybe(self, name: &str, value: Option<impl AsRef<str>>) -> Again {
        match value {
            Some(value) => self.flag(name, value),
            None => self,
        }
    }

    /// Ends with a file.
    pub(crate) fn file(self, file: &str) -> String {
        let end = if file.starts_with('-') && file != "-" { " --" } else { "" };
        self.0 + end + " " + &quote(file)
    }

    /// Ends with files.
    pub(crate) fn files(self, files: impl Iterator<Item = String>) -> String {
        let quoted: Vec<String> = files.map(|file| quote(&file)).collect();
        let end = if quoted.iter().any(|file| file.starts_with('-')) { " -- " } else { " " };
        self.0 + end + &quoted.join(" ")
    }
}

/// A duration as `--timeout` reads it.
pub(crate) fn time(time: Duration) -> String {
    let ms = time.as_millis();
    if ms.is_multiple_of(1000) { format!("{}s", ms / 1000) } else { format!("{ms}ms") }
}

fn quote(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_string()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_read_otherwise_is_quoted() {
        let again =
            Again::new("check").flag("spec", "queue:init=[1 2]").maybe("format", None::<&str>);
        assert_eq!(
            again.file("it's.edn"),
            r"trueline check --spec 'queue:init=[1 2]' 'it'\''s.edn'"
        );
        assert_eq!(Again::new("check").file("--x"), "trueline check -- --x");
        assert_eq!(time(Duration::from_millis(1500)), "1500ms");
    }
}
