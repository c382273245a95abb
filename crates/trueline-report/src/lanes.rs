//! Draws operations in lanes: one lane per process, time from left to right, one bar per operation.
//!
//! Every call and every return has its own column, in the order of the events, so that the drawing
//! shows exactly which operations overlap. The columns are the leftmost ones that leave room for
//! the labels: the longest path over the events, computed in one pass. If the drawing is too wide
//! for the terminal, the bars carry numbers. If that is still too wide, time wraps into several
//! blocks, and a bar that continues in the next block is marked.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use crate::Look;
use crate::document::{Document, Line, Role};
use crate::words::cut;

/// An operation to be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// Index of its lane.
    pub lane: usize,
    /// Rank of its call.
    pub call: u32,
    /// Rank of its return; `None` if it is pending.
    pub end: Option<u32>,
    /// Its label.
    pub label: String,
    /// Whether it is one of the clashing operations.
    pub clash: bool,
}

/// The legend: the operation behind each number.
pub(crate) fn legend(bars: &[Bar], look: &Look) -> Document {
    let mut document = Document::default();
    for (i, bar) in bars.iter().enumerate() {
        let mark = Glyphs::new(look.ascii).cut;
        let label = cut(&bar.label, look.width.saturating_sub(8), mark);
        let role = if bar.clash { Role::Clash } else { Role::Plain };
        document.push(Line::of(role, format!("  {:>3}  {label}", i + 1)));
    }
    document
}

/// A drawing, and whether its bars carry numbers (from 1, in the order of the bars) instead of
/// labels.
pub(crate) struct Drawing {
    pub(crate) document: Document,
    pub(crate) numbered: bool,
}

/// The characters of a drawing.
pub(crate) struct Glyphs {
    plain: [&'static str; 3],
    clash: [&'static str; 3],
    pending: &'static str,
    from_before: &'static str,
    goes_on: &'static str,
    pub(crate) cut: &'static str,
}

impl Glyphs {
    pub(crate) fn new(ascii: bool) -> &'static Glyphs {
        const UNICODE: Glyphs = Glyphs {
            plain: ["├", "─", "┤"],
            clash: ["╞", "═", "╡"],
            pending: "…",
            from_before: "«",
            goes_on: "»",
            cut: "…",
        };
        const ASCII: Glyphs = Glyphs {
            plain: ["|", "-", "|"],
            clash: ["|", "=", "|"],
            pending: "...",
            from_before: "<",
            goes_on: ">",
            cut: "...",
        };
        if ascii { &ASCII } else { &UNICODE }
    }

    /// The fill of a bar, which also marks its operation in a list.
    pub(crate) fn fill(&self, clash: bool) -> &'static str {
        if clash { self.clash[1] } else { self.plain[1] }
    }
}

/// The space around labels and between events.
#[derive(Clone, Copy)]
struct Spacing {
    gap: usize,
    pad: usize,
}

const LOOSE: Spacing = Spacing { gap: 2, pad: 1 };
const TIGHT: Spacing = Spacing { gap: 1, pad: 0 };

/// Draws the bars, sorted by call, on lanes with these names, in at most `width` columns (but no
/// fewer than about thirty).
pub(crate) fn draw(bars: &[Bar], names: &[String], width: usize, glyphs: &Glyphs) -> Drawing {
    let margin = 4 + names.iter().map(|n| n.width()).max().unwrap_or(0);
    let room = width.saturating_sub(margin).max(24);
    let events = events(bars);
    let labels: Vec<String> = bars.iter().map(|b| cut(&b.label, room - 10, glyphs.cut)).collect();
    let numbers: Vec<String> = (1..=bars.len()).map(|n| n.to_string()).collect();
    let whole = 0..events.len();

    for (labels, spacing, numbered) in [
        (&labels, LOOSE, false),
        (&labels, TIGHT, false),
        (&numbers, LOOSE, true),
        (&numbers, TIGHT, true),
    ] {
        let layout = Layout { bars, events: &events, labels, spacing, glyphs };
        let block = layout.block(whole.clone());
        if block.width <= room {
            let mut document = Document::default();
            layout.draw(&block, names, margin, &mut document);
            return Drawing { document, numbered };
        }
    }

    let layout = Layout { bars, events: &events, labels: &labels, spacing: LOOSE, glyphs };
    let mut document = Document::default();
    let mut start = 0;
    while start < events.len() {
        if start > 0 {
            document.gap();
        }
        // Blocks only get wider with more events, so the search ends at the first that is too wide.
        let mut block = layout.block(start..start + 1);
        for end in start + 2..=events.len() {
            let next = layout.block(start..end);
            if next.width > room {
                break;
            }
            block = next;
        }
        start = block.events.end;
        layout.draw(&block, names, margin, &mut document);
    }
    Drawing { document, numbered: false }
}

