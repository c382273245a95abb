//! Standard output and standard error. Nothing here panics when the other end goes away.

use std::fmt::Arguments;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use trueline_report::{Look, Report, clean, error_json};

use crate::args::{Color, OutputArgs};
use crate::exit::{Closed, Exit};

/// Standard output, buffered.
pub(crate) struct Output(BufWriter<StdoutLock<'static>>);

impl Output {
    pub(crate) fn new() -> Output {
        Output(BufWriter::with_capacity(1 << 16, io::stdout().lock()))
    }

    /// Writes the text and flushes it. `exit` is the exit code if the reader is gone.
    pub(crate) fn show(&mut self, text: &str, exit: Exit) -> anyhow::Result<()> {
        let written = self.0.write_all(text.as_bytes()).and_then(|()| self.0.flush());
        written.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Closed(exit).into(),
            _ => anyhow::Error::new(error).context("standard output"),
        })
    }

    /// Reports that an input cannot be used: to people on standard error, and to programs that read
    /// JSON as an object.
    pub(crate) fn refuse(
        &mut self,
        input: &str,
        message: &str,
        as_json: bool,
        exit: Exit,
    ) -> anyhow::Result<()> {
        // A diagnostic has several lines; each is escaped separately.
        message.lines().for_each(|line| complain(format_args!("{line}")));
        match as_json {
            true => self.show(&format!("{}\n", error_json(input, message)), exit),
            false => Ok(()),
        }
    }

    /// A writer for output in pieces. Flush it at the end.
    pub(crate) fn writer(&mut self) -> &mut impl Write {
        &mut self.0
    }
}

/// The report in the requested form: one JSON object, or text.
pub(crate) fn render(report: &Report, as_json: bool, args: &OutputArgs) -> String {
    if as_json {
        return format!("{}\n", report.json());
    }
    let look = Look {
        width: width(args.width.map(usize::from)),
        ascii: wants_ascii(args.ascii),
        quiet: args.quiet,
    };
    report.text(&look).render(wants_color(args.color))
}

/// Prints a line to standard error, with everything escaped that could confuse a terminal.
pub(crate) fn complain(message: Arguments) {
    let _ = writeln!(io::stderr().lock(), "{}", clean(&message.to_string()));
}

/// Whether to write colours: as the flag says, or if standard output is a terminal that wants them.
fn wants_color(color: Color) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
            io::stdout().is_terminal() && !set("NO_COLOR") && !dumb
        }
    }
}

/// Whether to draw in ASCII: as the flag says, or if the terminal's locale shows nothing else.
fn wants_ascii(ascii: bool) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let plain = locale.is_some_and(|l| !l.to_ascii_lowercase().replace('-', "").contains("utf8"));
    ascii || (plain && io::stdout().is_terminal())
}

/// Columns for a report: as the flag says, or the terminal's, or 80.
fn width(width: Option<usize>) -> usize {
    width.unwrap_or_else(|| {
        let terminal = || terminal_size::terminal_size_of(io::stdout());
        terminal().map_or(80, |(terminal_size::Width(columns), _)| usize::from(columns))
    })
}
