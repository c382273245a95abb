//! `--spec`: the name of a built-in specification, or a file that defines one.

use std::fs;
use std::sync::Arc;

use trueline::spec::{self, Named};
use trueline_model::Specification;

/// The extension of such files.
const ENDING: &str = ".tl";

/// Reads `queue:init=[1 2]`, `my-queue.tl` or `my-queue.tl:capacity=4`.
pub(crate) fn parse(text: &str) -> anyhow::Result<Arc<Named>> {
    match file_of(text) {
        Some((file, settings)) => from_file(text, file, settings).map(Arc::new),
        None => spec::named(text).map(Arc::new).map_err(anyhow::Error::msg),
    }
}

/// The file in the text, and the parameters after it.
fn file_of(text: &str) -> Option<(&str, &str)> {
    if text.ends_with(ENDING) {
        return Some((text, ""));
    }
    let end = text.find(".tl:")? + ENDING.len();
    Some((&text[..end], &text[end + 1..]))
}

fn from_file(text: &str, file: &str, settings: &str) -> anyhow::Result<Named> {
    let source = fs::read_to_string(file).map_err(|error| anyhow::anyhow!("{file}: {error}"))?;
    let wrong = |error: trueline_model::Diagnostic| {
        let (line, column) = error.span().line_column(&source);
        anyhow::anyhow!("{file}:{line}:{column}: {}", error.below(&source))
    };
    let mut specification = Specification::parse(&source).map_err(wrong)?;
    for setting in settings.split(',').filter(|setting| !setting.is_empty()) {
        let (name, value) = setting
            .split_once('=')
            .and_then(|(name, value)| Some((name.trim(), value.trim().parse().ok()?)))
            .ok_or_else(|| {
                anyhow::anyhow!("{file}: expected parameters such as capacity=4, found {setting}")
            })?;
        let set = specification.set(name, value);
        set.map_err(|error| anyhow::anyhow!("{file}: {error}"))?;
    }
    specification.named(text).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_from_names() {
        assert_eq!(file_of("queue:init=[1]"), None);
        assert_eq!(file_of("a/b.tl"), Some(("a/b.tl", "")));
        assert_eq!(file_of("b.tl:capacity=2"), Some(("b.tl", "capacity=2")));
    }
}
