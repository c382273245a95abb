//! A report as one HTML file that opens from disk.
//!
//! The file holds a style sheet, a script and the report as JSON. It fetches nothing, and its
//! security policy forbids it to. The script draws the JSON and decides nothing. **Text of the
//! report never becomes markup**: in the file it is JSON without `<`, on the page it is the text of
//! a node or of a canvas.

use serde_json::{Map, Value as Json, json};

use crate::document::Role;
use crate::graph::StateGraph;
use crate::lanes::Bar;
use crate::report::{Answer, Report, Section};
use crate::steps::{Layout, Steps};
use crate::timeline::Timeline;

const HTML: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
/// The parts of the script, which share one scope.
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("page/base.js"),
    include_str!("page/layout.js"),
    include_str!("page/picture.js"),
    include_str!("page/lanes.js"),
    include_str!("page/clash.js"),
    include_str!("page/orders.js"),
    include_str!("page/tables.js"),
    include_str!("page/steps.js"),
    include_str!("page/graph.js"),
    include_str!("page/page.js"),
    "})();\n"
);

impl Report {
    /// The report as one HTML file.
    pub fn page(&self) -> String {
        fill(&self.page_data(), SCRIPT)
    }

    fn page_data(&self) -> Json {
        let role = match self.verdict.role() {
            Role::Good => "good",
            Role::Bad => "bad",
            _ => "doubt",
        };
        let timeline = match &self.timeline {
            Some(timeline) => Some(timeline.json()),
            None => self.drawn(),
        };
        json!({
            "words": self.verdict.words(),
            "role": role,
            "subject": self.subject,
            "summary": self.summary,
            "reproduce": self.reproduce,
            "replay": self.replay,
            "sections": self.sections.iter().filter_map(section).collect::<Vec<Json>>(),
            "timeline": timeline,
            "graph": self.graph.as_ref().map(StateGraph::json),
            "fields": self.fields,
        })
    }
}

impl Report {
    /// The operations of a report without an input: the ones that its text draws, or those of a
    /// model's steps.
    fn drawn(&self) -> Option<Json> {
        let bars = self.sections.iter().find_map(|section| match section {
            Section::Operations(drawn) => Some(of_bars("thread", &drawn.lanes, &drawn.bars)),
            _ => None,
        });
        bars.or_else(|| {
            self.sections.iter().find_map(|section| match section {
                Section::Steps(steps) if steps.layout == Layout::Model => {
                    let mut bars = bars_of(steps);
                    if let (Answer::Violation(_), None, Some(last)) =
                        (&self.verdict, &steps.title, steps.steps.last())
                    {
                        // The last step is the one that is wrong.
                        let of_last = bars.iter_mut().rfind(|bar| bar.lane == last.lane);
                        of_last.into_iter().for_each(|bar| bar.clash = true);
                    }
                    Some(of_bars("process", &steps.lanes, &bars))
                }
                _ => None,
            })
        })
    }
}

/// The operations of steps: each spans the steps from its call to its return.
fn bars_of(steps: &Steps) -> Vec<Bar> {
    let mut bars: Vec<Bar> = Vec::new();
    for (number, step) in steps.steps.iter().enumerate() {
        let rank = 2 * number as u32;
        if let Some(call) = &step.call {
            // The steps give the line, so `16: push()` is shown as `push()`.
            let label = call.split_once(": ").map_or(&**call, |(_, call)| call);
            let (lane, label) = (step.lane, label.to_string());
            bars.push(Bar { lane, call: rank, end: None, label, clash: false });
        }
        let open = |bar: &&mut Bar| bar.lane == step.lane && bar.end.is_none();
        if let Some(returned) = &step.returned
            && let Some(bar) = bars.iter_mut().rfind(open)
        {
            bar.end = Some(rank + 1);
            match returned.strip_prefix("->") {
                Some(result) => bar.label += &format!(" ->{result}"),
                None => bar.label.clone_from(returned),
            }
        }
    }
    bars
}

/// A row of an index: a report and its page.
#[derive(Clone, Debug)]
pub struct IndexRow {
    /// What was checked.
    pub subject: String,
    /// The verdict in its headline.
    pub words: String,
    /// The rest of its headline.
    pub summary: String,
    /// An additional note: `passed: expected violation`.
    pub note: String,
    /// The file of its page, relative to the index, if it has a page.
    pub file: Option<String>,
}

