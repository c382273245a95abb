//! `trueline specs`, `models`, `objects`, `formats` and `algorithms`: what is built in, one line
//! each, or one in detail.

use std::fmt::Write;

use anyhow::bail;
use serde_json::json;
use trueline::Algorithm;
use trueline::formats::Format;
use trueline::spec;
use trueline_model::library;
use trueline_objects::simulate::{self, Standing};
use trueline_report::SCHEMA;

use crate::args::ListArgs;
use crate::exit::Exit;
use crate::output::Output;

/// Something that is built in.
struct Entry {
    name: &'static str,
    aliases: &'static [&'static str],
    summary: String,
    detail: String,
    json: serde_json::Value,
}

pub(crate) fn specs(args: &ListArgs) -> anyhow::Result<Exit> {
    let entries = spec::all().iter().map(|info| {
        let mut detail = format!("{}: {}\n", info.name, info.summary);
        if !info.parameters.is_empty() {
            let _ = writeln!(detail, "\nparameters: {}", info.parameters);
        }
        if !info.aliases.is_empty() {
            let _ = writeln!(detail, "\nalso called: {}", info.aliases.join(", "));
        }
        detail += "\nmethods:\n";
        for method in info.methods {
            let _ = writeln!(detail, "  {method}");
        }
        let json = json!({
            "schema": SCHEMA, "spec": info.name, "aliases": info.aliases, "parameters": info.parameters,
            "methods": info.methods, "summary": info.summary,
        });
        Entry { name: info.name, aliases: info.aliases, summary: info.summary.into(), detail, json }
    });
    show("specification", entries.collect(), args)
}

pub(crate) fn models(args: &ListArgs) -> anyhow::Result<Exit> {
    let entries = library::ALL.iter().map(|model| {
        let json = json!({ "schema": SCHEMA, "model": model.name, "summary": model.summary(), "source": model.source });
        let (summary, detail) = (model.summary(), model.source.to_string());
        Entry { name: model.name, aliases: &[], summary, detail, json }
    });
    show("model", entries.collect(), args)
}

pub(crate) fn objects(args: &ListArgs) -> anyhow::Result<Exit> {
    let entries = simulate::all().map(|entry| {
        let (standing, other, shown_by) = match entry.standing {
            Standing::Correct => ("correct", None, None),
            Standing::Flawed { repaired, shown_by } => ("flawed", Some(repaired), Some(shown_by)),
            Standing::Mutant { of, shown_by, .. } => ("mutant", Some(of), Some(shown_by)),
        };
        let mut detail = format!("{}: {}\n\n", entry.name, entry.summary);
        let mut say = |what: &str, text: &str| {
            let _ = writeln!(detail, "{what:15}{text}");
        };
        match (standing, other) {
            ("flawed", Some(repaired)) => say("standing", &format!("as published, not linearizable; {repaired} is")),
            ("mutant", Some(of)) => say("standing", &format!("broken on purpose: a mutant of {of}")),
            _ => say("standing", "correct"),
        }
        let note = if entry.note.is_empty() { String::new() } else { format!("; {}", entry.note) };
        say("specification", &format!("{}{note}", entry.spec));
        say("operations", &entry.operations().join(" "));
        say("generated calls", &format!("{}, unless given", entry.alphabet));
        say("progress", entry.progress);
        say("source", entry.source);
        if let Some(program) = shown_by {
            say("shown by", program);
        }
        let json = json!({
            "schema": SCHEMA, "object": entry.name, "summary": entry.summary, "standing": standing, "see": other,
            "spec": entry.spec, "note": entry.note, "methods": entry.methods(),
            "operations": entry.operations(), "progress": entry.progress,
            "source": entry.source, "shown_by": shown_by,
        });
        let mark = match standing {
            "correct" => "",
            "flawed" => "flawed: ",
            _ => "mutant: ",
        };
        let summary = format!("{mark}{}", entry.summary);
        Entry { name: entry.name, aliases: &[], summary, detail, json }
    });
    show("object", entries.collect(), args)
}

pub(crate) fn formats(args: &ListArgs) -> anyhow::Result<Exit> {
    let entries = Format::ALL.iter().map(|format| {
        let name = format.name();
        let written = if format.writable() { "read and written" } else { "read" };
        let mut detail = format!("{name}: {} ({written})\n\n", format.summary());
        for line in format.example().lines() {
            let _ = writeln!(detail, "  {line}");
        }
        let json = json!({
            "schema": SCHEMA, "format": name, "summary": format.summary(),
            "writable": format.writable(), "example": format.example(),
        });
        let summary = format!("{} ({written})", format.summary());
        Entry { name, aliases: format.aliases(), summary, detail, json }
    });
    show("format", entries.collect(), args)
}

pub(crate) fn algorithms(args: &ListArgs) -> anyhow::Result<Exit> {
    let entries = Algorithm::ALL.iter().map(|&(_, name, summary)| {
        let json = json!({ "schema": SCHEMA, "algorithm": name, "summary": summary });
        let detail = format!("{name}: {summary}\n");
        Entry { name, aliases: &[], summary: summary.into(), detail, json }
    });
    show("algorithm", entries.collect(), args)
}

fn show(kind: &str, mut entries: Vec<Entry>, args: &ListArgs) -> anyhow::Result<Exit> {
    if let Some(wanted) = &args.name {
        let names: Vec<&str> = entries.iter().map(|e| e.name).collect();
        entries.retain(|e| e.name == wanted || e.aliases.contains(&wanted.as_str()));
        if entries.is_empty() {
            bail!("no {kind} is called {wanted}: expected one of {}", names.join(", "));
        }
    }
    let widest = entries.iter().map(|e| e.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for entry in &entries {
        if args.json {
            let _ = writeln!(text, "{}", entry.json);
        } else if args.name.is_some() {
            text += &entry.detail;
        } else {
            let _ = writeln!(text, "{:widest$}  {}", entry.name, entry.summary);
        }
    }
    Output::new().show(&text, Exit::Holds)?;
    Ok(Exit::Holds)
}
