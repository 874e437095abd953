//! What others wrote does nothing in a picture or a page.

use std::sync::Arc;
use std::time::{Duration, Instant};

use roxmltree::Document;
use tidegate_core::{
    Cause, Change, Observer, Outcome, Reason, Refused, RefusedReason, Sample, Setting,
};
use tidegate_report::Report;

const MARKUP: &str = "</script></title></style>--><script>alert(1)</script><img src=x onerror=alert(2)>\
    \"'`&amp;\u{0}\u{b}\r\n\u{202e}\u{2028}\u{ffff}\u{61c}\u{2066}\u{200b}\u{feff}\u{e0041}";

/// What turns a line, breaks it or is not seen.
const WILD: [char; 11] = [
    '\u{0}',
    '\u{b}',
    '\r',
    '\u{202e}',
    '\u{2028}',
    '\u{ffff}',
    '\u{61c}',
    '\u{2066}',
    '\u{200b}',
    '\u{feff}',
    '\u{e0041}',
];

#[expect(clippy::disallowed_methods, reason = "an origin, to add to")]
fn origin() -> Instant {
    Instant::now()
}

/// A run in which everything that can be said is `words`.
fn hostile(words: String) -> Report {
    let report = Report::new().title(&words);
    let key = Arc::from(&*words);
    let words = Box::leak(words.into_boxed_str());
    let refused = Refused::new(words, RefusedReason::QueueFull { max_queue: 4 }).key(key);
    let reason = Reason::Other(words);
    let origin = origin();
    for second in 0..20_u32 {
        let now = origin + Duration::from_secs(second.into());
        let sample = Sample {
            started: now,
            latency: Some(Duration::from_millis(30)),
            in_flight_at_start: 4,
            in_flight: 4,
            outcome: if second % 2 == 0 {
                Outcome::Success
            } else {
                Outcome::Overload(Cause::TimedOut)
            },
            retry_after: None,
        };
        report.on_sample(now, &sample);
        report.on_refused(now, &refused, Duration::from_millis(5));
        let limits = [4.0, 16.0].map(Setting::limit);
        let [from, to] = if second % 2 == 0 {
            limits
        } else {
            [limits[1], limits[0]]
        };
        report.on_change(now, &Change { from, to, reason });
    }
    report
}

/// All pictures of a page are XML; so is one alone.
fn pictures(report: &Report) -> Vec<String> {
    let page = report.html();
    let parts = page.split("<svg ").skip(1);
    let pictures = parts.map(|part| format!("<svg {}</svg>", part.split("</svg>").next().unwrap()));
    pictures.chain([report.svg()]).collect()
}

#[test]
fn markup_is_text_in_a_picture() {
    let report = hostile(MARKUP.to_owned());
    let pictures = pictures(&report);
    assert_eq!(pictures.len(), 3);
    for picture in pictures {
        let picture = Document::parse(&picture).unwrap();
        let said: Vec<&str> = picture
            .descendants()
            .filter_map(|node| node.text())
            .collect();
        assert!(
            said.iter()
                .any(|said| said.contains("<script>alert(1)</script>"))
        );
        let names = [
            "svg", "title", "style", "circle", "text", "rect", "polyline", "polygon", "line",
        ];
        for element in picture.descendants().filter(roxmltree::Node::is_element) {
            let name = element.tag_name().name();
            assert!(names.contains(&name), "{name}");
            assert!(element.attributes().all(|it| !it.name().starts_with("on")));
        }
    }
}

#[test]
fn markup_is_text_in_a_page() {
    let page = hostile(MARKUP.to_owned()).html();
    // Ours: the data and the program.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    assert_eq!(page.matches("<style").count(), 3);
    assert_eq!(page.matches("<img").count(), 0);
    assert!(!page.contains(WILD));
    let data = page.split("id=\"moments\">").nth(1).unwrap();
    let data = data.split("</script>").next().unwrap();
    let moments: serde_json::Value = serde_json::from_str(data).unwrap();
    assert!(moments.to_string().contains("<script>alert(1)</script>"));
}

/// Those that begin where something is an element for a browser.
fn tags(page: &str) -> Vec<&str> {
    let parts = page.split('<').skip(1);
    let begins = |part: &&str| part.starts_with(|c: char| c.is_alphabetic() || "/!?".contains(c));
    parts
        .filter(begins)
        .map(|part| {
            let end = part.find(|c: char| c.is_whitespace() || c == '>');
            part[..end.unwrap_or(part.len())].trim_matches('/')
        })
        .collect()
}

#[test]
fn a_page_has_the_elements_of_a_quiet_one_whatever_is_said() {
    let [quiet, wild] = ["quiet", MARKUP].map(|words| hostile(words.to_owned()).html());
    assert_eq!(tags(&quiet), tags(&wild));
}

#[test]
fn who_refused_and_for_which_key_is_not_shown() {
    let report = Report::new();
    let refused =
        Refused::new("<b>", RefusedReason::Closed).key(Arc::from("https://me:secret@host"));
    report.on_refused(origin(), &refused, Duration::ZERO);
    for view in [report.table(), report.svg(), report.html()] {
        assert!(view.contains("1 closed"));
        assert!(!view.contains("secret") && !view.contains("<b>"));
    }
}

#[test]
fn a_row_of_the_table_stays_a_row() {
    let table = hostile(MARKUP.to_owned()).table();
    assert!(!table.contains(WILD));
    assert!(table.lines().all(|line| line.chars().count() <= 100));
    assert!(!table.contains(|c: char| c.is_control() && c != '\n'));
}

#[test]
fn a_megabyte_of_words_is_cut() {
    let report = hostile("<&'\"x".repeat(200_000));
    assert!(report.table().len() < 50_000);
    assert!(report.svg().len() < 100_000);
    assert!(report.html().len() < 500_000);
}

#[test]
fn neither_a_query_nor_credentials_are_shown() {
    let report = Report::new().title("https://me:secret@api.example.com/v1?key=secret");
    report.on_change(
        origin(),
        &Change {
            from: Setting::limit(1.0),
            to: Setting::limit(2.0),
            reason: Reason::Other("as https://me:secret@api.example.com/limits?secret=1 says"),
        },
    );
    for view in [report.table(), report.svg(), report.html()] {
        assert!(view.contains("https://api.example.com/v1"));
        assert!(view.contains("as https://api.example.com/limits says"));
        assert!(!view.contains("secret"));
    }
}

#[test]
fn a_page_needs_nothing_from_elsewhere() {
    let page = hostile(String::from("quiet")).html();
    let page = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for outside in [
        "http:", "https:", "//", "url(", "@import", "src=", "href=", "fetch(", "import(",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(page.contains("name=\"viewport\""));
    assert!(page.contains("prefers-color-scheme:dark"));
}