/// A page with a table of reports.
pub fn index_page(title: &str, rows: &[IndexRow]) -> String {
    let row = |row: &IndexRow| json!([row.words, row.subject, row.summary, row.note, row.file]);
    let data = json!({"title": title, "rows": rows.iter().map(row).collect::<Vec<Json>>()});
    fill(&data, INDEX_SCRIPT)
}

const INDEX_SCRIPT: &str = include_str!("page/index.js");

/// The page with these data and this script.
fn fill(data: &Json, script: &str) -> String {
    let (head, rest) = HTML.split_once("/*STYLE*/").expect("a place for the style sheet");
    let (middle, rest) = rest.split_once("/*DATA*/").expect("a place for the report");
    let (before_script, end) = rest.split_once("/*SCRIPT*/").expect("a place for the script");
    let mut data = data.clone();
    shorten(&mut data);
    let data = escape(&data.to_string());
    [head, STYLE, middle, &data, before_script, script, end].concat()
}

/// Texts are cut to this many characters: a value may have millions.
const TEXT: usize = 20_000;

/// Cuts texts that are too long to be read.
fn shorten(data: &mut Json) {
    match data {
        Json::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(TEXT) {
                text.truncate(end);
                text.push('…');
            }
        }
        Json::Array(items) => items.iter_mut().for_each(shorten),
        Json::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

/// JSON that cannot end the element around it. Invisible characters, and those that change the
/// direction of the text around them, are escaped; in a JSON string an escape means the same as the
/// character.
fn escape(json: &str) -> String {
    let risky = |c: char| {
        matches!(c, '<' | '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{feff}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
    };
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if risky(c) {
            escaped += &format!("\\u{:04x}", c as u32);
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Operations that were drawn without an input file to link to.
fn of_bars(kind: &'static str, lanes: &[String], bars: &[Bar]) -> Json {
    let timeline = Timeline {
        kind,
        lanes: lanes.to_vec(),
        lane: bars.iter().map(|bar| bar.lane as u32).collect(),
        call: bars.iter().map(|bar| bar.call).collect(),
        end: bars.iter().map(|bar| bar.end).collect(),
        label: bars.iter().map(|bar| bar.label.clone()).collect(),
        line: vec![0; bars.len()],
        mark: bars.iter().map(|bar| if bar.clash { 2 } else { 0 }).collect(),
        part: vec![0; bars.len()],
        index: (0..bars.len() as u32).collect(),
        ..Timeline::default()
    };
    timeline.json()
}

fn section(section: &Section) -> Option<Json> {
    Some(match section {
        Section::Sentence { title, text, more } => {
            json!({"kind": "sentence", "title": title, "text": text, "more": more})
        }
        Section::Note(text) | Section::Paragraph(text) => json!({"kind": "text", "text": text}),
        Section::Line(role, text) => {
            let role = match role {
                Role::Good => "good",
                Role::Bad | Role::Clash => "bad",
                Role::Doubt => "doubt",
                Role::Dim => "soft",
                Role::Plain | Role::Strong => "",
            };
            json!({"kind": "text", "text": text, "role": role})
        }
        Section::Steps(steps) => steps_data(steps),
        Section::Quote { title, text } => json!({"kind": "quote", "title": title, "text": text}),
        // The drawing and the table of the page show these.
        Section::Operations(_) | Section::Order(_) => return None,
    })
}

fn steps_data(steps: &Steps) -> Json {
    let step = |step: &crate::Step| {
        let mut object = Map::new();
        let mut set = |name: &str, value: Json| object.insert(name.to_string(), value);
        set("lane", step.lane.into());
        set("did", step.did.clone().into());
        set("line", step.line.into());
        set("changed", step.changed.as_str().into());
        set("memory", json!(step.memory));
        set("from", json!(step.reads_from));
        for (name, text) in [
            ("call", &step.call),
            ("returned", &step.returned),
            ("file", &step.file),
            ("states", &step.states),
        ] {
            if let Some(text) = text {
                set(name, text.as_str().into());
            }
        }
        Json::Object(object)
    };
    json!({
        "kind": "steps",
        "title": steps.title,
        "layout": match steps.layout {
            Layout::Code => "code",
            Layout::Model => "model",
        },
        "lanes": steps.lanes,
        "cycle": steps.cycle,
        "initially": steps.initially,
        "race": steps.race,
        "steps": steps.steps.iter().map(step).collect::<Vec<Json>>(),
    })
}
