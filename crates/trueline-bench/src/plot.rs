//! Charts as SVG: lines or marks over two axes, several charts side by side. The figures of the
//! papers are drawn so.

use std::fmt::Write;

/// Room for a chart with its axes, its names and the legend.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
/// Told apart by people who see fewer colours, too.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// A chart.
pub(crate) struct Chart {
    pub(crate) right: Axis,
    pub(crate) up: Axis,
    pub(crate) series: Vec<Series>,
    /// Whether to draw where both are the same; both axes then have the same range.
    pub(crate) diagonal: bool,
}

/// An axis: what it says, and its scale.
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) scale: Scale,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Scale {
    /// From 0 on.
    Linear,
    /// Whole numbers, each with its place.
    Whole,
    Logarithmic,
}

/// Points that belong together.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    /// Whether they are joined by a line.
    pub(crate) joined: bool,
}

/// A stretch of an axis: its ends, and where it has marks.
struct Range {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Range {
    fn of(scale: Scale, values: impl Iterator<Item = f64>) -> Range {
        let (low, high) = values
            .filter(|&value| scale != Scale::Logarithmic || value > 0.0)
            .fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        let (low, high) = if low > high { (1.0, 1.0) } else { (low, high) };
        let (low, high) = match scale {
            Scale::Linear => (0.0, if high > 0.0 { high } else { 1.0 }),
            Scale::Whole => (low, high.max(low + 1.0)),
            Scale::Logarithmic => {
                let low = low.log10().floor();
                (10f64.powf(low), 10f64.powf(high.log10().ceil().max(low + 1.0)))
            }
        };
        Range { scale, low, high }
    }

    /// Where a value lies, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        let at = |value: f64| match self.scale {
            Scale::Logarithmic => value.max(self.low).log10(),
            _ => value,
        };
        ((at(value) - at(self.low)) / (at(self.high) - at(self.low))).clamp(0.0, 1.0)
    }

    fn marks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => (0..=4).map(|tick| self.high * f64::from(tick) / 4.0).collect(),
            Scale::Whole => (self.low as i64..=self.high as i64).map(|n| n as f64).collect(),
            Scale::Logarithmic => {
                let powers = self.low.log10().round() as i32..=self.high.log10().round() as i32;
                powers.map(|power| 10f64.powi(power)).collect()
            }
        }
    }
}

/// Charts side by side under a title.
pub(crate) fn svg(title: &str, charts: &[Chart]) -> String {
    let width = WIDTH * charts.len() as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{title}</text>\n"
    );
    for (i, chart) in charts.iter().enumerate() {
        draw(&mut out, chart, WIDTH * i as f64);
    }
    out + "</svg>\n"
}

fn draw(out: &mut String, chart: &Chart, start: f64) {
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let (left, right) = (start + LEFT, start + WIDTH - RIGHT);
    let (top, bottom) = (TOP, HEIGHT - BOTTOM);
    let rights = points().map(|p| p.0);
    let ups = points().map(|p| p.1);
    let (across, up) = if chart.diagonal {
        let both = || rights.clone().chain(ups.clone());
        (Range::of(chart.right.scale, both()), Range::of(chart.up.scale, both()))
    } else {
        (Range::of(chart.right.scale, rights), Range::of(chart.up.scale, ups))
    };
    let x = |value: f64| left + (right - left) * across.place(value);
    let y = |value: f64| bottom - (bottom - top) * up.place(value);
    for mark in across.marks() {
        let at = x(mark);
        let _ = writeln!(
            out,
            "<line x1=\"{at:.1}\" y1=\"{top}\" x2=\"{at:.1}\" y2=\"{bottom}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 18.0,
            number(mark)
        );
    }
    for mark in up.marks() {
        let at = y(mark);
        let _ = writeln!(
            out,
            "<line x1=\"{left}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 6.0,
            at + 4.0,
            number(mark)
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
         <text x=\"{left}\" y=\"{:.1}\">{}</text>",
        (left + right) / 2.0,
        HEIGHT - 12.0,
        chart.right.name,
        top - 6.0,
        chart.up.name
    );
    if chart.diagonal {
        let _ = writeln!(
            out,
            "<line x1=\"{left}\" y1=\"{bottom}\" x2=\"{right}\" y2=\"{top}\" stroke=\"#c00\"/>"
        );
    }
    for (i, series) in chart.series.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let dashes = if i >= COLOURS.len() { " stroke-dasharray=\"5 3\"" } else { "" };
        if series.joined {
            let path: Vec<String> =
                series.points.iter().map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1))).collect();
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>",
                path.join(" ")
            );
        }
        for point in &series.points {
            let (x, y) = (x(point.0), y(point.1));
            let _ =
                writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
        let at = top + 18.0 * i as f64;
        let _ = writeln!(
            out,
            "<line x1=\"{:.1}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"{colour}\" \
             stroke-width=\"2\"{dashes}/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            right + 12.0,
            right + 36.0,
            right + 42.0,
            at + 4.0,
            series.name
        );
    }
}

/// A number on an axis, short.
fn number(value: f64) -> String {
    if value == value.trunc() || value < 0.01 { value.to_string() } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(name: &str, scale: Scale) -> Axis {
        Axis { name: name.to_string(), scale }
    }

    fn series(name: &str, points: &[(f64, f64)], joined: bool) -> Series {
        Series { name: name.to_string(), points: points.to_vec(), joined }
    }

    #[test]
    fn every_line_is_drawn_and_named() {
        let chart = Chart {
            right: axis("steps", Scale::Logarithmic),
            up: axis("seconds", Scale::Linear),
            series: vec![
                series("one", &[(10.0, 0.5), (100.0, 1.0)], true),
                series("two", &[(1000.0, 1.0)], true),
            ],
            diagonal: false,
        };
        let drawn = svg("a title", &[chart]);
        assert_eq!(drawn.matches("<polyline").count(), 2);
        assert_eq!(drawn.matches("<circle").count(), 3);
        for text in [">one<", ">two<", ">a title<", ">steps<", ">seconds<", ">1000<"] {
            assert!(drawn.contains(text), "{text}: {drawn}");
        }
        // More steps are further to the right, more time is higher.
        assert!(drawn.contains("points=\"70.0,205.0 320.0,40.0\""), "{drawn}");
    }

    #[test]
    fn with_a_diagonal_both_axes_have_one_range() {
        let chart = Chart {
            right: axis("without", Scale::Logarithmic),
            up: axis("with", Scale::Logarithmic),
            series: vec![series("rows", &[(1000.0, 10.0)], false)],
            diagonal: true,
        };
        let drawn = svg("a title", &[chart]);
        assert!(!drawn.contains("<polyline") && drawn.contains("stroke=\"#c00\""));
        assert!(drawn.contains("cx=\"570.0\" cy=\"370.0\""), "{drawn}");
    }
}
