//! Plots as SVG.

use std::ops::Range;

use anyhow::anyhow;
use plotters::prelude::*;

const SIZE: (u32, u32) = (900, 260);
/// Told apart also by those who do not see all colours (Okabe and Ito's).
const COLOURS: [RGBColor; 5] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
];
const BAND: RGBColor = RGBColor(240, 240, 240);
const FONT: &str = "sans-serif";

/// Something by time.
pub(crate) struct Plot {
    pub title: String,
    /// Label of the vertical axis, with its unit.
    pub unit: String,
    pub series: Vec<Series>,
    /// Times to be set off, in seconds.
    pub bands: Vec<Range<f64>>,
}

/// Line of a plot.
pub(crate) struct Series {
    pub name: String,
    /// Seconds, and the value then.
    pub points: Vec<(f64, f64)>,
}

impl Plot {
    pub(crate) fn new(title: &str, unit: &str) -> Self {
        Self { title: title.to_owned(), unit: unit.to_owned(), series: Vec::new(), bands: Vec::new() }
    }

    pub(crate) fn with(mut self, name: &str, points: Vec<(f64, f64)>) -> Self {
        self.series.push(Series { name: name.to_owned(), points });
        self
    }

    /// # Errors
    /// When it cannot be drawn.
    pub(crate) fn svg(&self) -> anyhow::Result<String> {
        let mut text = String::new();
        self.draw(&mut text).map_err(|error| anyhow!("drawing {:?}: {error}", self.title))?;
        Ok(text)
    }

    fn draw(&self, text: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        let points = || self.series.iter().flat_map(|series| series.points.iter().copied());
        let end = points().map(|(time, _)| time).fold(1.0, f64::max);
        let top = points().map(|(_, value)| value).fold(f64::MIN_POSITIVE, f64::max) * 1.05;
        let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, (FONT, 16))
            .margin(8)
            .x_label_area_size(30)
            .y_label_area_size(60)
            .build_cartesian_2d(0.0..end, 0.0..top)?;
        chart.draw_series(
            self.bands.iter().map(|band| Rectangle::new([(band.start, 0.0), (band.end, top)], BAND.filled())),
        )?;
        chart.configure_mesh().light_line_style(WHITE.mix(0.0)).x_desc("seconds").y_desc(&self.unit).draw()?;
        for (series, colour) in self.series.iter().zip(COLOURS.iter().cycle()) {
            chart
                .draw_series(LineSeries::new(series.points.iter().copied(), colour.stroke_width(2)))?
                .label(&series.name)
                .legend(|(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.2))
            .draw()?;
        area.present()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_series_is_drawn_and_named() {
        let mut plot =
            Plot::new("Rate", "a second").with("right", vec![(0.5, 10.0), (1.5, 12.0)]).with("none <here>", Vec::new());
        plot.bands.push(0.5..1.0);
        let svg = plot.svg().expect("it can be drawn");
        assert!(svg.starts_with("<svg") && svg.contains("<polyline") && svg.contains("right"), "{svg}");
        assert!(!svg.contains("none <here>"), "{svg}");
    }
}
