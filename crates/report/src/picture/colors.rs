//! Each color by what it means. The picture is drawn in the light ones; its style sheet finds them by
//! their value and puts others in their place where it is dark.

use plotters::style::RGBColor;

pub(crate) const PAPER: RGBColor = RGBColor(0xFF, 0xFF, 0xFF);
pub(crate) const INK: RGBColor = RGBColor(0x1B, 0x1F, 0x24);
pub(crate) const MUTED: RGBColor = RGBColor(0x5F, 0x69, 0x75);
pub(crate) const GRID: RGBColor = RGBColor(0xE4, 0xE7, 0xEB);
pub(crate) const LIMIT: RGBColor = RGBColor(0x0B, 0x7A, 0x75);
pub(crate) const IN_FLIGHT: RGBColor = RGBColor(0x8A, 0x9B, 0xB0);
pub(crate) const SUCCESS: RGBColor = RGBColor(0x2F, 0x8F, 0x4E);
pub(crate) const OVERLOAD: RGBColor = RGBColor(0xD9, 0x48, 0x0F);
pub(crate) const FAILURE: RGBColor = RGBColor(0xB0, 0x22, 0x5B);
pub(crate) const LATENCY: RGBColor = RGBColor(0x5B, 0x3F, 0xBF);
pub(crate) const TAIL: RGBColor = RGBColor(0xB7, 0xA8, 0xEA);
pub(crate) const PACE: RGBColor = RGBColor(0x9A, 0x67, 0x00);
pub(crate) const WAITING: RGBColor = RGBColor(0x7A, 0x5C, 0x48);
pub(crate) const REFUSED: RGBColor = RGBColor(0xB0, 0x48, 0x8C);

/// What stands for each of them where it is dark.
const DARK: [(RGBColor, &str); 14] = [
    (PAPER, "#14181D"),
    (INK, "#E8EBEF"),
    (MUTED, "#9AA5B1"),
    (GRID, "#2B323A"),
    (LIMIT, "#3FC7BE"),
    (IN_FLIGHT, "#66788F"),
    (SUCCESS, "#5CC27E"),
    (OVERLOAD, "#FF8A4C"),
    (FAILURE, "#F06C9F"),
    (LATENCY, "#A594F9"),
    (TAIL, "#5D5190"),
    (PACE, "#E0B341"),
    (WAITING, "#C7A78F"),
    (REFUSED, "#E58CC6"),
];

/// As SVG writes it.
pub(crate) fn hex(color: RGBColor) -> String {
    let RGBColor(red, green, blue) = color;
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// The style sheet: rules are stronger than attributes.
pub(crate) fn dark() -> String {
    let rule = |(light, dark): &(RGBColor, &str)| {
        let light = hex(*light);
        format!("svg [fill=\"{light}\"]{{fill:{dark}}}svg [stroke=\"{light}\"]{{stroke:{dark}}}")
    };
    let rules = DARK.each_ref().map(rule).concat();
    format!("@media(prefers-color-scheme:dark){{{rules}}}")
}