#[derive(Clone, Copy)]
struct Event {
    rank: u32,
    bar: usize,
    is_call: bool,
}

fn events(bars: &[Bar]) -> Vec<Event> {
    let mut events = Vec::with_capacity(2 * bars.len());
    for (bar, b) in bars.iter().enumerate() {
        events.push(Event { rank: b.call, bar, is_call: true });
        events.extend(b.end.map(|rank| Event { rank, bar, is_call: false }));
    }
    events.sort_by_key(|e| e.rank);
    events
}

struct Layout<'a> {
    bars: &'a [Bar],
    events: &'a [Event],
    labels: &'a [String],
    spacing: Spacing,
    glyphs: &'a Glyphs,
}

/// A stretch of time that is drawn on one set of lines.
struct Block {
    events: Range<usize>,
    segments: Vec<Segment>,
    width: usize,
}

/// The part of a bar that lies in a block: columns `from..to`.
struct Segment {
    bar: usize,
    from: usize,
    to: usize,
    left: Left,
    right: Right,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Call,
    Before,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Right {
    Return,
    Pending,
    Onward,
}

impl Layout<'_> {
    /// Places the events of a range and all operations that are pending meanwhile.
    fn block(&self, range: Range<usize>) -> Block {
        let last = range.end == self.events.len();
        let mut segments: Vec<Segment> = Vec::new();
        for (bar, b) in self.bars.iter().enumerate() {
            let first_rank = self.events[range.start].rank;
            if b.call < first_rank && b.end.is_none_or(|end| end >= first_rank) {
                let right = self.open_end(b, last);
                segments.push(Segment { bar, from: 0, to: 0, left: Left::Before, right });
            }
        }
        let mut next = if segments.is_empty() { 0 } else { self.spacing.gap };
        for event in &self.events[range.clone()] {
            if event.is_call {
                let right = self.open_end(&self.bars[event.bar], last);
                segments.push(Segment {
                    bar: event.bar,
                    from: next,
                    to: 0,
                    left: Left::Call,
                    right,
                });
                next += self.spacing.gap;
            } else {
                let segment = segments.iter_mut().find(|s| s.bar == event.bar).expect("was called");
                segment.right = Right::Return;
                segment.to = (next + 1).max(segment.from + self.needs(event.bar, Right::Return));
                next = segment.to - 1 + self.spacing.gap;
            }
        }
        let open = |s: &Segment| s.right != Right::Return;
        let width = segments
            .iter()
            .map(|s| if open(s) { s.from + self.needs(s.bar, s.right) } else { s.to })
            .chain([next + 1 - self.spacing.gap.min(next)])
            .max()
            .unwrap_or(0);
        for segment in segments.iter_mut().filter(|s| open(s)) {
            segment.to = width;
        }
        Block { events: range, segments, width }
    }

    fn open_end(&self, bar: &Bar, last: bool) -> Right {
        if last && bar.end.is_none() { Right::Pending } else { Right::Onward }
    }

    /// Columns that a segment needs for its label.
    fn needs(&self, bar: usize, right: Right) -> usize {
        let cap = if right == Right::Pending { self.glyphs.pending.width() } else { 1 };
        1 + self.spacing.pad + 1 + self.labels[bar].width() + 1 + self.spacing.pad + cap
    }

