//! What others wrote, made harmless.

/// A title has at most as many characters.
const TITLE: usize = 100;

/// What a run may be called: of what may be a URL, neither credentials nor a query.
pub(crate) fn title(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let authority = rest.split('/').next().unwrap_or(rest);
    // Up to the last `@` of all: a password may hold what would end it.
    let host = authority.rfind('@').map_or(rest, |at| &rest[at + 1..]);
    let shown = host.split(['?', '#']).next().unwrap_or(host);
    let shown = match scheme {
        "" => shown.to_owned(),
        scheme => format!("{scheme}://{shown}"),
    };
    tame(&shown, TITLE)
}

/// Without what breaks a line, ends a text or turns its direction; at most `most` characters.
pub(crate) fn tame(text: &str, most: usize) -> String {
    let tamed: String = text
        .chars()
        .take(most + 1)
        .map(|c| if is_wild(c) { ' ' } else { c })
        .collect();
    shorten(&tamed, most)
}

/// At most `most` characters, the last of them an ellipsis where there were more.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text
            .chars()
            .take(most.saturating_sub(1))
            .chain(['…'])
            .collect(),
        None => text.to_owned(),
    }
}

/// As the text or the attribute of an element, in HTML and XML.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Controls, separators of lines, marks that turn the direction, and what XML does not allow.
fn is_wild(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
        || matches!(c, '\u{FFFE}' | '\u{FFFF}')
}
