//! Lines in a plot, as SVG: steps on a logarithmic axis to the right, time upwards, as in the paper.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
/// Room for axes and names.
const LEFT: f64 = 60.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
/// Told apart by people who see fewer colours, too.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// Draws lines of points (steps, seconds).
pub(super) fn svg(title: &str, lines: &[(String, Vec<(f64, f64)>)]) -> String {
    let points = || lines.iter().flat_map(|(_, points)| points);
    let most = points().map(|p| p.0).fold(10.0, f64::max);
    let decades = most.log10().ceil();
    let longest = points().map(|p| p.1).fold(1e-9, f64::max);
    let x = |steps: f64| {
        LEFT + (WIDTH - LEFT - RIGHT) * (steps.max(1.0).log10() / decades).clamp(0.0, 1.0)
    };
    let y = |seconds: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * seconds / longest;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{title}</text>\n"
    );
    for decade in 0..=decades as i32 {
        let at = x(10f64.powi(decade));
        let _ = writeln!(
            out,
            "<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 18.0,
            10u64.pow(decade as u32)
        );
    }
    for tick in 0..=4 {
        let seconds = longest * f64::from(tick) / 4.0;
        let at = y(seconds);
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{seconds:.2} s</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">steps processed</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 12.0
    );
    for (i, (name, points)) in lines.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let dashes = if i >= COLOURS.len() { " stroke-dasharray=\"5 3\"" } else { "" };
        let path: Vec<String> =
            points.iter().map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1))).collect();
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>",
            path.join(" ")
        );
        for point in points {
            let (x, y) = (x(point.0), y(point.1));
            let _ =
                writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
        let at = TOP + 18.0 * i as f64;
        let _ = writeln!(
            out,
            "<line x1=\"{:.1}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"{colour}\" \
             stroke-width=\"2\"{dashes}/><text x=\"{:.1}\" y=\"{:.1}\">{name}</text>",
            WIDTH - RIGHT + 12.0,
            WIDTH - RIGHT + 36.0,
            WIDTH - RIGHT + 42.0,
            at + 4.0
        );
    }
    out + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::svg;

    #[test]
    fn every_line_is_drawn_and_named() {
        let lines = [
            ("one".to_string(), vec![(10.0, 0.5), (100.0, 1.0)]),
            ("two".to_string(), vec![(1000.0, 1.0)]),
        ];
        let drawn = svg("a title", &lines);
        assert_eq!(drawn.matches("<polyline").count(), 2);
        assert_eq!(drawn.matches("<circle").count(), 3);
        assert!(drawn.contains(">one<") && drawn.contains(">two<") && drawn.contains(">a title<"));
        // More steps are further to the right, more time is higher.
        assert!(drawn.contains("points=\"230.0,205.0 400.0,40.0\""), "{drawn}");
    }
}