    /// One line for each lane that has a bar in the block.
    fn draw(&self, block: &Block, names: &[String], margin: usize, document: &mut Document) {
        for (lane, name) in names.iter().enumerate() {
            let mut mine: Vec<&Segment> =
                block.segments.iter().filter(|s| self.bars[s.bar].lane == lane).collect();
            if mine.is_empty() {
                continue;
            }
            mine.sort_by_key(|s| s.from);
            let mut line = Line::plain(format!("  {name}"));
            for segment in mine {
                line.pad_to(margin + segment.from);
                let role = if self.bars[segment.bar].clash { Role::Clash } else { Role::Plain };
                line.push(role, self.segment(segment));
            }
            document.push(line);
        }
    }

    fn segment(&self, segment: &Segment) -> String {
        let bar = &self.bars[segment.bar];
        let [open, fill, close] = if bar.clash { self.glyphs.clash } else { self.glyphs.plain };
        let left = match segment.left {
            Left::Call => open,
            Left::Before => self.glyphs.from_before,
        };
        let right = match segment.right {
            Right::Return => close,
            Right::Pending => self.glyphs.pending,
            Right::Onward => self.glyphs.goes_on,
        };
        let label = &self.labels[segment.bar];
        let before = format!("{left}{} {label} ", fill.repeat(self.spacing.pad));
        let rest = (segment.to - segment.from).saturating_sub(before.width() + right.width());
        before + &fill.repeat(rest) + right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bars of a few lanes in random order, some of them pending.
    fn random_bars(seed: u64) -> (Vec<Bar>, usize) {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % n
        };
        let lanes = 1 + below(5) as usize;
        let mut open: Vec<Option<usize>> = vec![None; lanes];
        let mut bars: Vec<Bar> = Vec::new();
        for rank in 0..2 + below(60) as u32 {
            let lane = below(lanes as u64) as usize;
            match open[lane].take() {
                Some(bar) => bars[bar].end = Some(rank),
                None => {
                    open[lane] = Some(bars.len());
                    let label = "x".repeat(1 + below(20) as usize);
                    bars.push(Bar { lane, call: rank, end: None, label, clash: below(4) == 0 });
                }
            }
        }
        (bars, lanes)
    }

    #[test]
    fn drawings_fit_their_width_whatever_they_show() {
        for seed in 0..2000 {
            let (bars, lanes) = random_bars(seed);
            let names: Vec<String> = (0..lanes).map(|n| format!("p{n}")).collect();
            for (width, ascii) in [(30, false), (80, false), (80, true), (200, false)] {
                let drawing = draw(&bars, &names, width, Glyphs::new(ascii));
                for line in drawing.document.lines() {
                    assert!(line.width() <= width, "seed {seed} width {width}: {line:?}");
                }
            }
        }
    }

    #[test]
    fn columns_are_in_the_order_of_the_events() {
        for seed in 0..2000 {
            let (bars, _) = random_bars(seed);
            let events = events(&bars);
            let labels: Vec<String> = bars.iter().map(|b| b.label.clone()).collect();
            for spacing in [LOOSE, TIGHT] {
                let layout = Layout {
                    bars: &bars,
                    events: &events,
                    labels: &labels,
                    spacing,
                    glyphs: Glyphs::new(false),
                };
                for range in [0..events.len(), events.len() / 2..events.len()] {
                    let block = layout.block(range);
                    let mut columns: Vec<(u32, usize)> = Vec::new();
                    for s in &block.segments {
                        columns
                            .extend((s.left == Left::Call).then_some((bars[s.bar].call, s.from)));
                        columns.extend(
                            bars[s.bar]
                                .end
                                .filter(|_| s.right == Right::Return)
                                .map(|r| (r, s.to - 1)),
                        );
                    }
                    columns.sort();
                    assert!(
                        columns.windows(2).all(|w| w[0].1 < w[1].1),
                        "seed {seed}: {columns:?}"
                    );
                    assert!(columns.iter().all(|c| c.1 < block.width));
                }
            }
        }
    }
}
